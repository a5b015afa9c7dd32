"""The map of a run that was trained on the micro collection."""

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore.map_data import PART, TIERS, read_maps
from genius.index.store import Index
from genius.run import Run
from genius.schema import Modality
from tests.training.tiny import LEVELS, lay_out_by_principal_components
from training.stages import maps
from training.stages.maps import (
    MIN_VECTORS,
    fill_square,
    first_layout,
    in_a_row,
    next_layout,
    procrustes,
)


@pytest.fixture(scope="module", autouse=True)
def quick_layouts():
    """Without UMAP, which compiles itself first: a slow test has it."""
    with pytest.MonkeyPatch.context() as patch:
        lay_out_by_principal_components(patch)
        yield


@pytest.fixture(scope="module")
def drawn(collection, path):
    maps.main([str(collection.root), str(path), "--device", "cpu"])
    return read_maps(path)


@pytest.fixture(scope="module")
def index(path):
    return Index.load(Run(path).folder("index"))


def test_every_item_lies_in_every_view_and_in_a_region(drawn, index, collection, path):
    assert set(drawn.ids()) == {item.id for item in index.items(range(index.n))}
    assert [view.depth for view in drawn.views] == [
        0,
        LEVELS,
        *(depth for depth in (4, 3, 2, 1) if depth < LEVELS),
    ]
    assert drawn.places.shape == (len(drawn.views), index.n, 2) and np.abs(drawn.places).max() <= 1
    assert sum(region.items for region in drawn.regions if region.tier == 0) == index.n
    assert drawn.names == {
        at: collection.dataset_name(at) for at in np.unique(drawn.datasets).tolist()
    }
    assert Run(path).is_current(PART)


def test_items_with_the_same_codes_have_one_place_and_their_number_is_told(drawn, index):
    codes = index.codes(index.rows_of(drawn.ids()))
    for at, view in enumerate(drawn.views[1:], start=1):
        different = len(np.unique(codes[:, : view.depth], axis=0))
        assert view.distinct == different >= len(np.unique(drawn.places[at], axis=0))


def test_regions_are_nested_and_no_two_of_a_size_have_the_same_name(drawn):
    lineage = drawn.lineage[drawn.region_of]
    assert (lineage >= 0).all()
    for number, region in enumerate(drawn.regions):
        assert (lineage[:, region.tier] == number).sum() == region.items >= region.fits
        assert region.tier == 0 or drawn.regions[region.parent].tier == region.tier - 1
    for tier in range(TIERS):
        named = [
            frozenset(region.words)
            for region in drawn.regions
            if region.tier == tier and region.words
        ]
        assert len(set(named)) == len(named)


def test_of_many_items_an_even_share_of_every_code_is_drawn(path):
    index = Index.load(Run(path).folder("index"))
    rows = maps.sample_items(index, index.n // 2)
    assert len(set(rows.tolist())) == index.n // 2
    whole, kept = (
        np.bincount(index.codes(some)[:, 0], minlength=3) for some in (np.arange(index.n), rows)
    )
    assert (np.abs(kept - whole / 2) <= 1).all()


def test_what_is_no_run_is_refused(collection, tmp_path):
    with pytest.raises(UserError, match="is not a run"):
        maps.draw(collection.root, tmp_path, "cpu")


def test_vectors_of_each_kind_are_laid_out_from_their_own_mean(monkeypatch):
    given = []
    monkeypatch.setattr(
        maps, "first_layout", lambda vectors, seed: given.append(vectors) or vectors[:, :2]
    )
    kinds = np.arange(60) % 3
    features = rng().normal(size=(60, 4)) + 100 * kinds[:, None]
    depths, _, places = maps.lay_out(features, np.zeros((60, 1), int), kinds, None, 0)
    assert depths == [0] and places.shape == (1, 60, 2)
    for kind in Modality:
        assert np.allclose(given[0][kinds == kind].mean(0), 0, atol=1e-3)


def rng():
    return np.random.default_rng(0)


def clusters(n: int, k: int, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """n vectors (n, d) round k far points, and which one each is of (n,)."""
    which = np.arange(n) % k
    return (rng().normal(size=(k, d)) * 20)[which] + rng().normal(size=(n, d)), which


@pytest.mark.parametrize("mirrored", [1, -1])
def test_a_turned_and_scaled_layout_is_brought_back(mirrored):
    target = rng().normal(size=(30, 2))
    turned = target @ np.array([[0.6, -0.8], [0.8, 0.6]]) * [1, mirrored] * 3 + [5, -2]
    assert np.allclose(procrustes(turned, target), target)


def test_layouts_without_extent_are_moved_only():
    assert np.allclose(procrustes(np.ones((4, 2)), rng().normal(size=(4, 2))).std(0), 0)


def test_a_layout_fills_the_square_but_for_a_few_points_on_its_edge():
    layout = rng().normal(size=(4000, 2)) * [7, 2] + [30, -4]
    layout[0] = [900, 0]
    filled = fill_square(layout)
    assert np.abs(filled).max() == 1 and filled[0, 0] == 1 and filled.dtype == np.float32
    assert ((np.abs(filled) == 1).any(1)).mean() < 0.01
    assert (np.argsort(filled[1:, 1]) == np.argsort(layout[1:, 1])).mean() > 0.98


@pytest.mark.slow  # UMAP compiles itself
def test_neighbours_stay_together_and_views_stay_comparable(monkeypatch):
    monkeypatch.setattr(maps, "MIN_VECTORS", MIN_VECTORS)  # so that UMAP lays them out
    vectors, which = clusters(150, 5)
    first = first_layout(vectors, seed=0)
    inside = np.mean([first[which == cluster].std(0) for cluster in range(5)])
    assert inside < 0.3 * first.std(0).mean()
    again = next_layout(vectors, np.arange(150), first, seed=0)
    same = first_layout(vectors, seed=0)
    assert (same == first).all()
    by_axis = [np.corrcoef(again[:, axis], first[:, axis])[0, 1] for axis in (0, 1)]
    assert min(by_axis) > 0.7


def test_few_places_lie_side_by_side_in_their_order():
    places = in_a_row(np.array([[3.0, 1], [-2, 0], [0, 5]]))
    assert np.allclose(places, [[2 / 3, 0], [-2 / 3, 0], [0, 0]])
