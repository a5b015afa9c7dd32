"""What each epoch came to, kept in RUN/reports/training.json for the explorer's Reports."""

from __future__ import annotations

import json

from genius.files import write_json
from genius.run import Run

CURVES = "reports/training.json"  # {"stage": [{"epoch": 0, "loss": …, …}, …], …}


def record_epoch(run: Run, stage: str, epoch: int, **figures: float) -> None:
    """Add an epoch to a stage's curve; it replaces this epoch, and those after it, of an earlier attempt."""
    file = run.path / CURVES
    curves = json.loads(file.read_text()) if file.is_file() else {}
    before = [point for point in curves.get(stage, []) if point["epoch"] < epoch]
    curves[stage] = [*before, {"epoch": epoch} | {name: float(figure) for name, figure in figures.items()}]
    write_json(file, curves)
