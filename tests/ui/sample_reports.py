"""Reports as commands write them, for tests of the page; every text of one of them would run if it
were markup.
"""

from dataclasses import replace
from pathlib import Path

from genius.reports import Axis, Column, Plot, Report, Series, Table
from training.stages.curves import curves_report, health_report

HOSTILE = "<img src=x onerror=alert(1)> %{x} </script>"
EPOCHS = [
    {"epoch": epoch, "loss": 2.0 / (epoch + 1), "validation hit@5": 0.3 + 0.1 * epoch, "seconds": 1}
    for epoch in range(3)
]
HEALTH = {
    "items": 9,
    "ids": 8,
    "levels": [{"level": 0, "codes": 3, "used": 2, "perplexity": 1.9}] * 2,
}
HEALTH |= {"modality_purity": 1.0, "largest_bucket": 2, "items_alone": 0.8}


def hits(pool: str, rate: float) -> tuple[Table, Plot]:
    columns = [Column("dataset"), Column("dense", "%", best="high"), Column("beam", "%")]
    estimate = (rate, rate - 0.05, rate + 0.05)
    table = Table(
        f"Hit rate, {pool}",
        columns,
        [[HOSTILE, estimate, None], ["photos", (0.3, 0.2, 0.4), 0.25]],
        HOSTILE,
    )
    names = ["Average", HOSTILE]
    series = [
        Series("dense", [rate, 0.3], names, [estimate[1:], None]),
        Series("paper: dense", [0.9], ["Average"]),
        Series(HOSTILE, [0.25], [HOSTILE], shown=False),
    ]
    return table, Plot(f"Hit rate, {pool}", "marks", Axis("hit rate", "%"), Axis(""), series)


def samples() -> dict[str, Report]:
    """Name of the file -> report."""
    parts = [hits("global pool", 0.5), hits("local pool", 0.6)]
    stages = [Series("encode", [20.0], ["dense"]), Series("scan", [25.6], ["dense"])]
    bars = Plot("Milliseconds", "bars", Axis("time", "ms"), Axis(""), stages)
    retrieval = Report(
        "Retrieval",
        f"How often.\n\n{HOSTILE}",
        f"python -m genius.evaluation '{HOSTILE}'",
        HOSTILE,
        [table for table, _ in parts],
        [*(plot for _, plot in parts), bars],
    )
    return {
        "retrieval": retrieval,
        "training": curves_report(dict.fromkeys(("encoder", "quantizer", "decoder"), EPOCHS)),
        "health": health_report(HEALTH, "version"),
        "zebras": replace(retrieval, title=HOSTILE, plots=[], tables=retrieval.tables[:1]),
    }


def write_reports(run: Path, *names: str) -> Path:
    """Write these reports of a run, or all; -> the run."""
    for name, report in samples().items():
        if not names or name in names:
            report.write(run / "reports" / f"{name}.json")
    return run
