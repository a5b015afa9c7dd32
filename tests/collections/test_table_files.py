"""Tables are read as spreadsheets, programs of annotators and data sets write them."""

import csv
import gzip
import io
import json

import pytest

from genius.collections import lines
from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError
from tests.collections.built import captions_of, read
from tests.collections.samples import json_lines, photos, picture, written
from tests.collections.test_archives import zipped


@pytest.mark.parametrize("separator", ",;\t|")
def test_a_csv_may_separate_its_columns_in_several_ways(tmp_path, separator):
    rows = [
        ("caption", "file", "split", "colour"),
        ('"one, ""two""; three"', "a.png", "train", "red"),
        ("", "b.png", "", ""),
    ]
    table = "\n".join(map(separator.join, rows)).encode("utf-8-sig")
    first, second = read(tmp_path, ["a.png", "b.png"], {"t.csv": table}).records
    assert first.captions == ['one, "two"; three'] and first.attributes == {"colour": "red"}
    assert first.split == "train" and second.captions == [] and second.split is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfImage;Caption\r\na.png;words\r\n;\r\n",
        "Image\tCaption\r\na.png\twords\r\n".encode("utf-16"),
        b'sep=;\n"Image";"Caption"\na.png;words\n',
        b",File Name,Title\n0,a.png,words\n,,\n",
        b"Unnamed: 0,file_name,description,\n0,a.png,words,\n",
        b"filename|text_1\na.png|words\n",
        b'PATH,"TXT"\n a.png,words\n',
        ";;\n\nimage;text;\na.png;words;\n".encode("utf-16-le"),
        b"index,image,captions\n0,a.png,words\n",
        b"Inventory of the museum\n\nof 2024;;\nImage;Caption;\na.png;words;\n",
        b"FileName\tTitle\ra.png\twords\r",
    ],
)
def test_tables_are_read_as_spreadsheets_write_them(tmp_path, content):
    source = read(tmp_path, ["a.png"], {"t.csv": content})
    (record,) = source.records
    assert (record.image, record.captions, record.attributes) == ("a.png", ["words"], {})
    assert "image from" in source.notes[-1]


@pytest.mark.parametrize(
    "name, text",
    [
        ("t.csv", "image;text\na.png;Größe\n"),
        ("t.jsonl", '{"image": "a.png", "text": "Größe"}'),
        ("a.txt", "Größe"),
    ],
)
def test_a_table_and_a_caption_in_a_code_page_are_read_and_said(tmp_path, name, text):
    source = read(tmp_path, ["a.png"], {name: text.encode("cp1252")})
    assert captions_of(source) == {"a.png": ["Größe"]}
    assert "not UTF-8, read as cp1252" in "".join(source.notes)


@pytest.mark.parametrize(
    "content, says",
    [
        ("image,text\na.png,x\nb.png\n", ":3: the row has 1 cells, but the header has 2"),
        ("image,image\na.png,b.png\n", ":1: two columns have the same name"),
        ('image,text\na.png,"x\n', ":2: the row is not valid CSV"),
        ("drawing,text\nc.png,x\n", ":2: the row names no image"),
        (
            "a.png,x\nb.png,y\n",
            ":1: the first row names a picture, not the columns; add a first row",
        ),
        ("image,text\n", "t.csv has no rows; expected one for each image"),
        ("", "has no rows"),
    ],
)
def test_a_bad_csv_is_named_by_file_and_line(tmp_path, content, says):
    with pytest.raises(UserError, match=r"t\.csv") as caught:
        read(tmp_path, ["a.png", "b.png"], {"t.csv": content})
    assert says in str(caught.value)


ROWS = [{"image": f"{name}.png", "caption": word} for name, word in (("1", "one"), ("2", "two"))]
CSV = "image,caption\n1.png,one\n2.png,two\n"
BY_NAME = {row["image"]: row["caption"] for row in ROWS}


@pytest.mark.parametrize(
    "name, content",
    [
        ("captions.txt", CSV),
        ("t.csv", CSV.replace("caption", "prompt")),
        ("captions.json", json.dumps(ROWS)),
        ("t.jsonl", json.dumps(ROWS, indent=1)),
        ("t.csv", "Handle,Image Src,text\nx,https://x.y/1.png?v=1,one\nx,https://x.y/2.png,two\n"),
        ("t.csv", "Bild;Nr;text\n1.png;7;one\n2.png;8;two\n"),
        ("t.csv", "id,text\n1,one\n2,two\n"),
        ("t.csv", "image,text\n1,one\n1,NA\n2,two\n"),
        ("catalog.json", json.dumps({"made": "2020", "items": ROWS})),
        ("captions.json", json.dumps(BY_NAME, indent=1)),
        ("captions.json", json.dumps({name: [word] for name, word in BY_NAME.items()})),
        ("via.json", json.dumps({f"{row['image']}8": {**row, "regions": [{}]} for row in ROWS})),
        ("Flickr8k.token.txt", "1.png#0\tone\n1.png#1\tone\n2.png#0\ttwo\n"),
        (
            "all.json",
            json.dumps(
                [{"SourceFile": f"./{name}", "XMP:Description": BY_NAME[name]} for name in BY_NAME]
            ),
        ),
    ],
)
def test_tables_of_other_forms_are_read(tmp_path, name, content):
    pictures = ["images/1.png", "images/2.png", "images/@__thumb/1.png", "images/image.png"]
    source = read(tmp_path, pictures, {name: content})
    assert captions_of(source) == {"images/1.png": ["one"], "images/2.png": ["two"]}


@pytest.mark.parametrize(
    "name, text",
    [
        ("captions.csv.gz", CSV),
        ("Captions.CSV.GZ", CSV),
        ("captions.tsv.gz", CSV.replace(",", "\t")),
        ("metadata.jsonl.gz", json_lines(ROWS)),
    ],
)
def test_a_packed_table_is_read_as_what_it_holds(tmp_path, name, text):
    folder = photos(tmp_path / "x", *BY_NAME)
    written(folder, {name: gzip.compress(text.encode())})
    pack = zipped(tmp_path / "x.zip", [(file.name, file.read_bytes()) for file in folder.iterdir()])
    found = [captions_of(read_source(source)) for source in (folder, folder / name, pack)]
    written(folder, {name: text})  # as a program that downloads leaves it
    found.append(captions_of(read_source(folder)))
    assert found == [{"1.png": ["one"], "2.png": ["two"]}] * 4


def test_a_packed_table_that_is_damaged_or_too_large_is_refused_in_one_sentence(
    tmp_path, monkeypatch
):
    packed = gzip.compress(CSV.encode())
    for data in (packed[:-12], packed[:20] + b"x" + packed[21:]):
        with pytest.raises(UserError, match="captions.csv.gz: is damaged .*; pack the table again"):
            read(tmp_path, BY_NAME, {"captions.csv.gz": data})
    monkeypatch.setattr(lines, "MAX_PACKED", 10)
    with pytest.raises(UserError, match="captions.csv.gz: unpacks to more than 0 MB; split the ta"):
        read(tmp_path, BY_NAME, {"captions.csv.gz": packed})


KARPATHY = "dataset_coco.json"


def karpathy(folder, name=KARPATHY, **changes):
    """A folder with Karpathy's splits of twelve pictures."""
    images = [
        {
            "filepath": "val2014",
            "filename": f"{number:03}.png",
            "split": ("train", "restval", "val", "test")[number % 4],
            "sentences": [{"raw": f"Thing {number}, said {way}."} for way in range(5)],
        }
        for number in range(12)
    ]
    images = [
        {key: cell for key, cell in (image | changes).items() if cell is not None}
        for image in images
    ]
    written(folder, {f"val2014/{n:03}.png": picture(20 * n) for n in range(12)})
    return written(folder, {name: json.dumps({"images": images, "dataset": "coco"})})


def test_karpathys_splits_are_known_by_their_name_or_form_with_or_without_a_folder(tmp_path):
    for number, options in enumerate(({}, {"name": "dataset_mine.json"}, {"filepath": None})):
        records = read_source(karpathy(tmp_path / str(number), **options)).records
        assert [record.split for record in records] == ["train", "train", "val", "test"] * 3
        assert records[5].image == "val2014/005.png"
        assert records[5].captions == [f"Thing 5, said {way}." for way in range(5)]


def test_the_test_part_of_karpathys_splits_becomes_test_queries_of_captions_and_images(tmp_path):
    build([str(karpathy(tmp_path / "coco"))], tmp_path / "made", benchmark=True)
    by_task = {}
    for query in Collection(tmp_path / "made").queries("test"):
        by_task.setdefault(query.task, []).append(len(query.positives))
    # five captions of three images, and the images; one caption asks for the others
    assert len(by_task[0]) == 15 and by_task[3] == [4] * 3


@pytest.mark.parametrize(
    "content, says",
    [
        ([], "layout of Karpathy"),
        ({"images": 3}, "layout of Karpathy"),
        ({"images": [{"filename": "a.jpg", "split": "train"}]}, "sentences"),
        (
            {"images": [{"filename": "../a", "split": "train", "sentences": []}]},
            "leaves the folder",
        ),
        ({"images": [{"filename": "a.jpg", "split": "dev2", "sentences": []}]}, "dev2"),
    ],
)
def test_another_layout_of_karpathys_file_is_refused_with_the_file(tmp_path, content, says):
    with pytest.raises(UserError, match=f"{KARPATHY}.*{says}"):
        read(tmp_path, ["a.png"], {KARPATHY: json.dumps(content)})


def result(kind, name, value):
    return {"id": "x", "type": kind, "from_name": name, "to_name": "image", "value": value}


BOXES = [{"x": 1.5, "width": 3, "rectanglelabels": [name]} for name in ("Dog", "Car")]
OUTLINE = {"points": [[1, 2], [3, 4]], "closed": True, "polygonlabels": ["tail"]}
RESULTS = [
    result("choices", "choice", {"choices": ["cat"]}),
    *(result("rectanglelabels", "label", box) for box in BOXES),
    result("textarea", "words", {"text": ["a cat on a mat"]}),
    result("rating", "stars", {"rating": 4}),
    result("polygonlabels", "outline", OUTLINE),
]
DATA = {"image": "/data/upload/1/7f3a2b1c-a.jpg", "shop": "north"}
CANCELLED = {"was_cancelled": True, "result": RESULTS[:1]}
TASK = {"id": 7, "data": DATA, "annotations": [{"id": 1, "result": RESULTS}, CANCELLED, None]}
MINIMAL = {"id": 7, **DATA, "choice": "cat", "label": BOXES, "caption": "a cat on a mat"}
MINIMAL |= {"outline": [OUTLINE], "stars": 4, "annotation_id": 1, "annotator": 1}
MINIMAL |= {"created_at": "2026", "updated_at": "2026", "lead_time": 2.5}


def minimal_csv() -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, MINIMAL)
    writer.writeheader()
    cells = {name: json.dumps(cell) for name, cell in MINIMAL.items() if isinstance(cell, list)}
    writer.writerow(MINIMAL | cells)
    return stream.getvalue()


@pytest.mark.parametrize(
    "name, content",
    [
        ("tasks.json", json.dumps([TASK])),
        ("minimal.json", json.dumps([MINIMAL])),
        ("export.csv", minimal_csv()),
    ],
)
def test_of_label_studio_answers_are_attributes_and_texts_and_boxes_their_labels(
    tmp_path, name, content
):
    (record,) = read(tmp_path, ["pets/a.jpg", "pets/b.jpg"], {name: content}).records
    assert (record.id, record.image, record.captions) == ("7", "pets/a.jpg", ["a cat on a mat"])
    assert str(record.attributes.pop("stars")) == "4"
    said = {"shop": "north", "choice": "cat", "label": ["Dog", "Car"], "outline": "tail"}
    assert record.attributes == said


def test_tasks_of_label_studio_without_answers_are_read_and_what_is_nested_deeply_is_not(tmp_path):
    deep = json.loads("[" * 400 + '"x"' + "]" * 400)
    tasks = [
        TASK | {"annotations": [{"result": [result("choices", "c", deep)]}]},
        {"id": 8, "data": {"image": "s3://bucket/b.jpg"}, "annotations": []},
    ]
    source = read(tmp_path, ["a.jpg", "b.jpg"], {"project.json": json.dumps(tasks)})
    assert [record.attributes for record in source.records] == [{"shop": "north"}, {}]
