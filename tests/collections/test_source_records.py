"""What the rows of a table say of pictures: fields, further rows, further tables, and faults."""

import pytest

from genius.collections.building import build
from genius.collections.mbeir import Collection
from genius.errors import UserError
from tests.collections.built import captions_of, read
from tests.collections.samples import json_lines, photos, written

PICTURES = ["a.png", "b.png"]


def test_every_field_of_a_manifest_is_read(tmp_path):
    attributes = {
        "colour": "red",
        "usage": "NA",
        "words": ["warm", ""],
        "nested": {},
        "year": "2011",
    }
    line = {"id": 7, "img_path": "a.png", "txt": " a  red\nsquare ", "split": "dev"}
    line |= {"weight": 3, "price": None, "attributes": attributes}
    line |= {"qa": [{"q": "What?", "a": "Red."}, {"q": "Why?", "a": " "}]}
    (only,) = read(tmp_path, PICTURES, {"manifest.jsonl": json_lines([line])}).records
    assert (only.id, only.image, only.split) == ("7", "a.png", "test")
    assert only.captions == ["a red square"] and only.qa == [("What?", "Red.")]
    assert only.attributes == {"colour": "red", "words": ["warm"], "year": "2011", "weight": 3}


def test_several_rows_for_an_image_are_its_captions(tmp_path):
    table = "image,caption\na.png,first\nb.png,other\na.png,second\na.png,first\n"
    found = captions_of(read(tmp_path, PICTURES, {"captions.csv": table}))
    assert found == {"a.png": ["first", "second"], "b.png": ["other"]}


def test_a_row_for_each_box_gives_all_words_and_the_numbers_of_the_first(tmp_path):
    rows = ["filename,class,xmin,state", "a.png,dog,1,new", "a.png,cat,2,", "a.png,dog,4,old"]
    (only,) = read(tmp_path, PICTURES, {"boxes.csv": "\n".join(rows)}).records
    assert only.attributes == {"class": ["dog", "cat"], "xmin": "1", "state": ["new", "old"]}


@pytest.mark.parametrize(
    "line, says",
    [
        ({"txt": "x"}, "the row names no image; expected one of the fields img_path, image, file,"),
        ({"img_path": "/home/ada/a.png"}, "the image 'a.png' is repeated"),
        ({"img_path": "../a.png"}, "leaves the folder"),
        ({"img_path": 5}, "img_path: input should be a valid string, found 5"),
        ({"txt": ["x"]}, "txt: input should be a valid string, found ['x']"),
        ({"captions": "x"}, "captions: input should be a valid list, found 'x'"),
        ({"captions": [1]}, "captions.0: input should be a valid string, found 1"),
        ({"qa": [{"q": "x"}]}, "the field qa.0.a is missing"),
        ({"attributes": [1]}, "attributes: input should be a valid dictionary"),
        ({"split": "holdout"}, "split: 'holdout' is unknown; expected one of train, val"),
        ({"id": "a"}, "the id 'a' is repeated"),
        ({"img_path": "a.png", "id": "c"}, "the image 'a.png' is repeated"),
        ({"img_path": "a.png", "txt": "x", "split": "test"}, "the image 'a.png' is repeated"),
    ],
)
def test_a_bad_record_is_named_by_file_and_line(tmp_path, line, says):
    line = line if line == {"txt": "x"} else {"img_path": "b.png"} | line
    with pytest.raises(UserError) as caught:
        lines = json_lines([{"id": "a", "img_path": "a.png", "attributes": []}, line])
        read(tmp_path, PICTURES, {"manifest.jsonl": lines})
    assert str(caught.value).startswith(f"{tmp_path}/manifest.jsonl:2: ") and says in str(
        caught.value
    )


def test_of_two_columns_of_images_the_better_is_taken(tmp_path):
    table = "image,img_path,text\n7,a.png,words\n"
    (record,) = read(tmp_path, ["a.png"], {"t.csv": table}).records
    assert (record.image, record.captions) == ("a.png", ["words"])
    assert record.attributes == {"image": "7"}


def test_every_text_column_can_be_found_and_the_others_are_said(tmp_path):
    table = (
        "path,title,Alt Text,Price,alt_text2\na.png,A vase,Made of clay,5,\nb.png,A bowl,,7,Old\n"
    )
    source = read(tmp_path, PICTURES, {"t.csv": table})
    assert "text from title, Alt Text, alt_text2; attribute: Price" in source.notes[0]
    assert captions_of(source) == {"a.png": ["A vase", "Made of clay"], "b.png": ["A bowl", "Old"]}


def test_a_picture_in_the_tables_of_two_splits_is_of_the_later_one(tmp_path):
    tables = {"train.csv": "image,caption\na.png,one\nb.png,two\n"}
    source = read(tmp_path, PICTURES, tables | {"test.csv": "image,caption\nb.png,another\n"})
    found = {(record.image, record.split, *sorted(record.captions)) for record in source.records}
    assert found == {("a.png", "train", "one"), ("b.png", "test", "another", "two")}
    said = "1 images are in tables of several splits; the first: b.png is in test alone"
    assert said in source.notes


def test_several_tables_of_the_same_pictures_are_read_together(tmp_path):
    asked = {"image": "0.png", "qa": [{"q": "What?", "a": "It."}], "text": "c"}
    tables = {
        "captions.csv": "id,image,caption,colour\n1,0.png,a,red\n2,1.png,b,red\n",
        "labels.csv": "id,file,colour,split\n1,1.png,blue,test\n2,0.png,red,\n3,2.png,green,val\n",
        "asked.jsonl": json_lines([asked]),
    }
    source = read(tmp_path, ["0.png", "1.png", "2.png"], tables)
    assert captions_of(source) == {"0.png": ["c", "a"], "1.png": ["b"], "2.png": []}
    first, second, third = source.records
    assert first.qa == [("What?", "It.")] and second.split == "test"
    assert second.attributes["colour"] == ["red", "blue"]
    assert third.attributes == {"colour": "green"}
    said = "differ in 1 cells; the first: colour of 1.png is red and blue"
    assert f"captions.csv and labels.csv {said}" in source.notes
    read_ones = [note.partition(":")[0] for note in source.notes if ": image from " in note]
    assert read_ones == ["asked.jsonl", "captions.csv", "labels.csv"]


def items_of(folder, destination):
    build([f"x={folder}"], destination)
    return {(item.text, item.image) for item in Collection(destination).all_candidates()}


def test_one_more_caption_adds_one_text(tmp_path):
    folder = photos(tmp_path / "shop", *(f"{n}.png" for n in range(12)))
    table = "image,text,color\n"
    table += "".join(f"{n}.png,article {n},{('red', 'blue')[n % 2]}\n" for n in range(12))
    one = items_of(written(folder, {"t.csv": table}), tmp_path / "one")
    two = items_of(written(folder, {"t.csv": f"{table}0.png,another,red\n"}), tmp_path / "two")
    assert len(one) == 36 and two - one == {("another", None)} and one < two


def test_what_has_neither_text_nor_attributes_is_found_beside_what_has(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png", "c.png")
    written(folder, {"t.csv": "image,text,color\na.png,words,\nb.png,,red\nc.png,,\n"})
    images = {image for _, image in items_of(folder, tmp_path / "built") if image}
    assert images == {f"images/x/{name}.png" for name in "abc"}
