"""Hit rates against numbers worked out by hand and slow, obvious versions."""

import numpy as np
import pytest
import pytrec_eval

from genius.metrics.hit_rate import (
    CUTS,
    MISS,
    Qrels,
    bootstrap_differences,
    bootstrap_shares,
    first_hits,
    found_queries,
    headline_cut,
    hit_rate,
    interval,
)


def test_hit_rate_of_no_queries_is_unknown():
    assert hit_rate(np.array([], dtype=np.int64), 5) is None


def test_a_row_beyond_every_positive_is_not_mistaken_for_one_of_the_next_query():
    # largest row 2: keys must not run over into the next query
    qrels = Qrels.from_lists([[2], [0]])

    assert first_hits(np.array([[3], [3]]), qrels).tolist() == [MISS, MISS]


def test_batches_agree_with_the_whole():
    rng = np.random.default_rng(3)
    qrels = Qrels.from_lists(
        [rng.choice(40, size=rng.integers(0, 4), replace=False).tolist() for _ in range(25)]
    )
    ranked = np.stack([rng.permutation(40)[:6] for _ in range(25)])

    whole = first_hits(ranked, qrels)
    parts = [first_hits(ranked[start : start + 7], qrels, start) for start in range(0, 25, 7)]

    assert np.concatenate(parts).tolist() == whole.tolist()


def test_hit_rates_agree_with_trec_eval():
    rng = np.random.default_rng(0)
    positives = [
        rng.choice(90, size=rng.integers(0, 5), replace=False).tolist() for _ in range(200)
    ]
    ranked = np.stack([rng.permutation(90)[:60] for _ in range(200)])
    ranked[::7, 3:] = -1  # no more results
    judged = {
        str(query): {str(row): 1 for row in rows} | {"none": 0}
        for query, rows in enumerate(positives)
    }
    scored = {
        str(query): {str(row): -float(place) for place, row in enumerate(rows) if row >= 0}
        for query, rows in enumerate(ranked.tolist())
    }
    cuts = ",".join(map(str, CUTS))
    found = pytrec_eval.RelevanceEvaluator(judged, {f"success.{cuts}"}).evaluate(scored).values()

    ranks = first_hits(ranked, Qrels.from_lists(positives))
    assert len(found) == len(ranks)
    for k in CUTS:
        assert hit_rate(ranks, k) == pytest.approx(
            np.mean([each[f"success_{k}"] for each in found])
        )


def test_candidate_sets_of_different_sizes_are_searched_for_positives():
    qrels = Qrels.from_lists([[0], [8, 1], [1], [6], []])
    owner = np.array([0, 0, 0, 1, 2])  # places in a batch that starts at query 1
    row = np.array([5, 1, 8, 8, 6])

    assert found_queries(owner, row, qrels, start=1, count=4).tolist() == [True, False, True, False]


def test_positives_inside_a_pool_are_counted_per_query():
    inside = np.zeros(10, dtype=bool)
    inside[[1, 2, 9]] = True

    assert Qrels.from_lists([[1, 2, 3], [], [4], [9]]).count(inside).tolist() == [2, 0, 0, 1]


def test_bootstrap_draws_are_distributed_as_if_queries_were_resampled_one_by_one():
    ranks = np.array([1] * 13 + [MISS] * 27)
    slow = np.random.default_rng(1)
    resampled = [hit_rate(slow.choice(ranks, size=len(ranks)), 5) for _ in range(4000)]

    draws = bootstrap_shares(ranks <= 5, 4000, np.random.default_rng(2))

    assert draws.mean() == pytest.approx(np.mean(resampled), abs=0.01)
    assert draws.std() == pytest.approx(np.std(resampled), rel=0.05)
    # one query is 0.025
    assert interval(draws) == pytest.approx(interval(np.array(resampled)), abs=0.026)


def test_the_bootstrap_depends_only_on_its_seed_and_has_no_spread_if_all_queries_miss():
    ranks = np.array([1, MISS, 2])
    first, second = (bootstrap_shares(ranks <= 5, 50, np.random.default_rng(4)) for _ in range(2))

    assert first.tolist() == second.tolist()
    assert interval(bootstrap_shares(np.zeros(6, bool), 50, np.random.default_rng(0))) == (0.0, 0.0)


@pytest.mark.parametrize("ahead", [[1, 1, -1, 0, 0, 0, 0], [0, 0, 0], [1, 1, 0], [-1, -1]])
def test_bootstrap_differences_are_distributed_as_if_queries_were_resampled_one_by_one(ahead):
    ahead = np.array(ahead)
    rng = np.random.default_rng(0)
    drawn = rng.choice(ahead, size=(40_000, len(ahead))).mean(axis=1)

    fast = bootstrap_differences(ahead, 40_000, rng)

    assert fast.mean() == pytest.approx(drawn.mean(), abs=0.01)
    assert fast.std() == pytest.approx(drawn.std(), abs=0.01)
    assert set(np.round(fast, 9)) <= set(
        np.round(np.arange(-len(ahead), len(ahead) + 1) / len(ahead), 9)
    )


def test_the_headline_cut_of_the_two_fashion_datasets_is_ten():
    assert [
        headline_cut(name) for name in ("fashion200k", "drawn_fashioniq", "fashion", "mscoco")
    ] == [10, 10, 5, 5]
