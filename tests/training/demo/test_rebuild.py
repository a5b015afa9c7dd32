import json
import re
import shutil
from dataclasses import replace

import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.redraw import WorldRecipe, picture_digest
from genius.examples import read_examples
from genius.run import EXTRAS, PARTS, Run
from genius.search.engine import Engine
from tests.training.quick_maps import lay_out_by_principal_components
from tests.training.tiny import TINY
from training.demo import __main__ as demo
from training.presets import DEMO
from training.settings import IndexSettings

NOT_INDEXED = re.compile('^(0:7|0:11) |"qid": ?"(0:7|0:11)"')  # test queries that training items answer: not indexed
NO_TEACHER = replace(DEMO, encoder=replace(DEMO.encoder, extras=replace(DEMO.encoder.extras, teacher="unknown")))
SETTINGS = replace(TINY, index=IndexSettings("union_test", thumbnail_side=20))


@pytest.fixture(scope="module")
def shipped(collection, tmp_path_factory):
    """(destination, work, how many worlds were drawn) of a rebuild on the micro collection."""
    drawn = []

    def micro_world(destination, seed, scale):
        drawn.append((seed, scale))
        shutil.copytree(collection.root, destination)
        for file in [*destination.glob("query/test/*"), *destination.glob("qrels/test/*")]:
            file.write_text("".join(line for line in file.read_text().splitlines(True) if not NOT_INDEXED.search(line)))
        facts = {"seed": seed, "scale": scale, "pixels": 40, "digest": "0" * 64}
        (destination / "world.json").write_text(json.dumps(facts))
        return facts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "write_world", micro_world)
        patch.setattr("training.ranker.MIN_QUERIES", 1)
        lay_out_by_principal_components(patch)
        root = tmp_path_factory.mktemp("demo")
        demo.rebuild(root / "assets" / "demo", root / "work", SETTINGS, "cpu")
    return root / "assets" / "demo", root / "work", drawn


def test_the_shipped_run_is_complete_and_answers_queries(shipped, collection):
    destination, _work, drawn = shipped
    engine = Engine.load(destination, "cpu")
    assert engine.index.items(range(engine.index.n)) == list(collection.candidates("union_test"))
    assert drawn == [(0, 12_600)]
    assert len(read_examples(destination)) == 12


def test_it_contains_only_what_serving_needs_and_no_local_path(shipped):
    destination, work, _ = shipped
    parts = {Run(destination).folder(part).name for part in (*PARTS, *EXTRAS)}
    assert {file.name for file in destination.iterdir()} == parts | {"manifest.json", "reports", "examples"}
    manifest = (destination / "manifest.json").read_text()
    assert str(work.parent) not in manifest and json.loads(manifest)["collection"] == "world"
    assert sorted(file.name for file in destination.parent.iterdir()) == ["demo"]


def test_its_manifest_names_the_world_and_its_pictures(shipped):
    destination, work, _ = shipped
    manifest = Run(destination).manifest
    assert manifest["preset"] == "demo"
    assert WorldRecipe.from_manifest(manifest) == WorldRecipe(
        0, 12_600, 40, "0" * 64, picture_digest(Collection(work / "world"))
    )
    assert set(manifest["stages"]) == {"encoder", "features", "quantizer", "decoder", "index"}


def test_sizes_are_of_every_file_once_and_printed_against_the_budgets(shipped, monkeypatch, capsys):
    destination, work, _ = shipped
    found = demo.sizes(Run(destination))
    assert found.keys() == demo.BUDGETS.keys() and all(found.values())
    assert sum(found.values()) * 1e6 == pytest.approx(
        sum(file.stat().st_size for file in destination.rglob("*") if file.is_file())
    )
    assert found["encoder"] * 1e6 == pytest.approx(
        sum(file["bytes"] for file in Run(destination).manifest["parts"]["encoder"]["files"].values())
    )
    monkeypatch.setitem(demo.BUDGETS, "encoder", 1.0)
    demo.rebuild(destination, work, SETTINGS, "cpu")  # all is done: it ships the same once more
    printed = capsys.readouterr().out
    assert f"{found['encoder']:.2f} MB of 1: too large" in printed and "── " not in printed
    assert Run(destination).folder("index").is_dir()


def test_a_copy_that_fails_leaves_the_run_that_was_there(shipped, tmp_path, monkeypatch):
    _destination, work, _ = shipped
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "manifest.json").write_text("before")
    monkeypatch.setattr(demo, "picture_digest", lambda collection: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        demo.ship(Run(work / "run"), Collection(work / "world"), tmp_path / "demo")
    assert [file.name for file in tmp_path.iterdir()] == ["demo"]
    assert (tmp_path / "demo" / "manifest.json").read_text() == "before"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"destination": "."}, "exists and is not a run"),
        ({"settings": replace(SETTINGS, seed=3)}, "is the world of seed 0, not 3"),
        ({"settings": NO_TEACHER}, "pip install gt-all"),
    ],
)
def test_impossible_arguments_are_refused_before_anything_is_made(shipped, tmp_path, monkeypatch, changes, message):
    (tmp_path / "a file").write_text("")
    monkeypatch.setattr(demo, "train", None)
    given = {"destination": "demo", "settings": SETTINGS} | changes
    with pytest.raises(UserError, match=message):
        demo.rebuild(tmp_path / given["destination"], shipped[1], given["settings"], "cpu")
    assert [file.name for file in tmp_path.iterdir()] == ["a file"]
