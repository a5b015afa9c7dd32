"""genius/evaluation/speed/vectors.py: what makes vectors realistic, measured."""

import numpy as np
import pytest

from genius.evaluation.speed.vectors import BLOCK, SHARES, Clustered, Uniform, blocks, hashed, normalised, zipf_ranks


def clustered(**changes) -> Clustered:
    return Clustered(**{"dim": 40, "native": 12, "depth": 4, "topics": 64, "branches": 16} | changes)


@pytest.mark.parametrize("vectors", [Uniform(40, seed=3), clustered(seed=3)])
def test_blocks_and_queries_depend_on_seed_and_number_alone(vectors):
    again = type(vectors)(40, 3) if isinstance(vectors, Uniform) else clustered(seed=3)

    assert np.array_equal(vectors.block(2), again.block(2))
    assert not np.array_equal(vectors.block(2), vectors.block(1))
    for mine, theirs in zip(vectors.queries(99, 5, draw=7), again.queries(99, 5, draw=7), strict=True):
        assert np.array_equal(mine, theirs)
    assert not np.array_equal(vectors.queries(99, 5, draw=7)[0], vectors.queries(99, 5, draw=8)[0])
    np.testing.assert_allclose(np.linalg.norm(vectors.block(0), axis=1), 1, rtol=1e-5)


def test_blocks_cover_the_items_and_no_more():
    assert list(blocks(BLOCK)) == [(0, slice(0, BLOCK))]
    assert list(blocks(BLOCK + 5)) == [(0, slice(0, BLOCK)), (1, slice(BLOCK, BLOCK + 5))]


def test_a_query_seeks_an_item_that_is_there_and_is_nearer_to_it_than_to_nearly_all():
    vectors, items = clustered(query_noise=0.05, duplicates=0.0), BLOCK + 700
    everything = np.concatenate([vectors.block(0), vectors.block(1)[:700]])
    seen = set()
    for draw in range(6):
        queries, rows = vectors.queries(items, 20, draw)
        seen |= {int(row) // BLOCK for row in rows}
        assert rows.max() < items
        np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1, rtol=1e-5)
        nearer = (queries @ everything.T > (queries * everything[rows]).sum(1, keepdims=True)).sum(1)
        assert np.median(nearer) < 20
    assert seen == {0, 1}
    assert (Uniform(40).queries(items, 3, 0)[1] == -1).all()


def test_the_lift_keeps_lengths_and_angles():
    vectors = clustered()
    native, _ = vectors.native_block(0)

    np.testing.assert_allclose(vectors.block(0)[:50] @ vectors.block(0)[:50].T, native[:50] @ native[:50].T, atol=1e-5)


def test_modalities_come_in_their_shares_and_apart_from_each_other():
    native, modality = clustered(gap=2.0).native_block(0)

    np.testing.assert_allclose(np.bincount(modality) / BLOCK, SHARES, atol=0.02)
    means = np.stack([native[modality == one].mean(0) for one in range(3)])
    nearest = ((native[:, None] - means) ** 2).sum(-1).argmin(1)
    assert (nearest == modality).mean() > 0.9


def test_a_part_of_the_items_nearly_repeats_another_one():
    def with_a_twin(duplicates: float) -> float:
        native = clustered(native=24, depth=8, noise=0.01, branches=64, duplicates=duplicates).native_block(0)[0][:4000]
        cosines = native @ native.T
        np.fill_diagonal(cosines, -1)
        return (cosines.max(1) > 0.999).mean()

    # of 4,000 items a quarter of the twins is among the 4,000, and makes two of them twins
    assert with_a_twin(0.4) > with_a_twin(0.0) + 0.1


def test_few_topics_are_crowded_and_most_are_rare():
    ranks = zipf_ranks(np.random.default_rng(0).random(200_000), 100)

    shares = np.bincount(ranks.astype(int), minlength=101)[1:] / len(ranks)
    assert ranks.min() == 1 and ranks.max() == 100
    expected = np.log1p(1 / np.arange(1, 101)) / np.log(101)
    np.testing.assert_allclose(shares, expected, atol=0.003)


def test_hashes_spread_evenly_and_depend_on_the_path():
    path = hashed(np.zeros(100_000, dtype=np.uint64), np.arange(100_000, dtype=np.uint64))

    assert len(np.unique(path)) == len(path)
    counts = np.bincount((path % np.uint64(10)).astype(int))
    assert counts.min() > 9_600 and counts.max() < 10_400
    step = np.ones(2, dtype=np.uint64)
    assert len(np.unique(hashed(path[:2], step))) == 2


def test_normalised_vectors_have_length_one():
    np.testing.assert_allclose(np.linalg.norm(normalised(np.array([[3.0, 4.0], [0.0, 2.0]])), axis=1), 1)
