"""genius/evaluation/small_beams.py on the micro run: the shares are those of the searches, by targets."""

import shutil

import numpy as np
import pytest

from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.small_beams import main, markdown, measure, split_by_targets
from genius.metrics.hit_rate import Qrels
from genius.reading import read_json
from genius.schema import SearchOptions


def test_queries_are_split_by_whether_training_saw_a_positive():
    seen = np.array([True, False, False])

    split = split_by_targets(Qrels.from_lists([[0, 1], [1], [2, 0], []]), seen)

    assert split["any target seen"].tolist() == [True, False, True, False]
    assert split["no target seen"].tolist() == [False, True, False, False]  # the last has no positive in the index
    assert split["all"].all()


def test_recall_is_that_of_the_candidates(engine, collection):
    queries = EncodedSplit.read(engine, collection, "test", 4, seed=0)
    seen = np.zeros(engine.index.n, dtype=bool)

    found = {(entry["mode"], entry["scores"], entry["beams"]): entry for entry in measure(engine, queries, seen, (2,))}

    for mode, beams in (("exact", 2), ("fast", 8)):
        shares = []
        for row, some in zip(queries.rows, queries.sets, strict=True):
            options = SearchOptions(beams=beams, mode=mode, decoder_weight=0.0)
            hits = 0
            for number, query in enumerate(row.split(1)):
                rows = engine.retrieve(query, options).candidates.row
                hits += bool(np.isin(rows, some.qrels.rows[slice(*some.qrels.offsets[number : number + 2])]).any())
            shares.append(hits / len(some))
        entry = found[mode, "geometry", 2]
        assert entry["recall, all"] == entry["recall, no target seen"] == pytest.approx(np.mean(shares))
        assert "recall, any target seen" not in entry
        assert entry["hit rate, all"] <= entry["recall, all"]


def test_the_command_writes_a_table_for_each_mode_and_outcome(run, collection, tmp_path):
    run = shutil.copytree(run, tmp_path / "run")  # other tests read its reports
    main([str(run), "--collection", str(collection.root), "--limit", "2", "--beams", "1,2"])

    report = read_json(run / "reports" / "small_beams.json", dict)
    text = (run / "reports" / "small_beams.md").read_text()
    assert len(report["measured"]) == 2 * 3 * 2 and text == markdown(report)
    for heading in ("Recall, generated IDs", "Recall, shortlist", "Hit rate, generated IDs", "Hit rate, shortlist"):
        assert f"## {heading}" in text
