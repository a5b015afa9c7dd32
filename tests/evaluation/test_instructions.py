"""genius/evaluation/instructions.py on the micro collection; judgments that a pool does not hold."""

import shutil

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import read_queries
from genius.evaluation.report import report_of
from tests.evaluation.micro import PHRASINGS


@pytest.fixture(scope="module")
def partly_unknown(collection, tmp_path_factory) -> Collection:
    """Of 0:7 the only answer is no candidate, of 0:11 one of two."""
    root = shutil.copytree(collection.root, tmp_path_factory.mktemp("unknown") / "collection")
    file = root / "qrels/test/mbeir_shapes_task0_test_qrels.txt"
    file.write_text(file.read_text().replace("0:0 1 0", "0:99 1 0").replace("0:4 1 0", "7:4 1 0"))
    return Collection(root)


@pytest.fixture(scope="module")
def phrased(engine, partly_unknown):
    return evaluate(engine, partly_unknown, EvaluationOptions(beams=(4,), every_phrasing=True))


def test_the_mean_over_phrasings_agrees_with_the_benchmarks_count_one_phrasing_at_a_time(
    phrased, engine, partly_unknown
):
    """As M-BEIR's evaluation counts: 1 if any relevant one is among the first k."""
    ids, rates = [item.id for item in engine.index.items(range(engine.index.n))], []
    first, *_ = read_queries(partly_unknown, engine.index, "test", limit=None, seed=0)
    for phrasing in PHRASINGS:
        hits = []
        for query in first.queries:
            features = engine.encoder.encode([None], [f"{phrasing} {query.text}"])
            cosines = engine.index.embeddings.astype(np.float64) @ features.embedding()[0].numpy().astype(np.float64)
            retrieved = [ids[row] for row in np.argsort(-cosines, kind="stable")]
            hits.append(float(bool(set(query.positives) & set(retrieved[:5]))))
        rates.append(np.mean(hits))
    row, *_, texts = phrased.phrasings
    assert (row.phrasings, texts.phrasings) == (3, 1)
    assert row.systems["dense"] == (pytest.approx(np.mean(rates)), min(rates), max(rates))
    for system, figures in texts.systems.items():  # one phrasing: as in the tables
        assert set(figures) == {phrased.pools[0].rows[2].systems[system].rate[0]}
    report = report_of(phrased, "", "", "", "")
    (table,) = [table for table in report.tables if table.title == "Hit rate over all phrasings of the instructions"]
    assert table.rows[0][2:4] == [3, row.systems["dense"]] and table.rows[-1][0] == "average"
    assert "2 judgments name items that are not in the index." in report.note


def test_unknown_judgments_are_counted(phrased):
    row, *others = phrased.pools[0].rows
    assert (row.queries, row.outside, row.without_positive) == (4, 2, 1)
    assert not any(other.outside for other in others)
    assert (row.queries_seen, row.queries_new) == (0, 3)  # what has no answer is neither
    assert max(system.hit[50] for system in row.systems.values()) <= 0.75
