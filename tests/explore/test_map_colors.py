"""Colors of a map's points, and the map as a picture."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.explore import map_colors
from genius.explore.map_colors import (
    HEIGHT,
    STEP,
    WIDTH,
    Palette,
    group_by_value,
    map_picture,
    nearest_points,
    spread_overlapping,
)
from tests.ui.fake_engine import FakeIndex
from tests.ui.fake_maps import many_maps


def test_every_point_has_one_color_and_the_commonest_values_have_their_own():
    values = np.array([3, 1, 3, 7, 3, 1, 9, 8, 7])
    groups = group_by_value(values, "value {}".format, most=2)
    assert [group.label for group in groups] == ["value 3", "value 1", "3 others"]
    assert [group.value for group in groups] == [3, 1, None]
    assert np.array_equal(np.sort(np.concatenate([group.members for group in groups])), np.arange(9))
    assert all((values[group.members] == group.value).all() for group in groups[:2])
    assert len(group_by_value(values, str)) == 5


def test_the_palette_groups_drawn_items_by_modality_dataset_and_code():
    index, maps = FakeIndex(), many_maps()
    palette = Palette(index, maps)
    assert palette.points.tolist() == list(range(len(maps.keys))) and not palette.whole
    for groups, values in (
        (palette.by_modality(), palette.rows % 3),
        (palette.by_dataset(), maps.datasets),
        (palette.by_code(1), index.codes(palette.rows)[:, 1]),
    ):
        assert sum(len(group.members) for group in groups) == len(maps.keys)
        assert all((values[group.members] == group.value).all() for group in groups)
    assert [group.label for group in palette.by_dataset()][:2] == ["birds", "<b>boats</b>"]


def test_removed_items_have_neither_color_nor_similarity(monkeypatch):
    index, maps = FakeIndex(), many_maps()
    rows_of = index.rows_of
    index.rows_of = lambda ids: np.where(np.arange(len(ids)) % 3 == 1, -1, rows_of(ids))
    palette = Palette(index, maps)
    kept = [point for point in range(len(maps.keys)) if point % 3 != 1]
    assert palette.points.tolist() == kept
    for groups in (palette.by_modality(), palette.by_dataset(), palette.by_code(1)):
        assert np.array_equal(np.sort(np.concatenate([group.members for group in groups])), kept)
    monkeypatch.setattr(map_colors, "BLOCK_ROWS", 3)
    vector = np.random.default_rng(0).normal(size=16).astype(np.float32)
    cosines = palette.similarity(vector)
    assert (cosines[1::3] == -1).all()
    assert np.allclose(cosines[kept], np.float32(index.embeddings[palette.rows[kept]]) @ vector, atol=1e-3)


def test_added_items_lie_between_those_most_like_them_and_belong_to_groups(monkeypatch):
    index, maps = FakeIndex(), many_maps()
    index.config = replace(index.config, trained=index.n - 3)
    palette, m = Palette(index, maps), len(maps.keys)
    added = np.arange(index.n - 3, index.n)
    assert palette.added == [item.id for item in index.items(added)] and palette.rows[m:].tolist() == added.tolist()
    vectors = np.asarray(index.embeddings, np.float32)
    points, weights = zip(*(nearest_points(vectors[palette.rows[:m]] @ vectors[row]) for row in added), strict=True)
    for view in range(len(maps.views)):
        expected = [weight @ maps.places[view][near] for near, weight in zip(points, weights, strict=True)]
        assert np.allclose(palette.places(view)[m:], expected, atol=1e-5)
    for groups in (palette.by_modality(), palette.by_dataset(), palette.by_code(1)):
        assert np.array_equal(np.sort(np.concatenate([group.members for group in groups])), np.arange(m + 3))
    monkeypatch.setattr(map_colors, "MAX_COMPARED", 7)
    assert (Palette(index, maps)._near[0] % -(-m // 7) == 0).all()


def test_the_nearest_items_have_the_largest_weights():
    cosines = np.random.default_rng(0).uniform(-1, 1, 50)
    points, weights = nearest_points(cosines)
    assert cosines[points].tolist() == sorted(cosines, reverse=True)[: len(points)]
    assert weights.sum() == pytest.approx(1) and (np.diff(weights) <= 0).all()
    assert len(nearest_points(cosines[:3])[0]) == 3


def test_overlapping_points_are_spread_around_their_place():
    places = np.array([[0.5, 0.5], [0, 0], [0.5, 0.5], [-1, 1], [0.5, 0.5], [0.5, 0.5]], dtype=np.float32)
    found = spread_overlapping(places)
    assert np.array_equal(found[[1, 3, 0]], places[[1, 3, 0]])
    distances = np.linalg.norm(found[:, None] - found[None], axis=-1) + np.eye(6)
    assert distances.min() > 0.5 * STEP
    assert np.linalg.norm(found - places, axis=1).max() <= STEP * 2


BLUE, RED = "#0000ff", "#ff0000"


def drawn(places, colors):
    return Image.open(io.BytesIO(map_picture(np.array(places, dtype=np.float32).reshape(-1, 2), colors)))


def test_points_lie_where_they_belong_in_their_colors_on_nothing():
    image = drawn([[-1, 0], [1, 0], [0, 0.5], [0, -0.5]], [BLUE, RED, RED, BLUE])
    assert image.size == (WIDTH, HEIGHT) and image.mode == "RGBA"
    half = (WIDTH - 16) // 4  # pixels of 0.5
    middle = WIDTH // 2, HEIGHT // 2
    for x, y, color in ((8, middle[1], 2), (WIDTH - 9, middle[1], 0), (middle[0], middle[1] - half, 0)):
        pixel = image.getpixel((x, y))
        assert pixel[color] > 180 and pixel[2 - color] < 80 and pixel[3] > 120
    assert image.getpixel(middle)[3] == 0
