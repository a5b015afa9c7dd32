"""genius/evaluation/redraw.py with a stand-in for the world: the micro collection, copied."""

import json
import shutil
import sys
from types import SimpleNamespace

import pytest
from PIL import Image

from genius.demo_world.write import write_world
from genius.errors import UserError
from genius.evaluation.__main__ import main
from genius.evaluation.redraw import WorldRecipe, picture_digest, query_pictures

FACTS = {"seed": 3, "scale": 48, "pixels": 40, "digest": "abc"}


@pytest.fixture
def drawn(collection, monkeypatch) -> list[tuple[dict, set[str]]]:
    """What the world was asked for: its arguments, and the pictures that were drawn."""
    calls = []

    def write_world(destination, pictures=None, workers=None, **made_from):
        shutil.copytree(collection.root, destination)
        files = list((destination / "images").iterdir())
        for file in files:
            if pictures is not None and not pictures(f"images/{file.name}"):
                file.unlink()
        calls.append((made_from, {f"images/{file.name}" for file in files if file.exists()}))
        return made_from | {"digest": "abc"}

    monkeypatch.setitem(sys.modules, "genius.demo_world.write", SimpleNamespace(write_world=write_world))
    return calls


def test_the_demo_world_can_be_redrawn(tmp_path):
    made = write_world(tmp_path / "whole", seed=2, scale=1000, pixels=32, pictures=lambda path: False, workers=1)
    world = WorldRecipe.from_manifest({"world": made})

    redrawn = world.redraw(tmp_path, "val", workers=1)

    held = {file.relative_to(redrawn.root).as_posix() for file in (redrawn.root / "images").rglob("*.jpg")}
    assert held == query_pictures(redrawn, "val") and held


@pytest.fixture
def of_world(run, tmp_path):
    """A copy of the run whose manifest says that it was trained on a world."""

    def copied(**changes):
        copy = shutil.copytree(run, tmp_path / "copy")
        manifest = json.loads((copy / "manifest.json").read_text())
        (copy / "manifest.json").write_text(json.dumps(manifest | {"collection": "world", "world": FACTS | changes}))
        return copy

    return copied


def test_only_the_pictures_that_queries_hold_are_drawn(collection, drawn, tmp_path):
    world = WorldRecipe.from_manifest({"world": FACTS})

    redrawn = world.redraw(tmp_path, "test")

    asked = {query.image for query in collection.queries("test") if query.image}
    assert [made for _, made in drawn] == [set(), asked] and len(asked) == 4
    assert all(made_from == {"seed": 3, "scale": 48, "pixels": 40} for made_from, _ in drawn)
    assert query_pictures(redrawn, "test") == asked


def test_every_picture_is_drawn_if_items_are_encoded_again(collection, drawn, tmp_path):
    WorldRecipe.from_manifest({"world": FACTS}).redraw(tmp_path, "test", every_picture=True)

    ((_, made),) = drawn
    assert len(made) == 32


def test_other_records_are_refused(drawn, tmp_path):
    with pytest.raises(UserError, match="the records of the redrawn world differ"):
        WorldRecipe.from_manifest({"world": FACTS | {"digest": "other"}}).redraw(tmp_path, "test")


def test_a_manifest_without_a_world_has_none_and_a_damaged_one_is_refused():
    assert WorldRecipe.from_manifest({"collection": "photographs"}) is None
    assert WorldRecipe.from_manifest({"world": FACTS | {"pictures": "def", "seconds": 3}}).pictures == "def"
    for facts in ({"seed": 0}, FACTS | {"seed": "0"}, "world"):
        with pytest.raises(UserError, match="name the collection: --collection DIR"):
            WorldRecipe.from_manifest({"world": facts})


def test_the_checksum_depends_on_the_pixels_of_test_queries_alone(collection, tmp_path):
    copy = type(collection)(shutil.copytree(collection.root, tmp_path / "copy"))
    before, asked = picture_digest(copy), sorted(query_pictures(copy, "test"))
    for file in (copy.root / "images").iterdir():
        if f"images/{file.name}" not in asked:
            file.unlink()
    same = Image.open(copy.root / asked[0])
    same.save(copy.root / asked[0], "PNG", compress_level=0)  # other bytes, the same pixels
    assert picture_digest(copy) == before == picture_digest(collection)

    same.putpixel((0, 0), tuple(255 - value for value in same.getpixel((0, 0))))
    same.save(copy.root / asked[0])
    assert picture_digest(copy) != before


@pytest.mark.parametrize("same", [True, False])
def test_a_run_of_the_world_is_evaluated_on_the_world_redrawn(collection, of_world, drawn, capsys, same):
    run = of_world(pictures=picture_digest(collection) if same else "other")

    main([str(run), "--beams", "2", "--limit", "1", "--device", "cpu"])

    report = json.loads((run / "reports/retrieval.json").read_text())
    printed = capsys.readouterr()
    assert (report["collection"], report["world"]["same_pictures"]) == ("the world of seed 3", same)
    assert "- redrawn from seed 3, scale 48, 40 pixels; the same records" in printed.out
    assert ("pictures of the test queries differ from those at training time" in printed.err) == (not same)


def test_a_named_collection_is_evaluated_instead(collection, of_world, drawn):
    run = of_world()

    main([str(run), "--collection", str(collection.root), "--beams", "2", "--limit", "1", "--device", "cpu"])

    assert not drawn
    assert "world" not in json.loads((run / "reports/retrieval.json").read_text())
