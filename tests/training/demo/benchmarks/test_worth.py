"""training/demo/benchmarks/worth.py on a tiny run, against the searches that are served."""

import numpy as np
import pandas as pd
import pytest

from genius.evaluation.queries import EncodedSplit, read_queries
from genius.evaluation.systems import id_systems, search_by_ids
from genius.reports import Report
from genius.search.engine import Engine
from training.demo.benchmarks import worth

BEAMS = 5


def test_the_figures_of_both_are_those_of_the_search_that_is_served(trained_run, collection):
    engine = Engine.load(trained_run, "cpu")
    sets = read_queries(collection, engine.index, "test", limit=12, seed=0, answerable=True)
    queries = EncodedSplit.encode(engine, collection, sets)
    pool = worth.measure(engine, queries, np.zeros(engine.index.n, dtype=bool), BEAMS, 0)
    served = ("both + fused", "both + re-rank", "scan + fused")
    for query_set, row, figures in zip(queries.sets, queries.rows, pool.rows, strict=True):
        systems = {name: id_systems(BEAMS, True)[name] for name in served}
        found = pd.concat(search_by_ids(systems, engine, engine.pool, row, query_set.qrels))
        for name, ranks in found.groupby("system")["rank"]:
            rate = (ranks <= figures.cut).mean()
            dense = figures.rate("dense")[0]
            assert figures.rate(name)[0] == rate
            assert figures.differences[f"{name} − dense"] == pytest.approx(rate - dense)


def test_the_command_writes_a_report(trained_run, collection, capsys):
    collected = ["--collection", str(collection.root), "--limit", "5", "--device", "cpu"]
    worth.main([str(trained_run), *collected, "--beams", str(BEAMS)])
    written = Report.load(trained_run / "reports" / "worth.json")
    assert written.to_markdown() in capsys.readouterr().out
    (averages, differences, *_) = written.tables
    assert {"dense", "beam by geometry", "both + fused"} <= {row[1] for row in averages.rows}
    assert "both + fused − scan + fused" in {row[1] for row in differences.rows}
