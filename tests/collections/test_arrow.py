"""Parquet files and datasets of Hugging Face are sources like folders."""

import sys

import pyarrow
import pytest
from pyarrow import parquet

from genius.collections.building import build, named
from genius.collections.mbeir import Collection
from genius.collections.sources import read_source
from genius.errors import UserError
from tests.collections.built import captions_of
from tests.collections.samples import photos, picture

STORED = [{"bytes": picture(number), "path": f"a{number}.png"} for number in range(6)]


def write(file, **columns):
    parquet.write_table(pyarrow.table(columns), file)
    return file


def test_a_parquet_file_names_pictures_beside_it_and_its_vectors_are_no_attribute(tmp_path):
    photos(tmp_path, "p/0.png", "p/1.png")
    table = write(
        tmp_path / "t.parquet",
        file_name=["p/0.png", "p/1.png"],
        title=["a", None],
        v=[[0.5], [1.0]],
    )
    for source in (read_source(table), read_source(tmp_path)):
        assert captions_of(source) == {"p/0.png": ["a"], "p/1.png": []}
        assert not any(record.attributes for record in source.records)


def test_pictures_in_a_parquet_file_become_a_collection_and_nothing_else_is_left(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    file = write(tmp_path / "shop.parquet", image=STORED, caption=[f"thing {n}" for n in range(6)])
    (row, *_) = build([str(file)], tmp_path / "collection")
    assert row.dataset == named(str(file))[0] == "shop"
    collection = Collection(tmp_path / "collection")
    kept = {item.text: item for item in collection.all_candidates()}
    pictured = next(
        item for item in collection.all_candidates() if item.image and item.image.endswith("/4.png")
    )
    assert collection.image_path(pictured.image).read_bytes() == picture(3) and "thing 3" in kept
    write(file, image=[STORED[0], None], caption=["one", "two"])
    with pytest.raises(UserError, match=r"shop\.parquet:2: .* is missing"):
        build([str(file)], tmp_path / "other", benchmark=True)
    assert not list((tmp_path / "temporary").iterdir())


def test_datasets_of_hugging_face_have_splits_and_labels_saved_or_as_parquet_files_of_splits(
    tmp_path,
):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["cat", "dog"])}
    )
    whole = datasets.Dataset.from_dict({"image": STORED, "label": [0, 1] * 3}, features=features)
    parts = datasets.DatasetDict({"train": whole.select(range(4)), "test": whole.select([4, 5])})
    parts.save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "clone" / "data").mkdir(parents=True)
    for name, part in parts.items():
        part.to_parquet(str(tmp_path / "clone" / "data" / f"{name}-00000-of-00001.parquet"))
    for folder in ("saved", "clone"):
        records = read_source(tmp_path / folder).records
        known = {(r.split, r.attributes["label"]) for r in records}
        assert len(records) == 6 and known == {
            (split, label) for split in parts for label in ("cat", "dog")
        }


@pytest.mark.parametrize(
    "folder, said", [("broken.parquet", "is not a Parquet file"), ("empty", "contains no images")]
)
def test_what_cannot_be_read_is_refused_in_one_sentence(folder, said, tmp_path):
    (tmp_path / "broken.parquet").write_text("hello")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=said):
        read_source(tmp_path / folder)


def test_an_error_names_the_row_of_the_dataset_and_what_to_install(tmp_path, monkeypatch):
    file = write(tmp_path / "x.parquet", image=STORED[:2], split=["train", "spare"])
    with pytest.raises(UserError, match=r"/x\.parquet.*2.*spare"):
        read_source(file)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        UserError, match="to read OWNER/NAME, a dataset of Hugging Face: pip install datasets"
    ):
        read_source(named("hf://OWNER/NAME")[1])
