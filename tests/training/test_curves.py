import json

from genius.run import Run
from training.curves import CURVES, record_epoch


def curves(run: Run) -> dict:
    return json.loads((run.path / CURVES).read_text())


def test_epochs_are_added_stage_by_stage(tmp_path):
    run = Run(tmp_path)
    record_epoch(run, "encoder", 0, loss=2.0)
    record_epoch(run, "encoder", 1, loss=1.0)
    record_epoch(run, "decoder", 0, loss=3.0)
    assert curves(run) == {
        "encoder": [{"epoch": 0, "loss": 2.0}, {"epoch": 1, "loss": 1.0}],
        "decoder": [{"epoch": 0, "loss": 3.0}],
    }


def test_a_stage_that_starts_again_replaces_what_came_after(tmp_path):
    run = Run(tmp_path)
    for epoch in range(3):
        record_epoch(run, "encoder", epoch, loss=9.0)
    record_epoch(run, "encoder", 1, loss=1.0)
    assert [point["loss"] for point in curves(run)["encoder"]] == [9.0, 1.0]
