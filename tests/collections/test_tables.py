"""Which files are the table of a folder: those whose rows name its pictures; several may be parts
of one.
"""

import gzip
import json

import pytest
from pyarrow import parquet, table

from genius.collections import lines
from genius.collections.sources import read_source
from genius.errors import UserError
from tests.collections.samples import photos, write_jsonl
from tests.collections.test_archives import zipped

NUMBERED = [f"{number}.png" for number in range(8)]
ROWS = [{"image": name, "caption": f"shape {name}"} for name in NUMBERED]
CAPTIONS = "image,caption\n" + "".join(f"{row['image']},{row['caption']}\n" for row in ROWS)


def parquet_of(file, rows):
    file.parent.mkdir(exist_ok=True)
    parquet.write_table(table({name: [row[name] for row in rows] for name in rows[0]}), file)


def captions_of(source):
    return {record.image: record.captions for record in source.records}


WHOLE = {row["image"]: [row["caption"]] for row in ROWS}
RESULTS = "      epoch,  train/box_loss\n" + "".join(
    f"   {n},   {1 / n:.5f}\n" for n in range(1, 6)
)


@pytest.mark.parametrize(
    "log", ["time,event\n1,start\n2,stop\n", RESULTS, "a,b\n0.png,x\nno.txt,y\nno.txt,z\n"]
)
def test_a_log_is_no_table_of_the_pictures_whose_numbers_it_holds(tmp_path, log):
    folder = photos(tmp_path / "x", *NUMBERED)
    (folder / "log.csv").write_text(log)
    source = read_source(folder)
    assert captions_of(source) == {name: [] for name in NUMBERED}
    assert "log.csv: not read, because most rows name no picture that is here" in source.notes
    with pytest.raises(UserError, match="the row names no image"):
        read_source(folder / "log.csv")


@pytest.mark.parametrize(
    "other", ["time,event\n1,start\n", "", "image,caption\ngone.jpg,other\n", "PAR1"]
)
def test_of_two_tables_the_one_that_names_pictures_is_taken(tmp_path, other):
    folder = photos(tmp_path / "x", *NUMBERED)
    (folder / "captions.csv").write_text(CAPTIONS)
    name = "a.parquet" if other == "PAR1" else "a.csv"
    (folder / name).write_text(other)
    source = read_source(folder)
    assert captions_of(source) == WHOLE and any(
        note.startswith(f"{name}: not read") for note in source.notes
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    "names", [("train", "test"), ("labels_train", "labels_test"), ("train-0000", "test-0000")]
)
def test_tables_named_by_splits_are_the_splits_of_one(tmp_path, suffix, names):
    folder = photos(tmp_path / "x", *NUMBERED)
    for name, rows in zip(names, (ROWS[:6], ROWS[6:]), strict=True):
        if suffix == "csv":
            lines = [f"{row['image']},{row['caption']}\n" for row in rows]
            (folder / f"{name}.csv").write_text("image,caption\n" + "".join(lines))
        else:
            parquet_of(folder / f"{name}.parquet", rows)
    source = read_source(folder)
    assert captions_of(source) == WHOLE
    splits = {record.image: record.split for record in source.records}
    assert splits == dict.fromkeys(NUMBERED[:6], "train") | dict.fromkeys(NUMBERED[6:], "test")


def test_a_picture_in_the_tables_of_two_splits_is_of_the_later_one(tmp_path):
    folder = photos(tmp_path / "x", *NUMBERED)
    (folder / "train.csv").write_text(CAPTIONS)
    (folder / "test.csv").write_text("image,caption\n7.png,another\n")
    source = read_source(folder)
    found = {record.image: (record.split, set(record.captions)) for record in source.records}
    assert found["7.png"] == ("test", {"shape 7.png", "another"}) and found["6.png"] == (
        "train",
        {"shape 6.png"},
    )
    assert (
        "1 images are in tables of several splits; the first: 7.png is in test alone"
        in source.notes
    )


def test_of_tables_that_say_the_same_one_is_read(tmp_path):
    folder = photos(tmp_path / "x", *NUMBERED)
    for name in ("captions.csv", "captions (1).csv"):
        (folder / name).write_text(CAPTIONS)
    parquet_of(folder / "captions.parquet", ROWS)
    source = read_source(folder)
    assert captions_of(source) == WHOLE
    assert (
        "captions.parquet: not read, because it says the same as captions (1).csv" in source.notes
    )
    (folder / "captions.csv").write_text(CAPTIONS.replace("shape 7", "other"))
    assert captions_of(read_source(folder)) == WHOLE | {"7.png": ["shape 7.png", "other.png"]}


def test_several_tables_of_the_same_pictures_are_read_together(tmp_path):
    folder = photos(tmp_path / "x", *NUMBERED)
    (folder / "captions.csv").write_text("id,image,caption,colour\n1,0.png,a,red\n2,1.png,b,red\n")
    (folder / "labels.csv").write_text(
        "id,file,colour,split\n1,1.png,blue,test\n2,0.png,red,\n3,2.png,green,train\n"
    )
    write_jsonl(
        folder / "asked.jsonl",
        [{"image": "0.png", "qa": [{"q": "What?", "a": "It."}], "text": "c"}],
    )
    source = read_source(folder)
    found = {record.image: record for record in source.records}
    captions = {image: record.captions for image, record in found.items()}
    assert captions == {"0.png": ["c", "a"], "1.png": ["b"], "2.png": []}
    assert found["0.png"].qa == [("What?", "It.")] and found["1.png"].split == "test"
    assert found["1.png"].attributes["colour"] == ["red", "blue"] and found["2.png"].attributes == {
        "colour": "green"
    }
    assert (
        "captions.csv and labels.csv differ in 1 cells; the first: colour of 1.png is red and blue"
        in source.notes
    )
    read = [note.partition(":")[0] for note in source.notes if ": image from " in note]
    assert read == ["asked.jsonl", "captions.csv", "labels.csv"]


def test_parquet_files_with_the_same_columns_and_the_folder_that_spark_writes_are_one_table(
    tmp_path,
):
    (shards := photos(tmp_path / "shards", *NUMBERED)) and (
        spark := photos(tmp_path / "spark", *NUMBERED)
    )
    for number, rows in enumerate((ROWS[:3], ROWS[3:])):
        parquet_of(shards / f"part-{number}.parquet", rows)
        parquet_of(spark / "table.parquet" / f"part-{number}-c000.snappy.parquet", rows)
    (spark / "table.parquet" / "_SUCCESS").touch()
    (spark / "table.parquet" / ".part-0.parquet.crc").touch()
    for source in (shards, spark, spark / "table.parquet"):
        assert captions_of(read_source(source)) == WHOLE


def test_the_shards_of_img2dataset_are_one_table_of_the_pictures_in_their_folders(tmp_path):
    keys = [f"{shard:05}{number:04}" for shard in range(2) for number in range(3)]
    folder = photos(tmp_path / "x", *(f"{key[:5]}/{key}.jpg" for key in keys))
    for shard in (keys[:3], keys[3:]):
        rows = [
            {"url": "https://x.example/a.jpg", "key": key, "caption": f"boat {key}"}
            for key in shard
        ]
        rows.append(
            {"url": "https://x.example/b.jpg", "key": "999999999", "caption": "not downloaded"}
        )
        parquet_of(folder / f"{shard[0][:5]}.parquet", rows)
    source = read_source(folder)
    assert captions_of(source) == {f"{key[:5]}/{key}.jpg": [f"boat {key}"] for key in keys}
    assert [record.captions for record in source.missing] == [["not downloaded"]] * 2


def test_parquet_files_of_features_do_not_make_a_folder_of_pictures_a_dataset(tmp_path):
    folder = photos(tmp_path / "x", *NUMBERED)
    for name in ("data/a.parquet", "data/b.parquet", "features.parquet"):
        parquet_of(folder / name, [{"feature": [0.5, 1.0]}] * 8)
    (folder / "captions.csv").write_text(CAPTIONS)
    assert captions_of(read_source(folder)) == WHOLE
    (folder / "captions.csv").unlink()
    assert captions_of(read_source(folder)) == {name: [] for name in NUMBERED}


def test_a_damaged_part_of_a_dataset_is_refused(tmp_path):
    parquet_of(tmp_path / "train-0.parquet", [{"image": {"bytes": b"x", "path": "a.png"}}])
    (tmp_path / "train-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match=r"train-1\.parquet is not a Parquet file"):
        read_source(tmp_path)


def test_what_is_said_of_one_picture_is_no_table(tmp_path):
    folder = photos(tmp_path / "x", "p0.jpg", "p1.jpg")
    for name in ("p0.jpg.json", "p1.json", "album.json"):
        (folder / name).write_text('{"title": "p1.jpg", "description": "one"}')
    assert captions_of(read_source(folder)) == {"p0.jpg": ["one"], "p1.jpg": ["one"]}


ELSEWHERE = [
    "C:pets\\{}",
    "%USERPROFILE%\\Pictures\\pets\\{}",
    "$HOME/pets/{}",
    "${{DATA}}/pets/{}",
]
LABEL_STUDIO = [
    *(
        "/data/upload/1/7f3a2b1c-{}",
        "/data/local-files/?d=pets/{}",
        "http://localhost:8080/data/local-files/?d=pets/{}",
    ),
    *(
        "/data/local-files/?d=pets%2F{}",
        "s3://bucket/pets/{}",
        "gs://bucket/pets/{}",
        "azure-blob://c/pets/{}",
    ),
    "https://host.example/pets/{}?w=800&sig=abc/d",
]


@pytest.mark.parametrize("form", [*ELSEWHERE, *LABEL_STUDIO])
def test_paths_of_other_systems_and_addresses_of_label_studio_are_the_files_here(tmp_path, form):
    folder = photos(tmp_path / "x", "pets/a.jpg", "pets/b.jpg", "other/b.png")
    (folder / "export.csv").write_text(
        f"id,image,choice\n1,{form.format('a.jpg')},cat\n2,{form.format('b.jpg')},dog\n"
    )
    found = {record.image: record.attributes["choice"] for record in read_source(folder).records}
    assert found == {"pets/a.jpg": "cat", "pets/b.jpg": "dog"}


def test_a_path_that_climbs_out_of_the_folder_names_nothing_outside(tmp_path):
    photos(tmp_path, "secret.png", "x/a.png")
    (tmp_path / "x" / "t.csv").write_text(
        "image,text\n/up/../../secret.png,one\ns3://b/../../secret.png,two\na.png,three\n"
    )
    source = read_source(tmp_path / "x")
    assert captions_of(source) == {"a.png": ["three"]} and len(source.missing) == 2


@pytest.mark.timeout(60)
def test_a_cell_of_many_slashes_takes_no_minutes(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "t.csv").write_text(
        f"image,note\na.png,http://{'a/' * 60_000}\nhttp://{'a/' * 60_000},x\nb.png,y\n"
    )
    assert len(read_source(folder).records) == 2


def test_texts_are_said_to_be_kept_only_where_they_are(tmp_path):
    folder = photos(tmp_path / "x", "a.png", "b.png")
    (folder / "t.csv").write_text("image,text,tag\ngone.png,,x\na.png,one,y\nb.png,two,z\n")
    assert not any("are kept" in report.detail for report in read_source(folder).others)
    (folder / "t.csv").write_text("image,text\ngone.png,one\n")
    with pytest.raises(UserError, match="none of the pictures that it names is there") as refused:
        read_source(folder)
    assert "are kept" not in str(refused.value)


@pytest.mark.parametrize(
    "name, text",
    [
        (
            "catalog.json",
            json.dumps(
                {
                    "made": "2020",
                    "items": [{"file": f"{n}.png", "title": f"Vase {n}"} for n in "01"],
                }
            ),
        ),
        ("captions.json", json.dumps({f"{n}.png": f"Vase {n}" for n in "01"}, indent=1)),
        ("captions.json", json.dumps({f"{n}.png": [f"Vase {n}"] for n in "01"})),
        (
            "via.json",
            json.dumps(
                {
                    f"{n}.png8": {"filename": f"{n}.png", "text": f"Vase {n}", "regions": [{}]}
                    for n in "01"
                }
            ),
        ),
        ("Flickr8k.token.txt", "0.png#0\tVase 0\n0.png#1\tVase 0\n1.png#0\tVase 1\n"),
        (
            "all.json",
            json.dumps(
                [{"SourceFile": f"./{n}.png", "XMP:Description": f"Vase {n}"} for n in (0, 1)]
            ),
        ),
        ("t.csv", "image,prompt\n0.png,Vase 0\n1.png,Vase 1\n"),
    ],
)
def test_json_by_name_lists_in_an_object_tokens_and_prompts_are_tables(tmp_path, name, text):
    folder = photos(tmp_path / "x", "0.png", "1.png")
    (folder / name).write_text(text)
    source = read_source(folder)
    assert captions_of(source) == {"0.png": ["Vase 0"], "1.png": ["Vase 1"]}
    assert not any(record.attributes for record in source.records)


def test_an_object_about_something_else_is_no_table(tmp_path):
    folder = photos(tmp_path / "x", "0.png", "1.png")
    (folder / "settings.json").write_text(
        json.dumps({"size": [1, 2], "name": "x", "0.png": 3, "steps": [{"a": 1}]})
    )
    assert captions_of(read_source(folder)) == {"0.png": [], "1.png": []}


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    "name, text",
    [
        ("captions.csv.gz", CAPTIONS),
        ("Captions.CSV.GZ", CAPTIONS),
        ("captions.tsv.gz", CAPTIONS.replace(",", "\t")),
        ("captions.jsonl.gz", LINES),
        ("metadata.jsonl.gz", LINES),
    ],
)
def test_a_packed_table_is_read_as_what_it_holds(tmp_path, name, text):
    folder = photos(tmp_path / "x", *NUMBERED)
    (folder / name).write_bytes(gzip.compress(text.encode()))
    pack = zipped(tmp_path / "x.zip", [(file.name, file.read_bytes()) for file in folder.iterdir()])
    for source in (folder, folder / name, pack):
        found = read_source(source)
        assert captions_of(found) == WHOLE
    (folder / name).write_text(text)  # as a program that downloads leaves it
    assert captions_of(read_source(folder)) == WHOLE


def test_packed_tables_of_splits_are_the_splits_of_one(tmp_path):
    folder = photos(tmp_path / "x", *NUMBERED)
    for name, rows in (("labels_train", ROWS[:6]), ("labels_test", ROWS[6:])):
        text = "image,caption\n" + "".join(f"{row['image']},{row['caption']}\n" for row in rows)
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    splits = {record.image: record.split for record in read_source(folder).records}
    assert splits == dict.fromkeys(NUMBERED[:6], "train") | dict.fromkeys(NUMBERED[6:], "test")


def test_a_packed_table_that_is_damaged_or_too_large_is_refused_in_one_sentence(
    tmp_path, monkeypatch
):
    folder = photos(tmp_path / "x", *NUMBERED)
    packed = gzip.compress(CAPTIONS.encode())
    for data in (packed[:-12], packed[:20] + b"x" + packed[21:]):
        (folder / "captions.csv.gz").write_bytes(data)
        with pytest.raises(UserError, match="captions.csv.gz: is damaged .*; pack the table again"):
            read_source(folder)
    monkeypatch.setattr(lines, "MAX_PACKED", 100)
    (folder / "captions.csv.gz").write_bytes(packed)
    with pytest.raises(UserError, match="captions.csv.gz: unpacks to more than 0 MB; split the ta"):
        read_source(folder / "captions.csv.gz")
