"""The tables of a collection: what its files hold."""

import pytest

from genius.errors import UserError
from genius.evaluation import collection_table
from genius.evaluation.collection_table import MBEIR, cost_table, row_statistics, rows_table
from genius.evaluation.paper import ROWS
from genius.run import Run


def test_rows_count_queries_positives_and_candidates_as_the_records_do(collection):
    by_row = {(row.task, row.dataset): row for row in row_statistics(collection)}
    shapes = by_row[0, "shapes"]
    assert shapes.queries == tuple(
        sum(1 for query in collection.queries(split) if query.task == 0) for split in ("train", "val", "test")
    )
    assert shapes.relevant == (1.0, 1.0, 1.25)  # one of four test queries has two answers
    assert shapes.candidates == sum(1 for _ in collection.candidates("shapes_task0"))


def test_the_papers_rows_stand_beside_their_counterparts(collection):
    assert tuple(MBEIR) == ROWS
    rows = row_statistics(collection)
    total = sum(1 for _ in collection.all_candidates())
    text = rows_table([rows[0], rows[0].__class__(7, "drawn_cirr", (4, 0, 2), (1.0, None, 1.5), 9)], total)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert lines[2][2] == "–" and lines[3] == [
        lines[3][0],
        "drawn_cirr",
        "26 / 2 / 4",
        "4 / 0 / 2",
        "1.0 / 1.0 / 1.0",
        "1.0 / – / 1.5",
        "21K",
        "9",
    ]
    assert lines[4][-1] == f"{total:,}"


def test_cost_is_per_stage_and_sample():
    text = cost_table({"stages": {"encoder": {"seconds": 7200.0}, "features": {"seconds": 36.0}}}, 1000)
    cells = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in text.splitlines()}
    assert cells["encoder"] == ["91.0", "297.8", "2.00", "7200.0"]
    assert cells["decoder"] == ["2.0", "6.5", "–", "–"] and cells["features"] == ["–", "–", "0.01", "36.0"]
    no_queries = cost_table({"stages": {"encoder": {"seconds": 7200.0}}}, 0)  # a collection of test queries alone
    assert [cell.strip() for cell in no_queries.splitlines()[2].split("|")[2:-1]] == ["91.0", "297.8", "2.00", "–"]
    with pytest.raises(UserError, match="records no stages"):
        cost_table({}, 1)


def test_the_command_prints_all_three(collection, run, capsys):
    Run(run).record(stages={"decoder": {"facts": "", "seconds": 60.0}})
    collection_table.main([str(collection.root), "--run", str(run)])
    text = capsys.readouterr().out
    assert "shapes" in text and "bytes per item" in text and "ms per sample" in text
