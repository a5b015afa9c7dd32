"""Reading a source: manifests, CSV tables, plain folders, and what is wrong with them."""

import pytest

from genius.collections.sources import ComposedPair, read_source
from genius.errors import UserError
from tests.collections.samples import picture, write_jsonl


def record(source, image="a.png"):
    return next(record for record in source.records if record.image == image)


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").write_bytes(picture(ord(name)))
    return tmp_path


def test_a_folder_without_a_table_is_its_images(folder):
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "c.JPG").write_bytes(b"")
    (folder / "notes.txt").write_text("no image")
    source = read_source(folder)
    assert [record.image for record in source.records] == ["a.png", "b.png", "deep/er/c.JPG"]
    assert source.table is None and not any(record.captions for record in source.records)


def test_every_field_of_a_manifest_is_read(folder):
    write_jsonl(
        folder / "manifest.jsonl",
        [
            {
                "id": 7,
                "img_path": "a.png",
                "txt": " a  red\nsquare ",
                "split": "dev",
                "weight": 3,
                "price": None,
                "attributes": {
                    "colour": "red",
                    "usage": "NA",
                    "words": ["warm", ""],
                    "nested": {},
                    "year": "2011",
                },
                "qa": [{"q": "What?", "a": "Red."}, {"q": "Why?", "a": " "}],
            }
        ],
    )
    (only,) = read_source(folder).records
    assert (only.id, only.image, only.split, only.captions) == (
        "7",
        "a.png",
        "test",
        ["a red square"],
    )
    assert only.attributes == {"colour": "red", "words": ["warm"], "year": "2011", "weight": 3}
    assert only.qa == [("What?", "Red.")]


@pytest.mark.parametrize("separator", ",;\t|")
@pytest.mark.parametrize(
    "image, text", [("image", "text"), ("img_path", "txt"), ("file", "caption")]
)
def test_a_csv_may_name_and_separate_its_columns_in_several_ways(folder, image, text, separator):
    rows = [
        (text, image, "split", "colour"),
        ('"one, ""two""; three"', "a.png", "train", "red"),
        ("", "b.png", "", ""),
    ]
    (folder / "table.csv").write_text("\n".join(map(separator.join, rows)), encoding="utf-8-sig")
    source = read_source(folder)
    assert record(source).captions == ['one, "two"; three'] and record(source).attributes == {
        "colour": "red"
    }
    assert record(source).split == "train"
    assert record(source, "b.png").captions == [] and record(source, "b.png").split is None


def test_several_rows_for_an_image_are_its_captions(folder):
    (folder / "captions.csv").write_text(
        "image,caption\na.png,first\nb.png,other\na.png,second\na.png,first\n"
    )
    source = read_source(folder)
    assert record(source).captions == ["first", "second"] and record(source, "b.png").captions == [
        "other"
    ]


def test_a_row_for_each_box_gives_all_words_and_the_numbers_of_the_first(folder):
    rows = ["a.png,dog,1,new", "a.png,cat,2,", "b.png,car,3,", "a.png,dog,4,old"]
    (folder / "boxes.csv").write_text("\n".join(["filename,class,xmin,state", *rows]))
    source = read_source(folder)
    assert record(source).attributes == {
        "class": ["dog", "cat"],
        "xmin": "1",
        "state": ["new", "old"],
    }
    assert record(source, "b.png").attributes == {"class": "car", "xmin": "3"}


def test_composed_pairs_are_read_next_to_the_manifest(folder):
    write_jsonl(
        folder / "manifest.jsonl", [{"id": 1, "img_path": "a.png"}, {"id": 2, "img_path": "b.png"}]
    )
    write_jsonl(folder / "cir_pairs.jsonl", [{"query_id": 1, "txt": "in blue", "target_id": "2"}])
    assert read_source(folder).pairs == [ComposedPair("1", "in blue", "2", 1)]


@pytest.mark.parametrize(
    "line, says",
    [
        (
            {"txt": "x"},
            "the row names no image; expected one of the fields img_path, image, file, image_path",
        ),
        ({"img_path": "/home/ada/a.png"}, "the image 'a.png' is repeated"),
        ({"img_path": "../a.png"}, "leaves the folder"),
        ({"img_path": 5}, "img_path: input should be a valid string, found 5"),
        ({"img_path": "b.png", "txt": ["x"]}, "txt: input should be a valid string, found ['x']"),
        (
            {"img_path": "b.png", "captions": "x"},
            "captions: input should be a valid list, found 'x'",
        ),
        (
            {"img_path": "b.png", "captions": [1]},
            "captions.0: input should be a valid string, found 1",
        ),
        ({"img_path": "b.png", "qa": [{"q": "x"}]}, "the field qa.0.a is missing"),
        ({"img_path": "b.png", "qa": "x"}, "qa: input should be a valid list, found 'x'"),
        ({"img_path": "b.png", "attributes": []}, None),
        (
            {"img_path": "b.png", "attributes": [1]},
            "attributes: input should be a valid dictionary",
        ),
        (
            {"img_path": "b.png", "split": "holdout"},
            "split: 'holdout' is unknown; expected one of train, val",
        ),
        ({"img_path": "b.png", "id": "a"}, "the id 'a' is repeated"),
        ({"img_path": "a.png", "id": "c"}, "the image 'a.png' is repeated"),
        ({"img_path": "a.png", "txt": "x", "split": "test"}, "the image 'a.png' is repeated"),
    ],
)
def test_a_bad_record_is_named_by_file_and_line(folder, line, says):
    table = write_jsonl(folder / "manifest.jsonl", [{"id": "a", "img_path": "a.png"}, line])
    if says is None:
        assert len(read_source(folder).records) == 2
        return
    with pytest.raises(UserError) as caught:
        read_source(folder)
    assert str(caught.value).startswith(f"{table}:2: ") and says in str(caught.value)


@pytest.mark.parametrize(
    "content, says",
    [
        ("image,text\na.png,x\nb.png\n", ":3: the row has 1 cells, but the header has 2"),
        ("image,image\na.png,b.png\n", ":1: two columns have the same name"),
        ('image,text\na.png,"x\n', ":2: the row is not valid CSV"),
        ("drawing,text\nc.png,x\n", ":2: the row names no image"),
        ("image,text\n", "table.csv has no rows; expected one for each image"),
        ("", "has no rows"),
    ],
)
def test_a_bad_csv_is_named_by_file_and_line(folder, content, says):
    (folder / "table.csv").write_text(content)
    with pytest.raises(UserError, match=r"table\.csv") as caught:
        read_source(folder)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "pair, says",
    [
        ({"query_id": "a"}, "expected query_id, txt and target_id"),
        ({"query_id": "a", "txt": 1, "target_id": "b"}, "expected query_id, txt and target_id"),
        ({"query_id": "a", "txt": " ", "target_id": "b"}, "txt is empty"),
        (
            {"query_id": "a", "txt": "x", "target_id": "z"},
            "the id 'z' is not in the table of this folder",
        ),
    ],
)
def test_a_bad_composed_pair_is_named_by_file_and_line(folder, pair, says):
    write_jsonl(
        folder / "manifest.jsonl", [{"id": name, "img_path": f"{name}.png"} for name in "ab"]
    )
    write_jsonl(folder / "cir_pairs.jsonl", [{"query_id": "a", "txt": "x", "target_id": "b"}, pair])
    with pytest.raises(UserError, match=rf"cir_pairs\.jsonl:2: {says}"):
        read_source(folder)


def test_a_missing_empty_or_ambiguous_folder_is_refused(folder, tmp_path):
    with pytest.raises(UserError, match="nowhere is missing; name a folder"):
        read_source(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="contains no images"):
        read_source(tmp_path / "empty")
    for name in ("one.csv", "two.jsonl"):
        (folder / name).write_text("")
    with pytest.raises(UserError, match=r"one.csv has no rows"):
        read_source(folder)
