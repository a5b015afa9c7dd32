import numpy as np
import pytest

from training.umap_layout import MIN_VECTORS, fill_square, first_layout, next_layout, procrustes


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


def test_all_views_fill_the_same_square_and_keep_their_shape():
    layouts = rng().normal(size=(3, 40, 2)) * [7, 2] + [30, -4]
    edges = fill_square(layouts)
    assert edges.min() >= -1 and edges.max() == pytest.approx(1) and edges.dtype == np.float32
    first, second = ((places[0, 1:] - places[0, :1]) for places in (layouts, edges))
    assert np.allclose(second / first, (second / first)[0, 0])


def test_neighbours_stay_together_and_views_stay_comparable():
    vectors, which = clusters(150, 5)
    first = first_layout(vectors, seed=0)
    inside = np.mean([first[which == cluster].std(0) for cluster in range(5)])
    assert inside < 0.3 * first.std(0).mean()
    again, same = next_layout(vectors, np.arange(150), first, seed=0), first_layout(vectors, seed=0)
    assert (same == first).all()
    by_axis = [np.corrcoef(again[:, axis], first[:, axis])[0, 1] for axis in (0, 1)]
    assert min(by_axis) > 0.7


def test_few_vectors_lie_in_the_middle_of_their_points():
    vectors, which = clusters(40, MIN_VECTORS - 1)
    first = rng().normal(size=(40, 2))
    places = next_layout(vectors[: MIN_VECTORS - 1], which, first, seed=0)
    for group in range(MIN_VECTORS - 1):
        assert np.allclose(places[which == group], first[which == group].mean(0))
