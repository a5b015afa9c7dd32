"""Which files are the table of a folder: those whose rows name its pictures; several may be parts
of one.
"""

import gzip
import json

import pytest
from pyarrow import parquet, table

from genius.collections.sources import read_source
from genius.errors import UserError
from tests.collections.built import captions_of, read
from tests.collections.samples import photos, written

NUMBERED = [f"{number}.png" for number in range(8)]
ROWS = [{"image": name, "caption": f"shape {name}"} for name in NUMBERED]
WHOLE = {row["image"]: [row["caption"]] for row in ROWS}
NOTHING = {name: [] for name in NUMBERED}


def csv_of(rows):
    return "image,caption\n" + "".join(f"{row['image']},{row['caption']}\n" for row in rows)


CAPTIONS = csv_of(ROWS)


def parquet_of(file, rows):
    file.parent.mkdir(exist_ok=True)
    parquet.write_table(table({name: [row[name] for row in rows] for name in rows[0]}), file)


RESULTS = "      epoch,  train/box_loss\n" + "".join(
    f"   {n},   {1 / n:.5f}\n" for n in range(1, 6)
)


@pytest.mark.parametrize("log", [RESULTS, "a,b\n0.png,x\nno.txt,y\nno.txt,z\n"])
def test_a_log_is_no_table_of_the_pictures_whose_numbers_it_holds(tmp_path, log):
    source = read(tmp_path, NUMBERED, {"log.csv": log})
    assert captions_of(source) == NOTHING
    assert "log.csv: not read, because most rows name no picture that is here" in source.notes
    with pytest.raises(UserError, match="the row names no image"):
        read_source(tmp_path / "log.csv")


@pytest.mark.parametrize(
    "other", ["time,event\n1,start\n", "", "image,caption\ngone.jpg,other\n", "PAR1"]
)
def test_of_two_tables_the_one_that_names_pictures_is_taken(tmp_path, other):
    name = "a.parquet" if other == "PAR1" else "a.csv"
    source = read(tmp_path, NUMBERED, {"captions.csv": CAPTIONS, name: other})
    assert captions_of(source) == WHOLE
    assert any(note.startswith(f"{name}: not read") for note in source.notes)


def test_a_manifest_is_preferred(tmp_path):
    manifest = '{"image": "1.png", "txt": "mine"}\n'
    source = read(tmp_path, NUMBERED, {"captions.csv": CAPTIONS, "manifest.jsonl": manifest})
    assert captions_of(source) == {"1.png": ["mine"]}


def test_two_tables_without_rows_are_refused(tmp_path):
    with pytest.raises(UserError, match="one.csv has no rows"):
        read(tmp_path, NUMBERED, {"one.csv": "", "two.jsonl": ""})


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("name", ["{}", "labels_{}", "{}-0000"])
def test_tables_named_by_splits_are_the_splits_of_one(tmp_path, suffix, name):
    for split, rows in (("train", ROWS[:6]), ("test", ROWS[6:])):
        file = tmp_path / f"{name.format(split)}.{suffix}"
        if suffix == "parquet":
            parquet_of(file, rows)
        else:
            text = csv_of(rows).encode()
            file.write_bytes(text if suffix == "csv" else gzip.compress(text))
    source = read(tmp_path, NUMBERED)
    assert captions_of(source) == WHOLE
    splits = {record.image: record.split for record in source.records}
    assert splits == dict.fromkeys(NUMBERED[:6], "train") | dict.fromkeys(NUMBERED[6:], "test")


def test_tables_in_the_folders_of_an_image_folder_are_read_with_their_splits(tmp_path):
    files = {
        "data/train/metadata.jsonl": '{"file_name": "0.png", "text": "one"}\n',
        "data/test/metadata.csv": "file_name,text\n0.png,two\n",
    }
    source = read(tmp_path, ["data/train/0.png", "data/test/0.png"], files)
    found = {(record.image, record.split, *record.captions) for record in source.records}
    assert found == {
        (f"data/{split}/0.png", split, word) for split, word in (("train", "one"), ("test", "two"))
    }


def test_of_tables_that_say_the_same_one_is_read(tmp_path):
    parquet_of(tmp_path / "captions.parquet", ROWS)
    files = dict.fromkeys(("captions.csv", "captions (1).csv"), CAPTIONS)
    source = read(tmp_path, NUMBERED, files)
    assert captions_of(source) == WHOLE
    said = "captions.parquet: not read, because it says the same as captions (1).csv"
    assert said in source.notes
    written(tmp_path, {"captions.csv": CAPTIONS.replace("shape 7", "other")})
    found = captions_of(read_source(tmp_path))
    assert found == WHOLE | {"7.png": ["shape 7.png", "other.png"]}


def test_parquet_files_with_the_same_columns_and_the_folder_that_spark_writes_are_one_table(
    tmp_path,
):
    shards = photos(tmp_path / "shards", *NUMBERED)
    spark = photos(tmp_path / "spark", *NUMBERED)
    for number, rows in enumerate((ROWS[:3], ROWS[3:])):
        parquet_of(shards / f"part-{number}.parquet", rows)
        parquet_of(spark / "table.parquet" / f"part-{number}-c000.snappy.parquet", rows)
    written(spark / "table.parquet", {"_SUCCESS": "", ".part-0.parquet.crc": ""})
    for source in (shards, spark, spark / "table.parquet"):
        assert captions_of(read_source(source)) == WHOLE


def test_the_shards_of_img2dataset_are_one_table_of_the_pictures_in_their_folders(tmp_path):
    keys = [f"{shard:05}{number:04}" for shard in range(2) for number in range(3)]
    for shard in (keys[:3], keys[3:]):
        rows = [{"url": "https://x.example/a.jpg", "key": key, "caption": key} for key in shard]
        rows.append(rows[0] | {"key": "999999999", "caption": "not downloaded"})
        parquet_of(tmp_path / f"{shard[0][:5]}.parquet", rows)
    source = read(tmp_path, [f"{key[:5]}/{key}.jpg" for key in keys])
    assert captions_of(source) == {f"{key[:5]}/{key}.jpg": [key] for key in keys}
    assert [record.captions for record in source.missing] == [["not downloaded"]] * 2


def test_parquet_files_of_features_do_not_make_a_folder_of_pictures_a_dataset(tmp_path):
    for name in ("data/a.parquet", "features.parquet"):
        parquet_of(tmp_path / name, [{"feature": [0.5, 1.0]}] * 8)
    assert captions_of(read(tmp_path, NUMBERED)) == NOTHING
    assert captions_of(read(tmp_path, NUMBERED, {"captions.csv": CAPTIONS})) == WHOLE


def test_a_damaged_part_of_a_dataset_is_refused(tmp_path):
    parquet_of(tmp_path / "train-0.parquet", [{"image": {"bytes": b"x", "path": "a.png"}}])
    (tmp_path / "train-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"train-1\.parquet is not a Parquet file"):
        read_source(tmp_path)


def test_what_is_said_of_one_picture_is_no_table(tmp_path):
    said = '{"title": "p1.jpg", "description": "one"}'
    files = dict.fromkeys(("p0.jpg.json", "p1.json", "album.json"), said)
    source = read(tmp_path, ["p0.jpg", "p1.jpg"], files)
    assert captions_of(source) == {"p0.jpg": ["one"], "p1.jpg": ["one"]}


def test_what_may_be_a_table_and_is_none_is_said_and_changes_nothing(tmp_path):
    settings = {"size": [1, 2], "name": "x", "0.png": 3, "steps": [{"a": 1}]}
    files = {
        "notes.txt": "image of a dog, text\n",
        "train.txt": "./0.png\n./1.png\n./2.png\n",  # a list of pictures
        "settings.json": json.dumps(settings),
        "s/labels.csv": "image,text\n0.png,one\n",
        "0.txt": b"\xff\xd8\1\2",
    }
    source = read(tmp_path, NUMBERED, files)
    assert captions_of(source) == NOTHING
    said = "".join(source.notes)
    assert "1 cannot be read; the first: " in said
    assert "s/labels.csv is not read; name tables in folders meta" in said
