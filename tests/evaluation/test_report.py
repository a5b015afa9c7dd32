"""genius/evaluation/report.py: the tables hold the figures of the evaluation; and the command that
writes them.
"""

import json
from dataclasses import replace
from functools import partial

import pytest

from genius.errors import UserError
from genius.evaluation.__main__ import main
from genius.evaluation.arguments import collection_of, parse_integers
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.report import REPORTED_AS, report_of
from genius.reports import Report

ROWS = [("0 text → image", "shapes"), ("2 text → pair", "titled"), ("3 image → text", "shapes")]
STEPS = [
    "dense",
    *(
        step
        for way in ("scan", "beam", "both")
        for step in (f"{way}: candidates", f"{way} + re-rank")
    ),
]


@pytest.fixture(scope="module")
def found(engine, collection):
    return evaluate(engine, collection, EvaluationOptions(beams=(2, 30)))


@pytest.fixture(scope="module")
def report(found):
    return report_of(found, "my-run", "micro", "python -m genius.evaluation my-run", "version")


def table(report, title):
    """{(first cells that are texts): {column: cell}}"""
    (chosen,) = [each for each in report.tables if each.title == title]
    words = sum(chosen.words())
    names = [column.name for column in chosen.columns]
    return {tuple(row[:words]): dict(zip(names, row, strict=True)) for row in chosen.rows}


def test_the_report_is_written_and_read_back_at_full_precision(report, tmp_path):
    report.write(tmp_path / "retrieval.json")
    assert Report.load(tmp_path / "retrieval.json") == report
    assert (report.title, report.version) == ("Retrieval: my-run on micro", "version")
    assert "12 test queries in 3 rows; instructions chosen by seed 0." in report.note
    assert "48 items with 36 distinct IDs; codes per level: 3, 5, 5, 5." in report.note


def test_every_pool_has_its_hit_rates_its_ladder_and_all_cuts_the_headline_first(report, found):
    assert report.tables[0].title == f"Hit rate by row, {found.pools[0].kind}"
    for pool in found.pools:
        hits = table(report, f"Hit rate by row, {pool.kind}")
        ladder = table(report, f"Where hit rate is lost, {pool.kind}")
        cuts = table(report, f"Hit rate at 1, 5, 10, 50 by row and system, {pool.kind}")
        assert list(hits) == list(ladder) == [*ROWS, ("average", "")]
        for name, row in zip(hits, [*pool.rows, pool.average], strict=True):
            steps = ladder[name]
            assert list(steps)[2:] == STEPS
            assert steps["beam: candidates"] == row.figure("beam + re-rank", "recall")
            assert steps["both + re-rank"] == row.figure("both + re-rank", "rate")
            for system in row.systems.index:
                assert hits[name][system] == row.rate(system)
                for hit in ("hit@1", "hit@5", "hit@10", "hit@50"):
                    assert cuts[(*name, system)][hit] == row.figure(system, hit)
    assert "no positive in pool" not in table(report, report.tables[0].title)["average", ""]
    other = table(report, "Hit rate by row, global pool, test items")["0 text → image", "shapes"]
    # 0:0 and one of 0:11's two
    assert (other["no positive in pool"], other["judgments outside"]) == (1, 2)


def test_averages_differences_and_candidates_have_a_line_for_each_pool(report, found):
    averages = table(report, "Averages over rows")
    pairs = table(report, "Differences between systems")
    beams = table(report, "Candidates, averages over rows")
    for pool in found.pools:
        for name in pool.average.systems.index:
            line = averages[str(pool.kind), name]
            figure = partial(pool.average.figure, name)
            assert [line["hit rate"], line["hit@10"]] == [pool.average.rate(name), figure("hit@10")]
            assert line["of dense"] == figure("of dense")
            if name != "dense":
                cells = beams[str(pool.kind), name]
                for column in ("recall", "items", "most items", "scored", "first code"):
                    assert cells[column] == figure(column)
                assert isinstance(cells["most items"], int)
        for pair in pool.average.differences:
            assert pairs[str(pool.kind), pair]["difference"] == pool.average.difference(pair)


def test_a_sweep_is_a_table_and_a_plot_and_one_size_has_none(report, found):
    title = "Averages by beam size, global pool, all items"
    rows = next(each for each in report.tables if each.title == title).rows
    assert [row[0] for row in rows] == [2, 30] and found.pools[0].average.rate("beam") in rows[1]
    alone = report_of(replace(found, searched=found.pools), "", "", "", "")
    assert title not in [each.title for each in alone.tables]
    assert [plot.kind for plot in report.plots] == ["marks"] * 4 + ["lines", "bars"]
    assert [plot.kind for plot in alone.plots] == ["marks"] * 4 + ["bars"]


def test_targets_codes_and_times(report, found):
    seen = table(report, "Targets seen and not seen in training, global pool, all items")[ROWS[1]]
    assert (seen["seen: queries"], seen["seen: dense"]) == (0, None)
    codes = next(each for each in report.tables if each.title == "Codes in use")
    assert len(codes.rows) == 4 and "of 48 items share their ID with no other" in codes.note
    times = table(report, "Milliseconds per query")["global pool, all items", "beam"]
    stages = times["encode"], times["fuse"], times["beam search"], times["re-rank"]
    assert times["total"] == pytest.approx(sum(stages)) and times["scan"] is None
    sizes = table(report, "Bytes per item")
    # 2 + 3 · 3 bits
    assert sizes["ID",]["bytes"] == 1.375 and sizes["embedding of 12, fp32",]["bytes"] == 48
    assert sizes["paper: ID of 2 + 8 · 12 bits",]["bytes"] == 12.25


def test_factors_are_shown_if_items_have_them(report, found):
    assert not [each for each in report.tables if each.title.startswith(REPORTED_AS)]
    level = {"alone": 0.625, "shuffled": -0.004, "in_modality": 0.7, "given_prefix": None}
    factors = [
        {
            "factor": "kind",
            "items": 1200,
            "values": 56,
            "levels": [level | {"level": at} for at in (1, 2)],
        }
    ]
    shown = report_of(replace(found, factors=factors), "", "", "", "")
    alone, in_modality, given = [
        each for each in shown.tables if each.title.startswith(REPORTED_AS)
    ]
    assert alone.rows == [["kind", 1200, 56, 0.625, 0.625]] and "beyond ±0.004" in alone.note
    assert in_modality.rows[0][3:] == [0.7, 0.7] and given.rows[0][3:] == [None, None]
    assert shown.plots[-2].series[0].y == [0.625, 0.625]


def test_the_command_prints_and_writes_its_report(own_run, capsys):
    given = "--beams 5,2 --limit 2 --rows 0:shapes,titled --items all --device cpu"
    main([str(own_run), *given.split()])
    report = Report.load(own_run / "reports" / "retrieval.json")
    assert report.command == f"python -m genius.evaluation {own_run} {given}"
    assert report.title == "Retrieval: run on collection" and "; run: " in report.version
    assert (
        "at most 2 per row" in report.note
        and "5 beams, decoder weight 1 against geometry" in report.note
    )
    assert list(table(report, "Hit rate by row, global pool, all items"))[1] == (
        "2 text → pair",
        "titled",
    )
    assert report.to_markdown() in capsys.readouterr().out
    assert sorted(file.name for file in (own_run / "reports").iterdir()) == [
        "retrieval.json",
        "retrieval.md",
    ]


def test_a_wrong_collection_is_refused_and_writes_nothing(own_run, copy):
    for file in (copy.root / "cand_pool").rglob("*.jsonl"):
        file.write_text(file.read_text(encoding="utf-8").replace('"1:', '"2:'))
    with pytest.raises(UserError, match="holds items that the index does not"):
        main([str(own_run), "--collection", str(copy.root), "--device", "cpu"])
    assert not (own_run / "reports").exists()


def test_a_run_whose_collection_is_gone_asks_for_its_name(own_run, collection, tmp_path):
    assert collection_of(own_run, None).root == collection.root
    assert collection_of(tmp_path, collection.root).root == collection.root
    manifest = json.loads((own_run / "manifest.json").read_text(encoding="utf-8"))
    del manifest["collection"]
    for gone in ({"collection": str(tmp_path / "gone")}, {}):
        (own_run / "manifest.json").write_text(json.dumps(manifest | gone))
        with pytest.raises(UserError, match="name it: --collection DIR"):
            collection_of(own_run, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--limit 0", "--limit 0: expected an integer of at least 1"),
        ("--limit 1.5", "--limit 1.5: expected an integer of at least 1"),
        ("--seed -1", "--seed -1: expected an integer of at least 0"),
        ("--beams ten", "--beams ten: expected integers from 1 to"),
        ("--beams 5,-1", "--beams 5,-1: expected integers from 1 to"),
        ("--beams 5,501", "--beams 5,501: expected integers from 1 to"),
    ],
)
def test_impossible_values_are_refused_before_anything_is_measured(run, arguments, message):
    with pytest.raises(UserError, match=message):
        main([str(run), *arguments.split()])


def test_a_missing_run_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(UserError, match="nothing is not a run; train one with: python -m training"):
        main([str(tmp_path / "nothing")])


def test_lists_of_integers_are_sorted():
    assert parse_integers("10,1,5,10", "--beams", 1, 500) == (1, 5, 10)
