import json

import numpy as np
import pytest

from genius.collections.keys import id_key
from genius.errors import UserError
from genius.explore.map_data import PART, SCALE, MappedQuery, Maps, View, read_maps
from genius.run import Run
from genius.schema import Modality

VIEWS = (View(), View(2), View(9), View(9, contrastive=False))


def made_up(m=7, q=3) -> Maps:
    rng = np.random.default_rng(0)
    ids = [f"{1 + at % 2}:{3 * at}" for at in range(m)]
    queries = tuple(
        MappedQuery(f"0:{at}", Modality(at % 3), f"„{at}“", f"Find {at % 2}.", (ids[at], "9:5")) for at in range(q)
    )
    return Maps(
        VIEWS,
        rng.uniform(-1, 1, (len(VIEWS), m + q, 2)).astype(np.float32),
        np.sort([id_key(id) for id in ids]),
        queries,
        {1: "birds", 2: "boats"},
        "test",
        {"with": {"ids": 5}, "without": {"ids": 2}},
    )


def published(path, maps):
    run = Run(path)
    for part in ("fusion", "quantizer"):
        run.publish(part, lambda folder: (folder / "a").write_text("1"))
    run.publish(PART, maps.save, ("fusion", "quantizer"))
    return run


def test_saved_maps_are_loaded_unchanged(tmp_path):
    maps = made_up()
    published(tmp_path, maps)
    found = read_maps(tmp_path)
    assert np.abs(found.places - maps.places).max() <= 0.5 / SCALE + 1e-6
    assert (found.keys == maps.keys).all()
    for name in ("views", "queries", "names", "split", "health"):
        assert getattr(found, name) == getattr(maps, name)


def test_points_are_found_by_item_id():
    maps = made_up()
    assert maps.ids() == ["1:0", "1:6", "1:12", "1:18", "2:3", "2:9", "2:15"]
    assert maps.datasets.tolist() == [1, 1, 1, 1, 2, 2, 2]
    assert maps.points(["2:3", "1:7", "1:0", "9:400", "1:18"]).tolist() == [4, 0, 3]


def test_a_run_may_have_no_maps(tmp_path):
    assert read_maps(tmp_path) is None


def test_maps_of_another_quantizer_are_refused_with_the_command_that_makes_new_ones(tmp_path):
    run = published(tmp_path, made_up())
    run.publish("quantizer", lambda folder: (folder / "a").write_text("2"))
    with pytest.raises(UserError, match=r"built from another quantizer.*python -m training\.maps"):
        read_maps(tmp_path)


def cut(folder):
    np.save(folder / "places.npy", np.load(folder / "places.npy")[:, 1:])


def empty(folder):
    np.save(folder / "keys.npy", np.load(folder / "keys.npy")[:0])
    queries = len(json.loads((folder / "queries.json").read_text(encoding="utf-8"))["id"])
    np.save(folder / "places.npy", np.load(folder / "places.npy")[:, -queries:])


def lengthen(folder):
    asked = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    (folder / "queries.json").write_text(json.dumps(asked | {"id": asked["id"] + ["0:9"]}))


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        empty,
        lengthen,
        lambda folder: (folder / "keys.npy").unlink(),
        lambda folder: (folder / "config.json").write_text("{}"),
        lambda folder: np.save(folder / "keys.npy", np.array([{}], dtype=object), allow_pickle=True),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, damage):
    made_up().save(tmp_path)
    damage(tmp_path)
    with pytest.raises(UserError, match="create (them|the maps) again: python -m training.maps"):
        Maps.load(tmp_path)
