"""Models of the folders' own, which --train trains and keeps if they find more."""

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.index.__main__ import main as index_command
from genius.models.reader import Reader, ReaderConfig
from genius.run import Run
from genius.search.engine import Engine
from tests.collections.samples import write_source
from tests.training.own.folders import index_of, make, photographs
from tests.training.tiny import Killed
from training.data import pseudo_queries
from training.own import own_models

pytestmark = pytest.mark.usefixtures("photos")

SIZES = """quantizer.epochs=2 quantizer.batch=64 quantizer.kmeans_iterations=3
    decoder.epochs=1 decoder.batch=64 decoder.decoder.layers=1 decoder.decoder.width=16
    decoder.decoder.heads=2 decoder.decoder.head_width=8
    decoder.decoder.ff_width=24 decoder.decoder.prefix=2"""
TRAIN = ["--train", *(f"--set={change}" for change in SIZES.split())]


def test_own_models_are_trained_without_what_was_removed(tmp_path, run):
    pictures = photographs(tmp_path / "pictures")
    make(pictures, run)
    assert index_command([str(run), "remove", "0:3"]) == 0
    index = make(pictures, run, *TRAIN)
    assert index.n == 23 and index.rows_of(["0:3"]).tolist() == [-1]


@pytest.mark.parametrize("gain", [True, False])
def test_own_models_are_trained_on_generated_queries_and_kept_if_they_find_more(
    photos, tmp_path, run, capsys, monkeypatch, gain
):
    photos.publish("reader", Reader(ReaderConfig(32, 4)).save, ("encoder",))
    measured = []

    def hits(path, collection, device):
        assert Run(path).has("reader")  # both kinds know what queries ask for
        measured.append((path, own_models_hits(path, collection, device)))
        better = gain == (path.name == "own")
        return {"val": np.array([better]), "test": np.array([not better, not better])}

    own_models_hits = own_models.hits
    monkeypatch.setattr(own_models, "hits", hits)
    pictures = photographs(tmp_path / "pictures")
    make(pictures, run, *TRAIN)

    said = capsys.readouterr().out
    worse, better = (
        "100.0% without training, 0.0% by models",
        "0.0% without training, 100.0% by models",
    )
    chosen, told = (better, worse) if gain else (worse, better)
    verdict = "are" if gain else "gain no"
    assert f"hit@5 of 1 validation queries: {chosen} of the folders' own, which {verdict}" in said
    # these choose nothing
    assert f"hit@5 of 2 held-out queries: {told} of the folders' own\n" in said
    assert [path.name for path, _ in measured] == ["run", "own"]
    for _, found in measured:
        assert found.keys() == {"val", "test"}
        assert all(0 < len(hits) <= 10 for hits in found.values())
    changed = {
        part: Run(run).digest(part) != photos.digest(part)
        for part in ("encoder", "fusion", "quantizer", "decoder")
    }
    assert changed == {"encoder": False, "fusion": gain, "quantizer": gain, "decoder": gain}
    engine = Engine.load(run, "cpu")
    assert engine.index.n == 24 and engine.has_reader and not (run / "own").exists()
    before = (run / "manifest.json").read_bytes()
    make(pictures, run, *TRAIN)
    assert (run / "manifest.json").read_bytes() == before and len(measured) == 2


def test_killed_while_training_it_continues(tmp_path, run, monkeypatch):
    """While queries are generated, and while own models take the place of the shipped ones."""

    def half(collection, *given):
        pseudo_queries.write_pseudo_queries(collection, *given)
        next((collection.root / "query" / "val").iterdir()).unlink()
        raise Killed

    def published_one(run, side):
        run.publish(
            "fusion", lambda path: own_models.link_files(side.folder("fusion"), path), ("encoder",)
        )
        raise Killed

    monkeypatch.setattr(own_models, "hits", lambda run, *_: {"val": np.array([run.name == "own"])})
    pictures = photographs(tmp_path / "pictures")
    for name, stand_in in (("write_pseudo_queries", half), ("adopt", published_one)):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(own_models, name, stand_in)
            make(pictures, run, *TRAIN)
    make(pictures, run, *TRAIN)
    assert {row.splits for row in Collection(run / "collection" / "pictures").rows()} == {
        ("train", "val", "test")
    }
    assert Engine.load(run, "cpu").index.n == 24 and not (run / "own").exists()


def test_too_few_pictures_or_texts_are_searched_but_not_trained_on(tmp_path):
    records = [
        {"img_path": f"images/{number}.png", "txt": f"thing {number}", "split": "train"}
        for number in range(4)
    ]
    few = photographs(tmp_path / "few", 19)
    shop = write_source(tmp_path / "shop", records)
    for source, n, message in (
        (few, 19, "19 images without texts; training needs at least 20"),
        (shop, 8, "the texts give 8 train and 0 val queries, .* a column `split` of their table"),
    ):
        run = tmp_path / f"of {source.name}"
        with pytest.raises(UserError, match=message):
            make(source, run, *TRAIN)
        assert index_of(run).n == n
