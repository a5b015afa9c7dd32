import json

import numpy as np
import pytest

from genius.collections.keys import id_key
from genius.errors import UserError
from genius.explore.map_data import PART, SCALE, Maps, Moved, Region, View, read_maps
from genius.run import Run

VIEWS = (View(0, 7), View(9, 6, (Moved(1, 0.5, None, 0),)), View(2, 3))
REGIONS = (
    Region(0, None, ("dog", "cat"), 7, 5, "1:0"),
    Region(1, 0, ("dog",), 4, 3, ""),
    Region(1, 0, (), 3, 0, "2:3"),
    Region(2, 1, ("hound",), 4, 4, ""),
)


MOVED = {"region": 4, "share": 1.0, "left": None, "joined": 0}  # a region that is not listed


def made_up(m=7) -> Maps:
    rng = np.random.default_rng(0)
    ids = [f"{1 + at % 2}:{3 * at}" for at in range(m)]
    places = rng.uniform(-1, 1, (len(VIEWS), m, 2)).astype(np.float32)
    region_of = np.array([3, 2] * m)[:m]
    return Maps(
        VIEWS,
        places,
        np.sort([id_key(id) for id in ids]),
        REGIONS,
        region_of,
        {1: "birds", 2: "boats"},
    )


def published(path, maps):
    run = Run(path)
    for part in ("fusion", "quantizer"):
        run.publish(part, lambda folder: (folder / "a").write_text("1"))
    run.publish(PART, maps.save, ("fusion", "quantizer"))
    return run


def test_a_saved_map_is_loaded_unchanged(tmp_path):
    maps = made_up()
    published(tmp_path, maps)
    found = read_maps(tmp_path)
    assert np.abs(found.places - maps.places).max() <= 0.5 / SCALE + 1e-6
    for name in ("keys", "region_of"):
        assert (getattr(found, name) == getattr(maps, name)).all()
    for name in ("views", "regions", "names"):
        assert getattr(found, name) == getattr(maps, name)


def test_items_lie_in_nested_regions():
    maps = made_up()
    assert maps.ids() == ["1:0", "1:6", "1:12", "1:18", "2:3", "2:9", "2:15"]
    assert maps.datasets.tolist() == [1, 1, 1, 1, 2, 2, 2]
    assert maps.lineage.tolist() == [[0, -1, -1], [0, 1, -1], [0, 2, -1], [0, 1, 3]]


def test_a_run_may_have_no_map(tmp_path):
    assert read_maps(tmp_path) is None


def test_a_map_of_another_quantizer_is_refused_with_the_command_that_makes_a_new_one(tmp_path):
    run = published(tmp_path, made_up())
    run.publish("quantizer", lambda folder: (folder / "a").write_text("2"))
    with pytest.raises(UserError, match=r"built from another quantizer.*python -m training\.maps"):
        read_maps(tmp_path)


def changed(**columns):
    def change(folder):
        file = json.loads((folder / "map.json").read_text(encoding="utf-8"))
        (folder / "map.json").write_text(json.dumps(file | columns))

    return change


def cut(folder):
    np.save(folder / "places.npy", np.load(folder / "places.npy")[:, 1:])


def empty(folder):
    for name in ("keys.npy", "regions.npy"):
        np.save(folder / name, np.load(folder / name)[:0])
    np.save(folder / "places.npy", np.load(folder / "places.npy")[:, :0])


def older(folder):
    (folder / "map.json").rename(folder / "config.json")


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        empty,
        older,
        changed(regions=[]),
        changed(
            regions=[{"tier": 0, "parent": 0, "words": [], "items": 1, "fits": 0, "portrait": ""}]
            * 4
        ),
        changed(views=[{"depth": 0, "distinct": 1, "moved": [MOVED]}] * 3),
        lambda folder: np.save(folder / "regions.npy", np.full(7, 4, np.uint16)),
        lambda folder: (folder / "keys.npy").unlink(),
        lambda folder: np.save(
            folder / "keys.npy", np.array([{}], dtype=object), allow_pickle=True
        ),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, damage):
    made_up().save(tmp_path)
    damage(tmp_path)
    with pytest.raises(UserError, match="make it again: python -m training.maps"):
        Maps.load(tmp_path)
