"""genius/evaluation/evaluate.py and figures.py: from a collection and a run to figures, against
counts by hand.
"""

import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genius.collections.layout import named_pool_file
from genius.collections.mbeir import BenchmarkRow
from genius.collections.writer import candidate_line
from genius.errors import UserError
from genius.evaluation import evaluate as module
from genius.evaluation.evaluate import EvaluationOptions, evaluate, measure_codes
from genius.evaluation.figures import RowFigures, pool_figures, row_figures
from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import QuerySet, read_queries
from genius.evaluation.report import report_of
from genius.evaluation.systems import CANDIDATES, STAGES, found_lines, id_systems
from genius.index.store import Index
from genius.metrics.hit_rate import CUTS, MISS, Qrels
from genius.models.encoder import Encoder
from genius.schema import Item, Modality
from genius.search.engine import Engine
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.micro import PHRASINGS, publish_micro_run

GLOBAL = PoolKind("global", "all")


@pytest.fixture(scope="module")
def found(engine, collection):
    return evaluate(engine, collection, EvaluationOptions(beams=(1, 8, 100)))


def hits(row):
    return row.systems.drop(columns=[*STAGES]).fillna(-1).to_dict("index")


def at_all_cuts(row, system):
    return {k: row.figure(system, f"hit@{k}") for k in CUTS}


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(
    engine, collection, monkeypatch
):
    def fail(*given):
        raise OSError("the tokenizer is gone")

    monkeypatch.setattr(Encoder, "tokenize", fail)
    monkeypatch.setattr("genius.evaluation.queries.open_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .the tokenizer is gone"):
        evaluate(engine, collection, EvaluationOptions())


def test_dense_agrees_with_ranking_all_items_by_hand(found, engine, collection):
    sets = read_queries(collection, engine.index, "test", limit=None, seed=0)
    embedded = {
        (known.task, known.id): engine.encode(batch).embeddings[0].numpy().astype(np.float64)
        for queries in sets
        for known, batch in zip(queries.queries, queries.opened(collection, 1), strict=True)
    }
    tested = {item.id for item in collection.candidates("union_test")}
    for pool in found.pools:
        for of in collection.rows():
            source = (
                collection.local_pool(of)
                if pool.kind.scope == "local"
                else collection.all_candidates()
            )
            ids = [item.id for item in source if pool.kind.items == "all" or item.id in tested]
            vectors = engine.index.embeddings[engine.index.rows_of(ids)].astype(np.float64)
            counts = dict.fromkeys(CUTS, 0)
            queries = list(collection.queries("test", of))
            for query in queries:
                order = np.argsort(-(vectors @ embedded[of.task, query.id]), kind="stable")
                for k in CUTS:
                    counts[k] += any(ids[at] in query.positives for at in order[:k])
            row = pool.row(of.task, of.dataset)
            assert (row.counts["queries"], row.counts["candidates"]) == (len(queries), len(ids))
            assert at_all_cuts(row, "dense") == {
                k: count / len(queries) for k, count in counts.items()
            }


def test_the_tables_are_those_of_the_widest_beam_and_pools_are_found_by_name(found):
    assert list(map(hits, found.pool(beams=100).rows)) == list(map(hits, found.pools[0].rows))
    assert (
        found.pool("local").kind == PoolKind("local", "all")
        and found.pool("local", "test") is found.pools[3]
    )
    with pytest.raises(KeyError, match="no local pool of all items was searched with 9 beams"):
        found.pool("local", "all", beams=9)


def test_an_evaluation_is_reproducible(found, engine, collection):
    again = evaluate(engine, collection, EvaluationOptions(beams=(1, 8, 100)))
    for pool, same in zip(found.pools, again.pools, strict=True):
        assert list(map(hits, [*pool.rows, pool.average])) == list(
            map(hits, [*same.rows, same.average])
        )
        assert pool.average.differences == same.average.differences
    assert (found.settings, found.health) == (again.settings, again.health)


def test_a_variant_is_evaluated_on_some_rows_by_some_systems(engine, collection, found):
    options = EvaluationOptions(
        beams=(8,),
        rows=("3:shapes", "titled"),
        systems=("beam", "beam + re-rank"),
        items="test",
        details=False,
    )
    variant = evaluate(engine, collection, options)
    (whole, local), names = (
        variant.pools,
        [(row.task, row.dataset) for row in variant.pools[0].rows],
    )
    assert names == [(2, "titled"), (3, "shapes")] and (whole.kind.items, local.kind.scope) == (
        "test",
        "local",
    )
    assert (
        list(whole.average.systems.index) == ["beam", "beam + re-rank"]
        and not whole.average.differences
    )
    same = found.pool(items="test", beams=8).row(3, "shapes")
    assert at_all_cuts(whole.row(3, "shapes"), "beam") == at_all_cuts(same, "beam")
    assert not variant.health


def test_a_pool_with_several_uses_is_built_once(engine, collection, monkeypatch):
    built = []
    build = Index.pool
    monkeypatch.setattr(Index, "pool", lambda *given: built.append(len(given[1])) or build(*given))
    evaluate(engine, collection, EvaluationOptions(beams=(4,), systems=("scan",), details=False))
    tested = len(list(collection.candidates("union_test")))
    # six local pools, and one of the test items of all
    assert len(built) == 7 and built.count(tested) == 1


def test_the_limit_and_the_split_are_used(engine, collection):
    few = evaluate(
        engine, collection, EvaluationOptions(split="val", limit=2, beams=(5,), details=False)
    )
    assert [pool.kind.items for pool in few.pools] == ["all", "val", "all", "val"]
    assert [row.counts["queries"] for row in few.pools[0].rows] == [2, 2, 2]


def test_a_run_that_ships_one_pool_is_evaluated_on_the_queries_that_it_can_answer(copy, tmp_path):
    titled = [item for item in copy.all_candidates() if item.id.startswith("1:")]
    (copy.root / named_pool_file("shipped")).write_text("".join(map(candidate_line, titled)))
    pool = SimpleNamespace(
        all_candidates=lambda: titled, image_path=copy.image_path, root=copy.root
    )
    engine = Engine.load(publish_micro_run(tmp_path / "run", pool).path, "cpu")
    shipped = evaluate(engine, copy, EvaluationOptions(beams=(8,), answerable=True, details=False))
    assert [str(searched.kind) for searched in shipped.pools] == [
        f"{scope} pool, shipped items" for scope in ("global", "local")
    ]
    (row,) = shipped.pools[0].rows
    assert (row.dataset, row.counts["no positive in pool"]) == ("titled", 0)


# figures by hand


def searched(
    dense, reranked, others, dataset="shapes", seen=(0,), new=(1, 2), seed=0
) -> RowFigures:
    """Query i has the positive i; "beam + re-rank" has ranks of its own, every other search by IDs
    those of `others`. The pool lacks item 0; the first codes of queries are right by turns.
    """
    count = len(dense)
    n = 9
    targets = np.isin(np.arange(n), [*seen, 5])
    positives = [
        [at] if at in (*seen, *new) else [at, 5] if at not in seen else [at] for at in range(count)
    ]
    row = BenchmarkRow(0, 0, dataset)
    queries = QuerySet(
        row, [None] * count, [""] * count, Qrels.from_lists(positives), np.zeros(count), unknown=3
    )
    order = np.arange(count)
    handed_over = dict(zip(CANDIDATES, (order > 0, order, 7, order % 2 == 0), strict=True))
    ranks = dict.fromkeys(id_systems(1, fused=True), others) | {"beam + re-rank": reranked}
    by_ids = [
        found_lines(system, np.array(found), **handed_over) for system, found in ranks.items()
    ]
    found = pd.concat(
        [found_lines("dense", np.array(dense), encode=2.0, scan=float(count)), *by_ids],
        ignore_index=True,
    )
    return row_figures(found, queries, np.arange(1, n), targets, np.random.default_rng(seed))


FOUR_QUERIES = [1, 4, 7, MISS], [1, 30, MISS, MISS], [2, 3, 4, MISS]
FOUR = searched(*FOUR_QUERIES)
TWO = searched([MISS, MISS], [2, MISS], [MISS, MISS], "titled", seen=(), new=(0, 1), seed=1)


def test_a_row_has_every_figure():
    row = pool_figures(GLOBAL, 1, [FOUR]).row(0, "shapes")
    outside = 1 + 3  # item 0, and judgments of items that are not in the index
    assert list(row.counts.values()) == [4, 8, 1, outside, 1, 2]
    assert at_all_cuts(row, "dense") == {1: 0.25, 5: 0.5, 10: 0.75, 50: 0.75}
    assert (row.cut, row.rate("dense")[0]) == (5, 0.5)
    assert (row.figure("dense", "seen"), row.figure("dense", "new")) == (1.0, 0.5)
    assert (
        row.figure("beam + re-rank", "of dense") == 0.5 and row.figure("dense", "of dense") == 1.0
    )
    assert [row.figure("beam", name) for name in (*CANDIDATES, "most items")] == [
        0.75,
        1.5,
        7.0,
        0.5,
        3.0,
    ]
    assert row.figure("dense", "items") is None
    assert row.differences == {
        "beam − scan": 0.0,
        "beam + re-rank − scan + re-rank": -0.5,
        "both + re-rank − beam + re-rank": 0.5,
        "both + re-rank − scan + re-rank": 0.0,
        "both + fused − scan + fused": 0.0,
    }


def test_fashion_hit_rates_at_ten_are_averaged_with_the_others_at_five():
    pool = pool_figures(GLOBAL, 1, [searched(*FOUR_QUERIES, "drawn_fashion200k"), FOUR])
    row = pool.rows[0]
    assert (row.cut, row.rate("dense")[0], row.figure("dense", "new")) == (10, 0.75, 1.0)
    assert row.figure("beam + re-rank", "of dense") == pytest.approx(0.25 / 0.75)
    assert pool.average.rate("dense")[0] == pytest.approx((0.75 + 0.5) / 2)


def test_the_average_weighs_rows_equally_and_skips_missing_figures():
    average = pool_figures(GLOBAL, 1, [FOUR, TWO]).average
    reranked = partial(average.figure, "beam + re-rank")
    assert at_all_cuts(average, "dense") == {1: 0.125, 5: 0.25, 10: 0.375, 50: 0.375}
    assert reranked("hit@5") == pytest.approx((0.25 + 0.5) / 2)
    assert average.differences["both + re-rank − beam + re-rank"] == pytest.approx((0.5 - 0.5) / 2)
    assert average.figure("dense", "seen") == 1.0  # the second row has no such query
    assert reranked("of dense") == 0.5  # dense finds nothing in the other row
    assert (reranked("items"), reranked("most items"), average.counts) == (1.0, 3, {})
    assert average.systems.loc["dense", [*STAGES]].dropna().to_dict() == {
        "encode": 2.0,
        "scan": 3.0,
    }


def width(estimate):
    rate, low, high = estimate
    assert low <= rate <= high
    return high - low


def test_intervals_are_drawn_by_the_seed_and_narrower_for_many_rows_and_for_pairs():
    first, again, other = [
        pool_figures(GLOBAL, 1, [searched(*FOUR_QUERIES, seed=seed), TWO]).average.draws["beam"]
        for seed in (0, 0, 2)
    ]
    assert (first == again).all() and (first != other).any()
    many = pool_figures(GLOBAL, 1, [searched(*FOUR_QUERIES, seed=seed) for seed in range(25)])
    one, of_many = (width(row.rate("dense")) for row in (many.rows[0], many.average))
    assert of_many == pytest.approx(one / 5, rel=0.25)
    rate, difference = many.average.rate, many.average.difference
    assert width(difference("beam − scan")) == 0 < width(rate("beam"))
    both = np.hypot(width(rate("both + re-rank")), width(rate("beam + re-rank")))
    assert width(difference("both + re-rank − beam + re-rank")) < both


@pytest.mark.parametrize(("misses", "share"), [(9, 1.0), (10, None)])
def test_a_share_needs_a_dense_search_that_reaches_ten_percent(misses, share):
    ranks = np.array([1] + [MISS] * misses)
    positives = Qrels.from_lists([[0]] * (1 + misses))
    queries = QuerySet(
        BenchmarkRow(0, 0, "shapes"), [None] * len(ranks), [], positives, np.zeros(0)
    )
    given = queries, np.arange(1), np.zeros(1, dtype=bool), np.random.default_rng(0)
    assert row_figures(found_lines("dense", ranks), *given).figure("dense", "of dense") == share


# codes


class Indexed:
    """Level 1 is the kind; every second item shares its ID with the one before."""

    n = 90
    code_sizes = (3, 4, 5)
    modalities = np.zeros(90, dtype=np.uint8)

    def codes(self, rows):
        rows = np.asarray(rows)
        return np.stack([rows * 0, rows // 2 % 4, rows // 2 % 5], axis=1)

    def pool(self):
        return Pool.build(
            pack(self.codes(range(90)), self.code_sizes), self.code_sizes, np.arange(90), "cpu"
        )

    def items(self, rows):
        kinds = [
            {"kind": ["cat", "dog", "boat", "drum"][row // 2 % 4]} if row >= 10 else {}
            for row in rows
        ]
        return [
            Item(f"0:{row}", Modality.IMAGE, image="a.png", source=json.dumps(kind))
            for row, kind in zip(rows, kinds, strict=True)
        ]


def test_code_use_covers_all_items_and_factors_cover_a_sample_of_the_candidates(monkeypatch):
    health, (kind,) = measure_codes(Indexed(), np.arange(0, 60), seed=0)
    assert health["items"] == 90 and health["items_alone"] == 0
    assert (kind["factor"], kind["items"], kind["values"]) == ("kind", 50, 4)
    assert kind["levels"][0]["alone"] == pytest.approx(1.0)
    monkeypatch.setattr(module, "MAX_FACTOR_ITEMS", 40)
    first, again, other = [
        measure_codes(Indexed(), np.arange(10, 90), seed)[1] for seed in (0, 0, 1)
    ]
    assert first == again != other and first[0]["items"] == 40


@pytest.fixture(scope="module")
def phrased(engine, partly_unknown):
    return evaluate(engine, partly_unknown, EvaluationOptions(beams=(4,), every_phrasing=True))


def test_the_mean_over_phrasings_agrees_with_the_benchmarks_count_one_phrasing_at_a_time(
    phrased, engine, partly_unknown
):
    """As M-BEIR's evaluation counts: 1 if any relevant one is among the first k."""
    ids = np.array([item.id for item in engine.index.items(range(engine.index.n))])
    embeddings = engine.index.embeddings.astype(np.float64)
    first, *_ = read_queries(partly_unknown, engine.index, "test", limit=None, seed=0)
    rates = []
    for phrasing in PHRASINGS:
        hits = []
        for query in first.queries:
            features = engine.encoder.encode([None], [f"{phrasing} {query.text}"])
            cosines = embeddings @ features.embedding()[0].numpy().astype(np.float64)
            nearest = ids[np.argsort(-cosines, kind="stable")[:5]]
            hits.append(not set(query.positives).isdisjoint(nearest))
        rates.append(np.mean(hits))
    row, *_, texts = phrased.pools[0].rows
    assert (row.phrasings, texts.phrasings) == (3, 1)
    assert row.by_phrasing["dense"] == (pytest.approx(np.mean(rates)), min(rates), max(rates))
    for system, figures in texts.by_phrasing.items():  # one phrasing: as in the tables
        assert set(figures) == {texts.rate(system)[0]}
    report = report_of(phrased, "", "", "", "")
    (table,) = [
        table
        for table in report.tables
        if table.title == "Hit rate over all phrasings of the instructions"
    ]
    assert table.rows[0][2:4] == [3, row.by_phrasing["dense"]] and table.rows[-1][0] == "average"
    assert "2 judgments name items that are not in the index." in report.note


def test_unknown_judgments_are_counted(phrased):
    row, *others = phrased.pools[0].rows
    assert [
        row.counts[name] for name in ("queries", "judgments outside", "no positive in pool")
    ] == [4, 2, 1]
    assert not any(other.counts["judgments outside"] for other in others)
    # what has no answer is neither
    assert (row.counts["seen: queries"], row.counts["new: queries"]) == (0, 3)
    assert row.systems["hit@50"].max() <= 0.75
