"""What was removed is in no file of the run."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from genius.explore.code_names import CodeName, CodeNamer, read_names, save_names
from genius.explore.map_data import Maps, Region, View, read_maps
from genius.index import update
from genius.index.__main__ import main
from genius.index.item_source import uploaded_items
from genius.run import BUILT_FROM, Run
from genius.schema import Item, Modality
from genius.search.engine import Engine
from tests.index.changes import (
    N,
    add_items,
    add_source,
    opened,
    raise_zero_division,
    texts,
    tiny_models,
)

WORD = "xylophonist"
SECRET = f"The {WORD} of Mrs. Gray."


def holders(run: Path, *secrets: bytes) -> list[Path]:
    """The files below a run that hold one of these."""
    files = [file for file in run.rglob("*") if file.is_file()]
    return [
        file.relative_to(run)
        for file in files
        if any(secret in file.read_bytes() for secret in secrets)
    ]


@pytest.fixture
def run(run, tmp_path) -> Path:
    """A run of two segments; the second one holds a private text and picture among others."""
    (run / "pictures").rename(tmp_path / "pictures")
    Image.effect_noise((64, 64), 90).convert("RGB").save(tmp_path / "private.png")
    uploads = [
        ("A boat.", None),
        (SECRET, None),
        ("", tmp_path / "private.png"),
        ("A house.", None),
    ]
    add_source(run, uploaded_items(uploads, 1))
    return run


@pytest.fixture
def secrets(run) -> tuple[bytes, ...]:
    """The word, the thumbnail and the embeddings."""
    index = opened(run)
    rows = index.rows_of(["1:2", "1:3"])
    return (
        WORD.encode(),
        index.thumbnail(rows[1])[20:200],
        *(vector.tobytes() for vector in index.embeddings[rows]),
    )


def test_a_removed_text_and_picture_are_in_no_file(run, secrets):
    assert {"items.sqlite", "thumbnails.sqlite", "embeddings.npy"} == {
        file.name for file in holders(run, *secrets)
    }
    first = (opened(run).folder / "thumbnails.sqlite").stat().st_ino
    assert main([str(run), "remove", "1:2", "1:3"]) == 0
    assert holders(run, *secrets) == []
    assert (opened(run).folder / "thumbnails.sqlite").stat().st_ino == first, (
        "a part without them was written anew"
    )
    assert opened(run).items([N, N + 1])[1].text == "A house."


def test_they_are_gone_once_an_engine_lets_go_of_the_version_that_it_held(run, secrets):
    engine = Engine.load(run, "cpu")
    profiles_of = CodeNamer(engine, run).profiles_of
    with engine.snapshots.held():
        assert engine.search("A boat.").hits and profiles_of(engine.index).index is engine.index
        assert profiles_of(engine.index).words.words
        update.remove(run, ["1:2", "1:3"])
        assert holders(run, *secrets) and engine.index.n == N + 4
    assert engine.snapshots.reload() and engine.index.n == N + 2
    assert holders(run, *secrets) == []


def test_a_search_that_goes_on_keeps_its_version_and_the_next_look_deletes_it(run, secrets):
    engine = Engine.load(run, "cpu")
    held = engine.index
    update.remove(run, ["1:2", "1:3"])
    assert engine.snapshots.reload() and holders(run, *secrets)
    assert held.items(held.rows_of(["1:2"]))[0].text == SECRET
    del held
    assert not engine.snapshots.reload() and holders(run, *secrets) == []


def test_the_number_of_a_removed_dataset_is_not_used_again(run):
    update.remove(run, [f"1:{number}" for number in range(1, 5)])
    update.add(run, partial(uploaded_items, [("A tree.", None)]), tiny_models())
    assert opened(run).items([N])[0].id == "2:1"


def publish(run: Path, part: str, write: Callable[[Path], None]) -> None:
    Run(run).publish(part, write, tuple(sorted(BUILT_FROM[part])))


def test_maps_and_names_forget_removed_items(run, secrets):
    names = {
        (0, 1): CodeName((WORD, "boat"), 2, 3, ("1:3", "0:0")),
        (1,): CodeName((), 0, 3, ("0:3",)),
    }
    publish(run, "names", partial(save_names, names))
    keys = np.array([1, 2**40 + 2])
    places = np.zeros((1, 2, 2), np.float32)
    regions = (Region(0, None, (WORD, "boat"), 2, 1, "1:3"), Region(0, None, ("mug",), 2, 1, "0:1"))
    maps = Maps((View(0, 1),), places, keys, regions, np.array([0, 1]), {0: "tiny"})
    publish(run, "maps", maps.save)
    update.remove(run, ["1:2", "1:3"])
    assert holders(run, *secrets) == []
    assert read_names(run) == {
        (0, 1): CodeName(("boat",), 2, 3, ("0:0",)),
        (1,): CodeName((), 0, 3, ("0:3",)),
    }
    now = read_maps(run)
    assert now.ids() == ["0:1"] and now.places.shape == (1, 1, 2) and now.region_of.tolist() == [0]
    assert now.regions == (Region(0, None, ("boat",), 2, 1, ""), regions[1])
    update.remove(run, ["0:1"])
    assert read_maps(run) is None and not list(run.glob("maps-*"))


def test_the_map_of_an_older_program_is_dropped_when_items_are_removed(run):
    publish(run, "maps", lambda folder: (folder / "queries.json").write_text(SECRET))
    update.remove(run, ["1:2"])
    assert not list(run.glob("maps-*"))


def test_what_training_keeps_to_go_on_later_is_deleted(run, secrets):
    for name in ("features/candidates", "towers/image", "indexing/1a"):
        (run / name).mkdir(parents=True)
        (run / name / "kept.npy").write_bytes(b"".join(secrets))
    update.remove(run, ["1:2", "1:3"])
    assert holders(run, *secrets) == []


def test_after_a_kill_the_next_change_erases_what_was_left(run, secrets, monkeypatch):
    (run / "features").mkdir()
    (run / "features" / "text.npy").write_bytes(secrets[0])
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr("genius.index.erasing.remove_folder", raise_zero_division)
        update.remove(run, ["1:2", "1:3"])
    assert holders(run, *secrets) and opened(run).n == N + 2
    assert update.compact(run)
    assert (
        holders(run, *secrets) == []
        and json.loads((run / "manifest.json").read_text(encoding="utf-8"))["erasing"] == []
    )


def test_a_changed_item_is_replaced_in_one_change(run, secrets, monkeypatch):
    items = [Item("1:2", Modality.TEXT, "Nobody."), Item("1:1", Modality.TEXT, "A boat.")]
    items.append(Item("1:3", Modality.IMAGE, image="broken.png"))
    (run.parent / "broken.png").write_bytes(b"no picture")
    before = Run(run).manifest
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(update, "write_segment", raise_zero_division)
        add_items(run, items, run.parent, replaces=True)
    assert Run(run).manifest == before and opened(run).n == N + 4
    added = add_items(run, items, run.parent, replaces=True)
    assert (added.new, added.skipped, added.changed, added.replaced) == (1, 2, (), ("1:2",))
    index = opened(run)
    assert index.n == N + 4 and index.items(index.rows_of(["1:2"]))[0].text == "Nobody."
    assert holders(run, secrets[0]) == [] and holders(run, secrets[1])


def test_all_items_can_be_replaced(run):
    index = opened(run)
    items = texts(*(item.id for item in index.items(range(index.n))))
    added = add_items(run, items, run.parent, replaces=True)
    assert added.new == len(added.replaced) == N + 4
    now = opened(run)
    assert (
        now.items(range(now.n)) == items
        and now.config.segments == (N + 4,)
        and now.config.trained == 0
    )


def test_what_takes_the_place_of_an_item_is_no_copy_of_it(run):
    """A picture in another shape: for the encoder it is the same."""
    picture = [Item("2:1", Modality.IMAGE, image="plain.png")]
    for height, replaced in ((40, ()), (80, ("2:1",))):
        Image.new("RGB", (40, height), "teal").save(run.parent / "plain.png")
        added = add_items(run, picture, run.parent, replaces=True)
        assert (added.new, added.duplicate, added.replaced) == (1, 0, replaced)
    assert add_items(run, picture, run.parent, replaces=True).skipped == 1
