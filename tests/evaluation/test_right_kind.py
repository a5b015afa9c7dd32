"""genius/evaluation/right_kind.py on the micro collection, against counting one query at a time."""

import shutil

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.evaluation.right_kind import FIRST, SYSTEMS, asked, main, measure, right_shares
from genius.reports import Report
from genius.schema import Modality
from genius.search.dense import flat_search


def test_results_of_the_target_modality_are_counted_among_those_there_are():
    modalities = np.array([Modality.IMAGE, Modality.TEXT, Modality.TEXT])
    rows = np.array([[0, 1, 2], [1, -1, -1], [2, 0, -1]])
    assert right_shares(rows, modalities, np.array([1, 1, 0])).tolist() == [2 / 3, 1, 1 / 2]


def test_the_tables_agree_with_searches_for_one_query_at_a_time(engine, collection, tmp_path):
    copy = Collection(shutil.copytree(collection.root, tmp_path / "copy"))
    file = copy.root / "instructions/query_instructions.tsv"
    file.with_name("held_out_instructions.tsv").write_text(file.read_text().replace("ind", "etch"))
    sets = asked(engine, copy, "test", None, 0)
    averages, *by_row = measure(engine, copy, sets, 0)
    assert [column.name for column in averages.columns[1:]] == [f"instruction: {name}" for name in sets]
    for column, (name, of_rows) in enumerate(sets.items()):
        for number, (system, options) in enumerate(SYSTEMS.items()):
            shares = []
            for queries in of_rows:
                right = []
                for (query,), target in zip(queries.opened(copy, 1), queries.targets, strict=True):
                    assert ("etch" in query.instruction) == (name == "held out" and query.instruction[0] in "F")
                    assert bool(query.instruction) == (name != "none")
                    if options is None:
                        embedding = engine.encode([query]).embeddings.numpy()
                        rows = flat_search(engine.index.embeddings, embedding, FIRST)[1][0]
                    else:
                        rows = [hit.row for hit in engine.search([query], options)[0].hits]
                    right.append(np.mean(engine.index.modalities[rows] == target))
                shares.append(np.mean(right))
            assert [line[3 + number][0] for line in by_row[column].rows] == pytest.approx(shares)
            mean, low, high = averages.rows[number][1 + column]
            assert averages.rows[number][0] == system and low <= mean <= high and mean == pytest.approx(np.mean(shares))


def test_the_command_writes_what_it_prints_and_needs_no_held_out_instructions(run, tmp_path, capsys):
    run = shutil.copytree(run, tmp_path / "run")
    main([str(run), "--limit", "2", "--device", "cpu"])
    written = Report.load(run / "reports" / "right_kind.json")
    assert [len(table.rows) for table in written.tables] == [len(SYSTEMS), 3, 3]
    assert written.to_markdown() in capsys.readouterr().out and "--limit 2" in written.command
