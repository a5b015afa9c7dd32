"""genius/evaluation/paper.py: the published figures, and ours beside them."""

import json
from dataclasses import replace
from statistics import fmean
from types import SimpleNamespace

import pytest

from genius.errors import UserError
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.figures import PoolFigures
from genius.evaluation.paper import (
    CAPTIONS,
    MSCOCO,
    PUBLISHED_CAPTIONS,
    ROWS,
    TABLE_1,
    TABLE_2,
    TABLE_8,
    TABLE_9,
    TABLES,
    caption_lines,
    captions_table,
    main,
    paper_tables,
    recalls,
    stand_in,
    trained_on,
)
from genius.evaluation.report import report_of
from genius.reports import Report
from genius.run import Run


def averages(table):
    return [fmean(column) for column in zip(*table.figures.values(), strict=True)]


def test_averages_are_those_that_the_paper_prints():
    clip, blip, *generated = averages(TABLE_2)
    assert generated == pytest.approx([28.8, 38.3], abs=0.06)
    assert clip == pytest.approx(48.9, abs=0.2)  # its rows add up to 49.05
    assert blip + (38.7 - 34.7) / 16 == pytest.approx(45.5, abs=0.06)  # OVEN's as Table 9 prints it
    printed = [48.9, 43.3, 42.7, 45.5, 28.1, 35.4, 28.8, 38.3]
    assert averages(TABLE_9) == pytest.approx(printed, abs=0.3)  # BLIP-SF's rows add up to 42.98


def test_every_table_has_all_rows_and_tables_agree_where_they_print_the_same_system():
    """The supplement's widest beams are the paper's own tables."""
    for table in TABLES:
        assert tuple(table.figures) == ROWS and len(ROWS) == 16
        assert {len(figures) for figures in table.figures.values()} == {len(table.systems)}
    for short, long in ((TABLE_1, TABLE_8), (TABLE_2, TABLE_9)):
        for row in ROWS:
            of_paper, of_supplement = [
                dict(zip(each.systems, each.figures[row], strict=True)) for each in (short, long)
            ]
            assert of_paper["GENIUS"] == of_supplement["GENIUS, 50 beams"]
            assert of_paper["GENIUS + re-rank"] == of_supplement["GENIUS + re-rank, 50"]


def test_rows_as_printed():
    assert TABLE_8.figures[7, "fashioniq"] == (
        25.9,
        3.0,
        24.4,
        29.2,
        None,
        None,
        12.8,
        17.5,
        13.2,
        19.3,
    )
    assert TABLE_9.figures[6, "oven"] == (39.2, 34.7, 35.2, 38.7, 34.4, 37.1, 34.6, 38.0)
    assert TABLE_1.figures[0, "mscoco"] == (81.1, 79.7, 50.7, 39.5, 68.1, 78.0)
    coco = {
        line["method"]: recalls(line)
        for line in PUBLISHED_CAPTIONS
        if line["set"] == line["trained on"] == MSCOCO
    }
    assert coco["GRACE, numeric"] == (0.03, 0.14, 0.28) and coco["GENIUS + re-rank"] == (
        46.1,
        74.0,
        82.7,
    )
    assert [line["zero-shot"] for line in PUBLISHED_CAPTIONS].count("yes") == 2


def test_a_counterpart_has_the_task_and_the_ending_of_the_name():
    assert TABLE_2.counterpart(7, "drawn_fashioniq") == (26.2, 28.5, 18.9, 19.2)
    assert (
        TABLE_2.counterpart(0, "drawn_fashioniq") is None
        and TABLE_2.counterpart(0, "shapes") is None
    )
    assert TABLE_2.holds("fashioniq") and not TABLE_2.holds("drawn_fashioniq")


# ours beside them


@pytest.fixture(scope="module")
def measured(engine, collection):
    return evaluate(engine, collection, EvaluationOptions(beams=(2, 30), details=False))


RATES = {"dense": 0.8, "beam": 0.5, "beam + re-rank": 0.6}


def renamed(found, *names):
    """With other names of its datasets, and in the test pools these hit rates, less by 0.4 in the
    second row.
    """

    def changed(pool: PoolFigures) -> PoolFigures:
        rows = []
        for number, (row, name) in enumerate(zip(pool.rows, names, strict=True)):
            systems = row.systems.copy()
            if pool.kind.items == "test":
                systems.loc[list(RATES), "rate"] = [
                    rate - 0.4 * (number == 1) for rate in RATES.values()
                ]
            rows.append(replace(row, dataset=name, systems=systems))
        return replace(pool, rows=rows)

    return replace(found, searched=[*map(changed, found.searched)])


def shown(found, name):
    (table,) = [
        table for table in paper_tables(found) if table.title == f"Beside the paper's {name}"
    ]
    return table, [[*table.headings()], *table.texts()]


def test_counterparts_stand_beside_the_papers_rows(measured):
    assert not paper_tables(measured)
    table, (header, *rows, average) = shown(
        renamed(measured, "drawn_mscoco", "drawn_webqa", "my_nights"), "Table 2"
    )
    of_paper = [
        f"paper: {system}, %" for system in ("CLIP-SF", "BLIP-FF", "GENIUS", "GENIUS + re-rank")
    ]
    here = [f"here: {system}, %" for system in RATES]
    assert header == ["task", "dataset", *of_paper, "paper: of CLIP-SF", *here, "here: of dense"]
    assert rows == [  # NIGHTS has another task
        [
            "0 text → image",
            "drawn_mscoco",
            "77.9",
            "75.6",
            "55.1",
            "68.0",
            "0.87",
            "80.0",
            "50.0",
            "60.0",
            "0.75",
        ],
        [
            "2 text → pair",
            "drawn_webqa",
            "78.8",
            "79.7",
            "49.0",
            "59.7",
            "0.76",
            "40.0",
            "10.0",
            "20.0",
            "0.50",
        ],
    ]
    assert average[2:] == ["78.3", "77.6", "52.0", "63.9", "0.81", "60.0", "30.0", "40.0", "0.67"]
    assert (
        "The same tasks on other data" in table.note and "Global pools, test items." in table.note
    )


def test_missing_figures_are_unknown_and_beam_sizes_that_the_paper_prints_are_columns(measured):
    found = renamed(measured, "mscoco", "webqa", "visualnews")
    assert len(paper_tables(found)) == 4
    table, (header, coco, webqa, news, average) = shown(found, "Table 1")
    assert coco[2:8] == ["81.1", "79.7", "50.7", "39.5", "68.1", "78.0"] and news[1] == "visualnews"
    assert webqa[4:6] == average[4:6] == ["–", "–"] and table.note.startswith(
        "The paper's rows, M-BEIR's. Local pools"
    )
    for name in ("Table 8", "Table 9"):  # the sweep has 2 and 30 beams, of which they print one
        header = shown(found, name)[1][0]
        assert [each for each in header if each.startswith("here: ") and "%" in each] == [
            "here: dense, %",
            "here: beam, 30, %",
            "here: beam + re-rank, 30, %",
        ]


def test_captions_are_taken_in_the_local_pool_of_the_split(measured):
    found = renamed(measured, "drawn_mscoco", "webqa", "shapes")
    lines = caption_lines(found, "photographs")
    row = found.pool("local", "test").rows[0]
    assert [line[1] for line in lines] == [
        "dense search, the same encoder",
        "GENIUS",
        "GENIUS + re-rank",
    ]
    for line, system in zip(lines, RATES, strict=True):
        assert line[0] == "drawn_mscoco (stands in for MSCOCO)" and line[2:4] == [
            "photographs",
            "here",
        ]
        assert [rate for rate, _, _ in line[4:7]] == [
            row.figure(system, f"hit@{cut}") for cut in (1, 5, 10)
        ]
        assert all(low <= rate <= high for rate, low, high in line[4:7])
        assert line[7:] == [row.counts["queries"], row.counts["candidates"]]
    table = captions_table(lines)
    assert [line[0] for line in table.rows] == ["Flickr30K"] * 9 + ["MSCOCO"] * 10 + [
        lines[0][0]
    ] * 3
    assert (
        table.rows[0][4:7] == pytest.approx([0.225, 0.289, 0.294])
        and table.rows[5][2] == "M-BEIR †"
    )
    assert [stand_in(name) for name in ("mscoco", "flickr8k", "fashion")] == [
        MSCOCO,
        "Flickr30K",
        "",
    ]


@pytest.mark.parametrize(
    ("stages", "named"),
    [
        ("", "world"),
        ("encoder quantizer decoder", "world, 0:coco alone"),
        ("decoder", "world, the decoder on 0:coco alone"),
    ],
)
def test_rows_that_training_was_limited_to_are_named(stages, named):
    rows = {
        stage: ["0:coco"] if stage in stages.split() else []
        for stage in ("encoder", "quantizer", "decoder")
    }
    settings = SimpleNamespace(
        **{stage: SimpleNamespace(rows=of_stage) for stage, of_stage in rows.items()}
    )
    assert trained_on(settings, "world") == named


def test_the_captions_of_several_runs_are_written_beside_the_first(measured, tmp_path):
    for name, dataset in (("one", "drawn_mscoco"), ("two", "flickr8k")):
        report = report_of(renamed(measured, dataset, "webqa", "shapes"), name, "c", "", "")
        report.write(tmp_path / name / "reports" / "retrieval.json")
        Run(tmp_path / name).record()
    main([str(tmp_path / "one"), str(tmp_path / "two")])
    (table,) = Report.load(tmp_path / "one" / "reports" / "captions.json").tables
    assert table.title == CAPTIONS and len(table.rows) == 19 + 3 + 3
    assert [row[0] for row in table.rows if row[3] == "here"][2:4] == [
        "flickr8k (stands in for Flickr30K)",
        "drawn_mscoco (stands in for MSCOCO)",
    ]
    assert not (tmp_path / "two" / "reports" / "captions.json").exists()


def test_what_lacks_a_report_or_a_row_of_captions_is_refused(tmp_path):
    with pytest.raises(UserError, match="is missing; write it with: python -m genius.evaluation"):
        main([str(tmp_path)])
    file = tmp_path / "reports" / "retrieval.json"
    Report("", "", "", "", []).write(file)
    with pytest.raises(UserError, match="has no row from texts to images"):
        main([str(tmp_path)])
    file.write_text(json.dumps({"pools": []}))
    with pytest.raises(UserError, match="is not a report of this version"):
        main([str(tmp_path)])
