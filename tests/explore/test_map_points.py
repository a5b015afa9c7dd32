"""The points of a map over an index that has changed since, and what is chosen of them."""

from dataclasses import replace

import numpy as np
import pytest

from genius.explore import map_points
from genius.explore.map_points import (
    STEP,
    Choice,
    MapPoints,
    inside,
    nearest_points,
    spread_overlapping,
)
from genius.schema import Item
from tests.ui.fake_engine import FakeIndex, many_maps


@pytest.fixture(scope="module")
def points():
    return MapPoints(FakeIndex(), many_maps())


def test_each_choice_keeps_its_items_and_several_what_they_share(points):
    code = int(points.codes[0, 1])
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    some = points.rows[::3]
    choices = {
        "region": (0, points.regions == 4),  # the only smallest one in it
        "pattern": ((None, code), points.index.codes(points.rows)[:, 1] == code),
        "dataset": (2, points.maps.datasets == 2),
        "rows": (some, np.isin(points.rows, some)),
        "area": (corners, (np.abs(points.places(0)) < 0.5).all(1)),
    }
    for name, (value, expected) in choices.items():
        chosen = points.chosen(Choice(**{name: value}), 0)
        assert chosen.tolist() == np.flatnonzero(expected).tolist()
        assert 0 < expected.sum() < len(points.rows)
    all_of = Choice(**{name: value for name, (value, _) in choices.items()})
    together = np.all([expected for _, expected in choices.values()], axis=0)
    assert points.chosen(all_of, 0).tolist() == np.flatnonzero(together).tolist()
    smallest = points.chosen(Choice(region=5), 0)
    assert smallest.tolist() == np.flatnonzero(points.regions == 5).tolist()
    assert len(points.chosen(Choice(), 0)) == len(points.rows)


def test_a_date_is_chosen_by_its_beginning():
    class Dated(FakeIndex):
        def item(self, row):
            item = super().item(row)
            source = f'{{"date taken": "20{10 + row % 5}-05-01"}}' if row // 26 % 2 else ""
            return Item(item.id, item.modality, item.text, item.image, source)

    points = MapPoints(Dated(), many_maps())
    dated = points.rows // 26 % 2 == 1
    expected = np.flatnonzero((points.rows % 5 == 2) & dated)
    assert points.chosen(Choice(date="2012-05"), 0).tolist() == expected.tolist()
    assert list(points.years) == [f"201{at}" for at in range(5)]
    assert sum(points.years.values()) == dated.sum()


def test_removed_items_have_no_point():
    index = FakeIndex()
    maps = many_maps()
    rows_of = index.rows_of
    index.rows_of = lambda ids: np.where(np.arange(len(ids)) % 3 == 1, -1, rows_of(ids))
    points = MapPoints(index, maps)
    kept = np.arange(len(maps.keys)) % 3 != 1
    assert len(points.rows) == kept.sum() == len(points.places(0)) and not points.whole
    assert (points.regions == maps.region_of[kept]).all() and (
        points.datasets == maps.datasets[kept]
    ).all()
    assert points.of_rows([points.rows[5], 1, points.rows[2]]).tolist() == [5, 2]
    vector = np.random.default_rng(0).normal(size=16).astype(np.float32)
    expected = np.float32(index.embeddings[points.rows]) @ vector
    assert np.allclose(points.similarity(vector), expected, atol=1e-2)


def test_added_items_lie_between_those_most_like_them_and_in_the_region_of_the_first(monkeypatch):
    index = FakeIndex()
    maps = many_maps()
    index.config = replace(index.config, trained=index.n - 3)
    points = MapPoints(index, maps)
    m = len(maps.keys)
    added = np.arange(index.n - 3, index.n)
    assert points.added == [item.id for item in index.items(added)]
    assert points.rows[m:].tolist() == added.tolist()
    vectors = np.asarray(index.embeddings, np.float32)
    near = [nearest_points(vectors[points.rows[:m]] @ vectors[row]) for row in added]
    for view in range(len(maps.views)):
        expected = [weights @ maps.places[view][some] for some, weights in near]
        assert np.abs(points.places(view)[m:] - expected).max() <= 8 * STEP
    assert points.regions[m:].tolist() == [maps.region_of[some[0]] for some, _ in near]
    monkeypatch.setattr(map_points, "MAX_COMPARED", 7)
    assert (MapPoints(index, maps)._near[0] % -(-m // 7) == 0).all()


def test_what_lies_inside_an_area_follows_its_edge():
    bay = np.array([[0, 0], [4, 0], [4, 3], [2, 1], [0, 3]], dtype=float)
    places = np.array([[2, 0.5], [2, 2], [0.5, 2], [3.5, 2], [5, 1], [-1, 1]])
    assert inside(places, bay).tolist() == [True, False, True, True, False, False]


def test_the_nearest_items_have_the_largest_weights():
    cosines = np.random.default_rng(0).uniform(-1, 1, 50)
    points, weights = nearest_points(cosines)
    assert cosines[points].tolist() == sorted(cosines, reverse=True)[: len(points)]
    assert weights.sum() == pytest.approx(1) and (np.diff(weights) <= 0).all()
    assert len(nearest_points(cosines[:3])[0]) == 3


def test_overlapping_points_are_spread_around_their_place():
    places = np.array(
        [[0.5, 0.5], [0, 0], [0.5, 0.5], [-1, 1], [0.5, 0.5], [0.5, 0.5]], dtype=np.float32
    )
    found = spread_overlapping(places)
    assert np.array_equal(found[[1, 3, 0]], places[[1, 3, 0]])
    distances = np.linalg.norm(found[:, None] - found[None], axis=-1) + np.eye(6)
    assert distances.min() > 0.5 * STEP
    assert np.linalg.norm(found - places, axis=1).max() <= STEP * 2
