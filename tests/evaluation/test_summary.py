"""genius/evaluation/summary.py against figures worked out by hand."""

import numpy as np
import pytest

from genius.collections.mbeir import BenchmarkRow
from genius.evaluation.queries import QuerySet, TargetGroups, read_queries, training_targets
from genius.evaluation.summary import RowLabels, share_of_dense, summarize
from genius.evaluation.systems import BeamStatistics, RowResults, beam_systems
from genius.metrics.hit_rate import MISS, Qrels


def labels(queries: int, trained: list[bool], new: list[bool], dataset: str = "shapes") -> RowLabels:
    asked = QuerySet(
        BenchmarkRow(0, 0, dataset),
        [None] * queries,
        [""] * queries,
        Qrels.from_lists([[0]] * queries),
        np.zeros(queries),
    )
    first_codes = np.tile([True, False, False], (queries, 1))
    groups = TargetGroups(np.array(trained), ~np.array(new), np.array(new))
    return RowLabels(asked, first_codes, np.arange(queries), 20, groups, candidates=9)


def results(dense: list[int], reranked: list[int], geometry: list[int]) -> RowResults:
    """ "beam + re-rank" has ranks of its own, every other search by beams those of geometry."""
    count, figures = len(dense), {}
    for name in beam_systems(1, None):
        figures[name] = BeamStatistics(
            np.arange(count) > 0,
            np.arange(count),
            np.arange(count) % 3,
            np.full(count, 7),
            np.arange(count) > 1 if name in ("geometry", "beam") else None,
        )
    ranks = {"dense": dense} | dict.fromkeys(figures, geometry) | {"beam + re-rank": reranked}
    return RowResults(
        {system: np.array(found) for system, found in ranks.items()},
        {"dense": {"encode": 2.0, "scan": float(count)}},
        figures,
    )


FOUR = (
    labels(4, [True, False, False, False], [False, True, True, False]),
    results([1, 4, 7, MISS], [1, 30, MISS, MISS], [2, 3, 4, MISS]),
)
TWO = (labels(2, [False, False], [True, True], "titled"), results([MISS, MISS], [2, MISS], [MISS, MISS]))


def test_a_row_has_every_figure():
    row = summarize([FOUR], seed=0)["rows"][0]

    assert (row["task"], row["dataset"], row["queries"], row["candidates"]) == (0, "shapes", 4, 9)
    assert row["without_positive"] == 1
    assert (row["judgements"], row["judgements_outside"]) == (20, 20 - (0 + 1 + 2 + 3))
    assert (row["queries_trained"], row["queries_new"]) == (1, 2)
    dense = row["systems"]["dense"]
    assert dense["hit"] == {"1": 0.25, "5": 0.5, "10": 0.75, "50": 0.75}
    assert (row["cut"], dense["headline"]) == (5, 0.5)
    assert (dense["trained_targets"], dense["new_targets"]) == (1.0, 0.5)
    assert row["systems"]["beam + re-rank"]["share_of_dense"] == 0.5 and dense["share_of_dense"] == 1.0
    assert row["beam"]["beam"] == {
        "candidate_recall": 0.75,
        "items": 1.5,
        "most_items": 3,
        "first_code": 0.5,
        "scored": 7.0,
        "certified": 0.5,
    }
    assert row["beam"]["fast + re-rank"]["certified"] is None
    assert {pair: figures["headline"] for pair, figures in row["differences"].items()} == {
        "beam − geometry": 0.0,
        "beam + re-rank − geometry + re-rank": -0.5,
        "fast + re-rank − beam + re-rank": 0.5,
        "fast + re-rank − fast geometry + re-rank": 0.0,
    }


def test_fashion_hit_rates_at_ten_are_averaged_with_the_others_at_five():
    fashion = (labels(4, [True, False, False, False], [False, True, True, False], "drawn_fashion200k"), FOUR[1])

    found = summarize([fashion, FOUR], seed=0)

    row, dense = found["rows"][0], found["rows"][0]["systems"]["dense"]
    assert (row["cut"], dense["headline"], dense["new_targets"]) == (10, 0.75, 1.0)
    assert dense["interval"][0] > found["rows"][1]["systems"]["dense"]["interval"][0]
    assert row["systems"]["beam + re-rank"]["share_of_dense"] == pytest.approx(0.25 / 0.75)
    assert found["average"]["systems"]["dense"]["headline"] == pytest.approx((0.75 + 0.5) / 2)
    assert found["rows"][1]["systems"]["beam + re-rank"]["share_of_dense"] == 0.5


def test_the_average_weighs_rows_equally_and_skips_missing_figures():
    average = summarize([FOUR, TWO], seed=0)["average"]

    assert average["systems"]["dense"]["hit"] == {"1": 0.125, "5": 0.25, "10": 0.375, "50": 0.375}
    assert average["systems"]["beam + re-rank"]["hit"]["5"] == pytest.approx((0.25 + 0.5) / 2)
    assert average["beam"]["beam"]["certified"] == 0.25 and average["beam"]["beam + re-rank"]["certified"] is None
    assert average["differences"]["fast + re-rank − beam + re-rank"]["headline"] == pytest.approx((0.5 - 0.5) / 2)
    assert average["systems"]["dense"]["trained_targets"] == 1.0  # the second row has no such query
    assert average["systems"]["beam + re-rank"]["share_of_dense"] == 0.5  # dense finds nothing in the other row
    assert (average["beam"]["beam"]["items"], average["beam"]["beam"]["most_items"]) == (1.0, 3)
    assert average["milliseconds"] == {"dense": {"encode": 2.0, "scan": 3.0}}


def test_intervals_contain_their_rate_and_depend_on_the_seed():
    first, again, other = (summarize([FOUR, TWO], seed)["average"] for seed in (0, 0, 1))

    for figures in (*first["systems"].values(), *first["differences"].values()):
        low, high = figures["interval"]
        assert low <= figures["headline"] <= high
    assert first == again
    for table, name in (("systems", "beam"), ("differences", "fast + re-rank − beam + re-rank")):
        assert first[table][name]["interval"] == pytest.approx(other[table][name]["interval"], abs=0.13)


def test_a_difference_has_a_narrower_interval_than_its_rates_if_both_hit_the_same_queries():
    average = summarize([FOUR] * 25, seed=0)["average"]
    width = {name: np.diff(figures["interval"])[0] for name, figures in average["systems"].items()}

    assert np.diff(average["differences"]["beam − geometry"]["interval"]) == 0 < width["beam"]
    one_ahead = np.diff(average["differences"]["fast + re-rank − beam + re-rank"]["interval"])[0]
    assert one_ahead < np.hypot(width["fast + re-rank"], width["beam + re-rank"])


def test_the_average_of_many_rows_has_a_narrower_interval_than_one_row():
    many = summarize([FOUR] * 25, seed=0)
    width = np.diff(many["average"]["systems"]["dense"]["interval"])
    one = np.diff(many["rows"][0]["systems"]["dense"]["interval"])

    assert width == pytest.approx(one / 5, rel=0.25)


@pytest.mark.parametrize(("dense", "share"), [([1] + [MISS] * 9, 1.0), ([1] + [MISS] * 10, None)])
def test_a_share_needs_a_dense_search_that_reaches_ten_percent(dense, share):
    assert share_of_dense(np.array(dense), np.array(dense), 5) == share


def test_labels_of_real_queries(collection, engine):
    queries = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="first")[0]
    tested = engine.index.rows_of(item.id for item in collection.candidates("union_test"))

    found = RowLabels.read(queries, engine.index, tested, training_targets(collection, engine.index))

    by_query = {query.id: number for number, query in enumerate(queries.queries)}
    assert {name: int(found.inside[at]) for name, at in by_query.items()} == {"0:3": 1, "0:7": 0, "0:11": 1, "0:15": 1}
    assert [name for name, at in by_query.items() if found.groups.every[at]] == ["0:7"]
    assert [name for name, at in by_query.items() if found.groups.none[at]] == ["0:3", "0:15"]
    assert (found.first_codes == [True, False, False]).all()  # all answers are pictures
    assert found.candidates == len(tested) and found.judged == 5
