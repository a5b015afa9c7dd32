import json
import os
from pathlib import Path

import pytest

from genius.errors import UserError
from genius.explore.report_tables.ablation_tables import ablation_choices, ablation_note, ablation_tables, encoder_note
from genius.explore.report_tables.hostile_tables import hostile_note, hostile_tables
from genius.explore.report_tables.paper_tables import (
    captions_note,
    captions_tables,
    shared_note,
    shared_tables,
    throughput_note,
    throughput_tables,
)
from genius.explore.report_tables.report_data import COMMANDS, Missing, from_report, read_report
from genius.explore.report_tables.retrieval_tables import (
    hit_tables,
    pool_names,
    retrieval_note,
    times_note,
    times_table,
)
from genius.explore.report_tables.speed_tables import speed_cells, speed_choices, speed_note, speed_tables
from genius.explore.report_tables.training_tables import (
    health_note,
    health_tables,
    metric_name,
    metrics,
    training_note,
    training_tables,
)
from genius.explore.report_tables.uploads_tables import uploads_note, uploads_tables
from tests.explore.report_tables.sample_reports import (
    HEALTH,
    HOSTILE,
    HOSTILE_SUITE,
    REPORTS,
    RETRIEVAL,
    SPEED,
    TRAINING,
    UPLOADS,
    write_reports,
)

DEMO = Path(__file__).parents[3] / "assets" / "demo"
GLOBAL, LOCAL = "Global pool, test items", "Local pool, test items"
VIEWS = {
    "retrieval": (retrieval_note, pool_names, times_note),
    "speed": (speed_note, speed_choices),
    "training": (training_note,),
    "health": (health_note,),
    "uploads": (uploads_note,),
    "hostile": (hostile_note,),
    "ablations": (ablation_note, ablation_choices),
    "captions": (captions_note,),
    "throughput": (throughput_note,),
    "shared_codes": (shared_note,),
    "encoders": (encoder_note, ablation_choices),
}

TABLES = {
    "retrieval": lambda report, pool: hit_tables(report, pool) + times_table(report, pool),
    "speed": speed_tables,
    "training": training_tables,
    "health": health_tables,
    "uploads": uploads_tables,
    "hostile": hostile_tables,
    "ablations": ablation_tables,
    "captions": captions_tables,
    "throughput": throughput_tables,
    "shared_codes": shared_tables,
    "encoders": ablation_tables,
}


def whole(table) -> bool:
    return all(len(row) == len(table.columns) and all(isinstance(cell, str) for cell in row) for row in table.rows)


def test_a_report_is_read_as_it_was_written_and_a_missing_one_is_none(tmp_path):
    write_reports(tmp_path, "health")
    assert read_report(tmp_path, "health") == HEALTH
    assert read_report(tmp_path, "speed") is None


@pytest.mark.parametrize("text", ["{", "[]", "null"])
def test_an_invalid_report_file_is_named(tmp_path, text):
    file = write_reports(tmp_path, "health") / "reports" / "health.json"
    file.write_text(text)
    with pytest.raises(UserError, match="health.json"):
        read_report(tmp_path, "health")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_missing_damaged_or_strange_report_names_the_command_that_makes_it(tmp_path, name):
    file = write_reports(tmp_path, name) / "reports" / f"{name}.json"

    def shown():
        return from_report(tmp_path, name, lambda report: [view(report) for view in VIEWS[name]])

    assert len(shown()) == len(VIEWS[name])
    for spoil in (
        lambda: file.write_text("{"),
        lambda: file.write_text("{}"),
        lambda: file.write_text(json.dumps(dict.fromkeys(REPORTS[name], "x"))),
        file.unlink,
    ):
        spoil()
        missing = shown()
        assert isinstance(missing, Missing) and missing.command.startswith("python -m ")
        assert name == "training" or name == "health" or os.path.relpath(tmp_path) in missing.command


def test_uploads_have_a_table_of_answers_of_similar_pictures_and_of_far_ones():
    answers, similar, far = tables = uploads_tables(UPLOADS)
    assert all(map(whole, tables))
    assert answers.rows == [
        ["What is this?", "as the page answers", "40.0 [35.0, 45.0]", "70.0 [65.0, 75.0]", "80.0 [75.0, 85.0]"]
    ]
    assert similar.rows == [["fashion", "Casual Shoes", "shoes", "20", "50.0", "90.0", "100.0"]]
    assert far.rows == [["noise", "100", "100.0"]]
    assert "200 photographs" in uploads_note(UPLOADS)


def test_hostile_testing_has_a_row_for_each_class_and_a_column_for_each_outcome():
    attempts, figures, files = tables = hostile_tables(HOSTILE_SUITE)
    assert all(map(whole, tables))
    assert attempts.columns[5:] == ("refused in a sentence", "answered")
    assert attempts.rows == [
        ["inputs", "12", "1", "0", "62", "1,200", "34"],
        ["load", "2", "0", "1", "400", "0", "10,000"],
    ]
    assert figures.rows == [["load", "searches", "10,000"], ["load", "p99, ms", "812.50"]]  # not the curve
    assert files.rows == [["inputs/test_uploads.py", "0123abcd", "12", "1", "1,234", "62", "40"]]
    note = hostile_note(HOSTILE_SUITE)
    assert "11,234 attempts" in note and "1 of which" in note and "Not run: load/test_swaps.py. " in note
    assert "Not run" not in hostile_note(HOSTILE_SUITE | {"not_run": []})


def test_hit_rates_have_a_row_for_each_dataset_and_one_for_the_average():
    assert pool_names(RETRIEVAL) == [GLOBAL, LOCAL]
    by_row, ladder, cuts, differences = tables = hit_tables(RETRIEVAL, GLOBAL)
    assert all(map(whole, tables))
    assert by_row.columns == ("Task", "Dataset", "Queries", "dense", "beam", "beam + re-rank", "fast + re-rank")
    assert by_row.rows[0][:4] == ["0 text → image", "drawn", "1,190", "50.0 [45.0, 55.0]"]
    assert by_row.rows[1][1] == f"{HOSTILE} (hit@10)" and by_row.rows[-1][0] == "Average"
    assert ladder.columns == ("Task", "Dataset", "dense", "beam + re-rank", "fast + re-rank")
    assert ladder.rows[0] == ["0 text → image", "drawn", "50.0", "60.0", "55.0"] and ladder.rows[-1][0] == "Average"
    assert cuts.rows[2] == ["beam + re-rank", "30.0", "60.0", "70.0", "80.0", "120.0"]
    assert hit_tables(RETRIEVAL, LOCAL)[0].rows[0][3] == "60.0 [55.0, 65.0]"
    assert differences.rows == [["beam + re-rank − dense", "10.0 [2.0, 18.0]"]]
    with pytest.raises(KeyError):
        hit_tables(RETRIEVAL, "Other pool")


def test_the_retrieval_note_counts_queries_and_names_the_command():
    note = retrieval_note(RETRIEVAL)
    for words in (
        "1,280 test queries in 2 rows of the world of seed 0",
        "12,663 items",
        "50 beams",
        "python -m genius.evaluation RUN",
    ):
        assert words in note


def test_the_notes_name_the_arithmetic_of_the_decoder_where_a_report_records_it():
    for report, note in ((RETRIEVAL, retrieval_note), (SPEED, speed_note)):
        assert "decoder in" not in note(report)
        assert "50 beams, decoder in bfloat16" in note(report | {"decoder_dtype": "bfloat16"})


def test_times_are_by_stage_with_a_total():
    (table,) = times_table(RETRIEVAL, GLOBAL)
    assert whole(table) and table.rows[0] == ["dense", "5.00", "–", "1.00", "–", "–", "–", "6.00"]
    assert table.rows[1][-1] == "45.60"


def test_speed_is_chosen_by_kind_of_ids_and_batch_and_ordered_by_size():
    assert speed_choices(SPEED) == [
        "uniform IDs, batch 1",
        "uniform IDs, batch 32",
        "realistic IDs, batch 1",
        "realistic IDs, batch 32",
    ]
    cells = speed_cells(SPEED, "uniform IDs, batch 32")
    assert list(cells["set"].items()) == [(10_000, 641.0), (100_000, 650.0)] and list(cells["generate"]) == [10_000]
    growth, equal = tables = speed_tables(SPEED, "uniform IDs, batch 32")
    assert all(map(whole, tables)) and growth.columns == ("System", "10,000", "100,000")
    assert ["generate", "19,201.00", "–"] in growth.rows
    assert equal.rows == [["set + re-rank", "16.9", "22.60", "10.00", "528"]]


def test_a_benchmark_without_a_trained_run_has_no_second_table():
    plain = {key: value for key, value in SPEED.items() if key != "equal"}
    assert len(speed_tables(plain, "uniform IDs, batch 1")) == 1
    assert speed_tables(plain | {"cells": []}, None) == []


def test_metrics_of_a_stage_are_all_that_any_epoch_measured_losses_first():
    assert metrics(TRAINING["quantizer"]) == ["contrastive", "quantization", "val_hit_at_5"]
    assert metrics(TRAINING["decoder"]) == ["loss", "val_recall", "val_recall_by_geometry"]
    assert metric_name("val_hit_at_5_quantized") == "hit@5 quantized"


def test_training_has_a_table_for_each_stage_with_a_row_for_each_epoch():
    tables = training_tables(TRAINING)
    assert all(map(whole, tables)) and [table.title for table in tables] == ["Encoder", "Quantizer", "Decoder"]
    assert tables[0].columns == ("Epoch", "loss", "validation hit@1", "validation hit@5", "Seconds")
    assert tables[2].rows == [["0", "2.4000", "–", "–", "7.9"], ["1", "2.0000", "0.6600", "0.6000", "7.1"]]
    assert training_note(TRAINING) == (
        "encoder: 2 epochs in 3 min; quantizer: 1 epoch in 3 s; decoder: 2 epochs in 15 s."
    )


def test_health_shows_the_use_of_codes_and_the_cost_of_quantizing():
    (table,) = health_tables(HEALTH)
    assert whole(table) and table.rows[1] == ["1", "256", "250", "224.8"]
    note = health_note(HEALTH)
    assert "99.9 % of 43,728 training items" in note and "68.0 % with features" in note and "67.6 %" in note
    assert "Validation" not in health_note({key: HEALTH[key] for key in HEALTH if "val" not in key})


@pytest.mark.parametrize("name", [file.stem for file in sorted((DEMO / "reports").glob("*.json"))])
def test_the_shipped_reports_can_be_shown(name):
    shown = from_report(DEMO, name, lambda report: [view(report) for view in VIEWS[name]])
    assert not isinstance(shown, Missing)
    report = read_report(DEMO, name)
    for choice in pool_names(report) if name == "retrieval" else [None]:
        for table in TABLES[name](report, choice):
            assert table.rows and whole(table)
