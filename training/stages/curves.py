"""What training reports: learning curves after every epoch, and the health of the codes.

RUN/reports/training.json, .md    a table and plots for each stage that trains weights
RUN/reports/health.json, .md      how well IDs distinguish items, and the use of the codes
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from genius.evaluation.report import health_table
from genius.reports import Axis, Cell, Column, Plot, Report, Series, Table, program_version
from genius.run import Run
from training import NOTES
from training.distributed import is_main

CURVES, HEALTH = "reports/training.json", "reports/health.json"
# starts the name of a rate of validation queries; other figures are losses
VALIDATION = "validation "
LOG_RATIO = 100  # losses that differ by more are drawn on a logarithmic axis
COMMAND = "python -m training COLLECTION RUN"

Epoch = dict[str, float]


def record_epoch(
    run: Run, stage: str, epoch: int, figures: Epoch, started: float, pace: str
) -> None:
    """Print the figures of an epoch, and let the main process add them to the stage's curve in the
    report.

    Replaces this epoch and later ones of an earlier try. started: by `time.perf_counter`.
    """
    seconds = time.perf_counter() - started
    shown = [
        f"{name} {figure:{'.1%' if _is_rate(name) else '.4g'}}" for name, figure in figures.items()
    ]
    print(f"{stage} epoch {epoch}", *shown, f"{seconds:.0f} s, {pace}", sep="  ", flush=True)
    if is_main():
        curves = read_curves(run)
        before = [point for point in curves.get(stage, []) if point["epoch"] < epoch]
        point = {name: float(figure) for name, figure in figures.items()} | {"seconds": seconds}
        curves[stage] = [*before, {"epoch": epoch} | point]
        curves_report(curves).write(run.path / CURVES)


def read_curves(run: Run) -> dict[str, list[Epoch]]:
    """Stage -> {"epoch": 0, "loss": …, …} of each epoch, as it was recorded. Raises UserError for a
    foreign file.
    """
    file = run.path / CURVES
    curves: dict[str, Any] = {}
    for table in Report.load(file).tables if file.exists() else ():
        names = [column.name for column in table.columns]
        curves[table.title.lower()] = [dict(zip(names, row)) for row in table.rows]
    return curves


def curves_report(curves: Mapping[str, Sequence[Epoch]]) -> Report:
    """The report of all stages. It names no parts: while a stage learns, the run has those of the
    try before.
    """
    tables, plots, durations = [], [], []
    for stage, epochs in curves.items():
        title = stage.capitalize()
        names = list(epochs[0])
        rates = list(filter(_is_rate, names))
        losses = [name for name in names if name not in ("epoch", "seconds", *rates)]
        columns = [
            Column(name, "%", 2)
            if name in rates
            else Column(name, digits=1 if name == "seconds" else 4)
            for name in names
        ]
        tables.append(Table(title, columns, [list(epoch.values()) for epoch in epochs]))
        plots.append(
            _plot(f"{title}: loss", epochs, losses, Axis("loss", log=_differ(epochs, losses)))
        )
        if rates:
            plots.append(_plot(f"{title}: validation", epochs, rates, Axis("share", "%")))
        seconds = sum(epoch["seconds"] for epoch in epochs)
        durations.append(
            f"{stage}: {len(epochs)} epoch{'s' * (len(epochs) > 1)} in {seconds:,.0f} s"
        )
    note = f"{NOTES['curves']}\n\n{'; '.join(durations)}."
    return Report("Training", note, COMMAND, program_version(), tables, plots)


def _is_rate(name: str) -> bool:
    return name.startswith(VALIDATION)


def _differ(epochs: Sequence[Epoch], names: Sequence[str]) -> bool:
    """Whether losses differ so much that small ones would vanish on a linear axis."""
    positive = [epoch[name] for epoch in epochs for name in names if epoch[name] > 0]
    return bool(positive) and max(positive) > LOG_RATIO * min(positive)


def _plot(title: str, epochs: Sequence[Epoch], names: Sequence[str], axis: Axis) -> Plot:
    points = [float(epoch["epoch"]) for epoch in epochs]
    series = [
        Series(name.removeprefix(VALIDATION), points, [epoch[name] for epoch in epochs])
        for name in names
    ]
    return Plot(title, "lines", Axis("epoch"), axis, series)


def health_report(health: Mapping[str, Any], version: str) -> Report:
    """health: of `table_health`, and the hit rates on validation queries."""
    rows: list[list[Cell]] = [
        [name.replace("_", " "), value] for name, value in health.items() if name != "levels"
    ]
    ids = Table("IDs", [Column("figure"), Column("value", digits=4)], rows)
    alone = f"{100 * health['items_alone']:.1f} % of the items have an ID of their own"
    note = f"{NOTES['health_lead']}\n\n{NOTES['health']}"
    return Report("Codes", note, COMMAND, version, [ids, health_table(health)], headline=alone)
