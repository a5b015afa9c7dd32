"""training/benchmarks/worth.py on a tiny run, against the searches that are served."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from genius.errors import UserError
from genius.evaluation.queries import EncodedSplit, read_queries
from genius.evaluation.systems import id_systems, search_by_ids
from genius.reports import Report
from genius.search.engine import Engine
from training import ranker
from training.benchmarks import worth

BEAMS = 5


@pytest.fixture(scope="module")
def run(trained_run, collection, tmp_path_factory):
    path = shutil.copytree(trained_run, tmp_path_factory.mktemp("worth") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranker, "MIN_QUERIES", 5)
        ranker.train(collection.root, path, "cpu")
    return path


@pytest.fixture(scope="module")
def engine(run):
    return Engine.load(run, "cpu")


@pytest.fixture(scope="module")
def queries(engine, collection):
    sets = read_queries(collection, engine.index, "test", limit=12, seed=0, answerable=True)
    return EncodedSplit.encode(engine, collection, sets)


@pytest.fixture(scope="module")
def found(engine, queries):
    return worth.candidate_lists(engine, queries, BEAMS)


def test_the_figures_of_both_are_those_of_the_search_that_is_served(engine, queries):
    pool = worth.measure(engine, queries, np.zeros(engine.index.n, dtype=bool), BEAMS, 0)
    for query_set, row, figures in zip(queries.sets, queries.rows, pool.rows, strict=True):
        systems = {name: id_systems(BEAMS, True)[name] for name in ("both + ranker", "both + re-rank", "scan + ranker")}
        served = pd.concat(search_by_ids(systems, engine, engine.pool, row, query_set.qrels))
        for name, ranks in served.groupby("system")["rank"]:
            assert figures.rate(name)[0] == (ranks <= figures.cut).mean()
            dense = figures.rate("dense")[0]
            assert figures.differences[f"{name} − dense"] == pytest.approx((ranks <= figures.cut).mean() - dense)


def test_a_ranker_without_the_decoder_sees_nothing_of_it_and_no_query_is_ranked_by_its_own(found):
    lists, _ = found
    scrambled = lists.parts.clone()
    scrambled[:, [worth.DECODER, worth.FIRST_CODE]] = torch.randn(len(scrambled), 2)
    parts = (worth.DECODER, worth.FIRST_CODE)
    alone, again = (worth.fitted(each, 0, parts) for each in (lists, replace(lists, parts=scrambled)))
    assert torch.equal(alone, again) and not torch.equal(worth.fitted(lists, 0), alone)


def test_whole_ids_are_scored_as_results_show_them(engine, queries, found, monkeypatch):
    seen = []
    monkeypatch.setattr(worth, "fitted", lambda lists, seed: seen.append(lists) or lists.parts[:, worth.DECODER])
    lists, codes = found
    scores = lists.parts[:, 0]
    ranks = worth.ranks_by_whole_ids(engine, queries, lists, codes, scores, 0)
    (few,) = seen
    assert np.bincount(few.query).max() <= worth.FIRST
    asked = replace(id_systems(BEAMS)["both + re-rank"], k=worth.FIRST)
    for number, result in enumerate(engine.search_encoded(queries.encoded, asked)):
        own = few.parts[few.query == number, worth.DECODER]
        assert own.tolist() == pytest.approx([hit.log_prob for hit in result.hits], abs=1e-4)
        rows = [hit.row for hit in sorted(result.hits, key=lambda hit: -hit.log_prob)]
        targets = queries.qrels.contains(np.full(len(rows), number), np.array(rows))
        expected = targets.argmax() + 1 if targets.any() else lists.ranks(scores)[number]
        assert ranks[number] == expected


def test_the_command_writes_a_report_and_needs_a_ranker(run, trained_run, collection, capsys):
    main = [str(run), "--collection", str(collection.root), "--limit", "5", "--beams", str(BEAMS), "--device", "cpu"]
    worth.main(main)
    written = Report.load(run / "reports" / "worth.json")
    assert written.to_markdown() in capsys.readouterr().out
    (averages, differences, *_) = written.tables
    assert {"dense", "beam by geometry", worth.WITHOUT, worth.WHOLE} <= {row[1] for row in averages.rows}
    assert f"{worth.FITTED} − {worth.WITHOUT}" in {row[1] for row in differences.rows}
    with pytest.raises(UserError, match="has no ranker; train one"):
        worth.main([str(trained_run), *main[1:]])
