import json

import numpy as np
import pytest

from genius.errors import UserError
from genius.evaluation import growing
from genius.evaluation.growing import main, measure
from genius.evaluation.queries import EncodedSplit, training_targets
from genius.reports import Report
from genius.search.engine import Engine


@pytest.fixture(scope="module")
def queries(engine, collection):
    return EncodedSplit.read(engine, collection, "test", None, 0)


@pytest.fixture(scope="module")
def table(engine, collection, queries):
    return measure(engine, collection, queries, (20, 50), 7, 0)


def test_a_grown_collection_holds_all_present_items_and_the_fraction_of_added_ones(
    engine, collection, table
):
    present = int(training_targets(collection, engine.index).sum())
    by_group = {(row[0], row[2]): row for row in table.rows}
    assert list(by_group) == [(share, "present") for share in ("0 %",)] + [
        (share, group) for share in ("20 %", "50 %") for group in ("present", "added")
    ]
    for share, fraction in (("0 %", 0.0), ("20 %", 0.2), ("50 %", 0.5)):
        items, queries = by_group[share, "present"][1], by_group[share, "present"][3]
        # 0:7 asks for 0:0
        assert (items - present) / items == pytest.approx(fraction, abs=0.02) and queries == 1
    assert 0 < by_group["20 %", "added"][3] < by_group["50 %", "added"][3]


def test_with_too_few_items_to_add_the_collection_holds_fewer_present_ones(
    engine, collection, queries
):
    absent = int((~training_targets(collection, engine.index)).sum())
    rows = measure(engine, collection, queries, (90,), 7, 0).rows
    assert {row[1] for row in rows if row[0] == "90 %"} == {absent + round(absent / 9)}


def test_dense_hits_agree_with_sorting_all_cosines(engine, collection, queries):
    items = np.arange(engine.index.n)
    targets = training_targets(collection, engine.index)
    cosines = queries.encoded.embeddings.numpy() @ engine.index.embeddings.astype(np.float32).T
    positives = np.split(queries.qrels.rows, queries.qrels.offsets[1:-1])
    present = [number for number, rows in enumerate(positives) if len(rows) and targets[rows].all()]
    pool = items[targets]
    hits = []
    for number in present:
        first = pool[np.argsort(-cosines[number, pool])[:5]]
        hits.append(bool(set(first.tolist()) & set(positives[number].tolist())))
    (rate, low, high), *_ = measure(engine, collection, queries, (), 7, 0).rows[0][4:]
    assert low <= rate <= high and rate == pytest.approx(np.mean(hits))


def test_fused_features_are_a_column_of_their_own_and_what_is_compared_with_dense(
    run, collection, queries
):
    engine = Engine.load(run, "cpu")
    engine.index.fused = engine.index.embeddings
    measured = measure(engine, collection, queries, (30,), 5, 0)
    assert [column.name for column in measured.columns][-3:] == [
        "beam + re-rank",
        "both + fused",
        "of dense",
    ]
    for row in measured.rows:
        (dense, *_), (last, *_), share = row[4], row[-2], row[-1]
        assert share == (last / dense if dense else None)


def test_the_command_writes_what_it_prints_and_says_whether_the_decoder_learned_the_added_items(
    own_run, capsys
):
    manifest = json.loads((own_run / "manifest.json").read_text(encoding="utf-8"))
    for self_queries in (True, False):
        settings = {"settings": {"decoder": {"self_queries": self_queries}}}
        (own_run / "manifest.json").write_text(json.dumps(manifest | settings))
        main([str(own_run), "--fractions", "30", "--beams", "5", "--limit", "1", "--device", "cpu"])
        written = Report.load(own_run / "reports" / "growing.json")
        assert ("learned every candidate as its own query" in written.note) == self_queries
        assert {row[0] for row in written.tables[0].rows} <= {
            "0 %",
            "30 %",
        } and "--fractions 30" in written.command
        assert written.to_markdown() in capsys.readouterr().out


def test_a_comparison_needs_items_of_both_kinds(engine, collection, queries, monkeypatch):
    monkeypatch.setattr(growing, "training_targets", lambda _, index: np.ones(index.n, dtype=bool))
    with pytest.raises(UserError, match="positives of training queries"):
        measure(engine, collection, queries, (10,), 5, 0)
