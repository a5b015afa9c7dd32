"""genius/evaluation/all_phrasings.py on the micro collection; judgments that a pool does not hold."""

import shutil

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import read_queries
from genius.evaluation.report import markdown
from tests.evaluation.micro import PHRASINGS


def official_recall(relevant: list[str], retrieved: list[str], k: int) -> float:
    """As M-BEIR's evaluation has it: 1 if any relevant one is among the first k, 0 without relevant ones."""
    return float(bool(set(relevant) & set(retrieved[:k])))


@pytest.fixture(scope="module")
def partly_unknown(collection, tmp_path_factory) -> Collection:
    """Of 0:7 the only answer is no candidate, of 0:11 one of two."""
    root = shutil.copytree(collection.root, tmp_path_factory.mktemp("unknown") / "collection")
    file = root / "qrels/test/mbeir_shapes_task0_test_qrels.txt"
    file.write_text(file.read_text().replace("0:0 1 0", "0:99 1 0").replace("0:4 1 0", "7:4 1 0"))
    return Collection(root)


@pytest.fixture(scope="module")
def report(engine, partly_unknown):
    return evaluate(engine, partly_unknown, EvaluationOptions(beams=(4,), every_phrasing=True))


def test_the_mean_over_phrasings_agrees_with_the_benchmarks_count_one_phrasing_at_a_time(
    report, engine, partly_unknown
):
    first, *_ = read_queries(partly_unknown, engine.index, "test", limit=None, seed=0, phrasing="first")
    ids = [item.id for item in engine.index.items(range(engine.index.n))]
    rates = []
    for phrasing in PHRASINGS:
        hits = []
        for query in first.queries:
            features = engine.encoder.encode([None], [f"{phrasing} {query.text}"])
            cosines = engine.index.embeddings.astype(np.float64) @ features.embedding()[0].numpy().astype(np.float64)
            retrieved = [ids[row] for row in np.argsort(-cosines, kind="stable")]
            hits.append(official_recall(query.positives, retrieved, 5))
        rates.append(np.mean(hits))

    row, *_, texts = report["phrasings"]["rows"]

    assert (row["phrasings"], texts["phrasings"]) == (3, 1)
    assert row["systems"]["dense"] == {"mean": pytest.approx(np.mean(rates)), "least": min(rates), "most": max(rates)}
    for system, figures in texts["systems"].items():  # one phrasing: as in the tables
        assert set(figures.values()) == {report["pools"][0]["rows"][2]["systems"][system]["headline"]}


def test_unknown_judgments_are_counted_and_reported(report):
    row, *others = report["pools"][0]["rows"]

    assert (row["queries"], row["judgements"], row["judgements_outside"], row["without_positive"]) == (4, 5, 2, 1)
    assert not any(other["judgements_outside"] for other in others)
    assert (row["queries_trained"], row["queries_new"]) == (0, 3)  # what has no answer is neither
    assert max(system["hit"]["50"] for system in row["systems"].values()) <= 0.75
    text = markdown(report | {"command": "", "run": "", "collection": ""})
    assert "- 2 judgments name items that are not in the index" in text
    assert "## Hit rate over all phrasings" in text


def test_phrasings_are_measured_only_on_request(engine, collection):
    found = evaluate(engine, collection, EvaluationOptions(beams=(2,), limit=1))

    assert found["phrasings"] is None
    assert "over all phrasings" not in markdown(found | {"command": "", "run": "", "collection": ""})
