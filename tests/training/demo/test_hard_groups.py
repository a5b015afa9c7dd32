"""Groups of queries with similar targets, and instructions with words left out."""

import numpy as np

from training.demo.extras import drop_words
from training.demo.hard_groups import HardGroups

CENTRES = 5


def similar_targets(share: float) -> tuple[HardGroups, np.ndarray]:
    """100 queries whose targets stand around five places, and the place of each."""
    rng = np.random.default_rng(0)
    place = rng.permutation(np.repeat(np.arange(CENTRES), 20))
    vectors = np.eye(CENTRES)[place] + rng.normal(0, 0.02, (100, CENTRES))
    return HardGroups(vectors.astype(np.float32), share, group=20, rng=rng), place


def test_queries_with_similar_targets_share_a_group():
    alike, place = similar_targets(share=1.0)
    ordered = alike(np.arange(100))
    assert sorted(ordered) == list(range(100))
    assert purity(place[ordered]) > 0.75 > 2 * purity(place)


def purity(places: np.ndarray) -> float:
    """Share of the members of a group that stand around its commonest place, averaged over groups of 20."""
    return float(np.mean([np.bincount(group).max() / 20 for group in places.reshape(CENTRES, 20)]))


def test_the_other_queries_keep_their_order():
    alike, _ = similar_targets(share=0.6)
    ordered = alike(np.arange(100))
    assert sorted(ordered[:60]) == list(range(60))
    assert list(ordered[60:]) == list(range(60, 100))


def test_a_row_of_one_group_keeps_its_order():
    alike, _ = similar_targets(share=1.0)
    assert list(alike(np.arange(20))) == list(range(20))
    assert len(alike(np.arange(0))) == 0


def test_words_of_an_instruction_are_left_out_one_by_one():
    words, rng = ["Find", "the", "picture", "of", "this"], np.random.default_rng(0)
    drawn = [drop_words(" ".join(words), 0.25, rng).split() for _ in range(400)]
    assert all(kept == [word for word in words if word in kept] for kept in drawn)
    assert abs(np.mean([len(kept) for kept in drawn]) / len(words) - 0.75) < 0.05
