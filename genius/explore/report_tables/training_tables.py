"""What training recorded, as tables of strings: losses and validation by epoch, and the use of the codes."""

from __future__ import annotations

from collections.abc import Sequence

from genius.evaluation.tables import decimals, percent
from genius.explore.report_tables.report_data import Report, Table

STAGES = ("encoder", "quantizer", "decoder")  # training stages with epochs
NOT_METRICS = ("epoch", "seconds")


def training_note(report: Report) -> str:
    """The epochs and the duration of each stage."""
    known = [(stage, epochs) for stage, epochs in report.items() if epochs]
    if not known:
        raise ValueError("no stage has an epoch")
    return (
        "; ".join(
            f"{stage}: {len(epochs)} epoch{'s' * (len(epochs) > 1)} in {_duration(epochs)}" for stage, epochs in known
        )
        + "."
    )


def metrics(epochs: Sequence[Report]) -> list[str]:
    """The names of a stage's metrics, losses first."""
    names = dict.fromkeys(
        name
        for epoch in epochs
        for name, value in epoch.items()
        if name not in NOT_METRICS and isinstance(value, int | float)
    )
    return sorted(names, key=is_validation)


def is_validation(metric: str) -> bool:
    """Whether a metric is a rate on validation queries; otherwise it is a loss."""
    return metric.startswith("val_")


def metric_name(metric: str) -> str:
    """val_hit_at_5 -> hit@5."""
    return metric.removeprefix("val_").replace("_at_", "@").replace("_", " ")


def training_tables(report: Report, choice: str | None = None) -> list[Table]:
    """A table for each stage, a row for each epoch."""
    return [
        Table(
            stage.capitalize(),
            (
                "Epoch",
                *(("validation " * is_validation(name)) + metric_name(name) for name in metrics(epochs)),
                "Seconds",
            ),
            [
                [
                    str(epoch["epoch"]),
                    *(decimals(epoch.get(name), 4) for name in metrics(epochs)),
                    decimals(epoch.get("seconds"), 1),
                ]
                for epoch in epochs
            ],
        )
        for stage, epochs in report.items()
        if epochs
    ]


def health_note(health: Report) -> str:
    """How well IDs distinguish items, and the cost of quantization."""
    note = (
        f"{percent(health['items_alone'])} % of {health['items']:,} training items have an ID of their own; "
        f"the largest bucket has {health['largest_bucket']:,} items."
    )
    if "val_hit_at_5_quantized" in health:
        note += (
            f" Validation hit@5 is {percent(health['val_hit_at_5'])} % with features and "
            f"{percent(health['val_hit_at_5_quantized'])} % with quantized vectors."
        )
    return note


def health_tables(health: Report, choice: str | None = None) -> list[Table]:
    """Use of the codes at each level."""
    return [
        Table(
            "Use of the codes",
            ("Level", "Codes", "Used", "Effective codes"),
            [
                [str(level["level"]), f"{level['codes']:,}", f"{level['used']:,}", f"{level['perplexity']:.1f}"]
                for level in health["levels"]
            ],
        )
    ]


def _duration(epochs: Sequence[Report]) -> str:
    seconds = sum(epoch.get("seconds", 0) for epoch in epochs)
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
