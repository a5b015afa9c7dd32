"""The report of the speed benchmark as tables of strings."""

from __future__ import annotations

from genius.evaluation.tables import percent
from genius.explore.report_tables.report_data import Report, Table, decoder_dtype_note, shown_milliseconds


def speed_note(report: Report) -> str:
    """What was measured, on which machine."""
    machine = report["machine"]
    return (
        f"Search only, medians; {report['beams']} beams{decoder_dtype_note(report)}. Uniform IDs: a decoder of the "
        f"paper’s size; realistic IDs: the run’s own. {machine['processor']}, {machine['threads']} threads"
        + f", {machine['gpu']}" * bool(machine["gpu"])
        + f". Command: {report['command']}"
    )


def speed_choices(report: Report) -> list[str]:
    """The measured combinations of ID distribution and batch size."""
    return list(dict.fromkeys(_measured(cell) for cell in report["cells"]))


def speed_cells(report: Report, choice: str | None) -> dict[str, dict[int, float]]:
    """System -> number of items -> median milliseconds per query."""
    medians: dict[str, dict[int, float]] = {}
    for cell in report["cells"]:
        if _measured(cell) == choice:
            medians.setdefault(cell["system"], {})[cell["items"]] = cell["milliseconds"]["median"]
    return {system: dict(sorted(by_items.items())) for system, by_items in medians.items()}


def speed_tables(report: Report, choice: str | None) -> list[Table]:
    """Times by number of items and, if a trained run was measured, its times and hit rate."""
    tables, cells = [], speed_cells(report, choice)
    if cells:
        sizes = sorted({items for by_items in cells.values() for items in by_items})
        tables.append(
            Table(
                f"Milliseconds per query by number of items: {choice}",
                ("System", *(f"{items:,}" for items in sizes)),
                [
                    [system, *(shown_milliseconds(by_items.get(items)) for items in sizes)]
                    for system, by_items in cells.items()
                ],
            )
        )
    if equal := report.get("equal"):
        tables.append(
            Table(
                f"This run’s own queries: {equal['queries']:,} among {equal['items']:,} items",
                (
                    "System",
                    f"hit@{equal['cut']}, %",
                    *(f"ms, batch {size}" for size in equal["batches"]),
                    "Bytes per item",
                ),
                [
                    [
                        one["system"],
                        percent(one["hit_rate"]),
                        *(shown_milliseconds(one["milliseconds"][str(size)]["median"]) for size in equal["batches"]),
                        f"{one['bytes_per_item']:,.0f}",
                    ]
                    for one in equal["systems"]
                ],
            )
        )
    return tables


def _measured(cell: Report) -> str:
    return f"{cell['ids']} IDs, batch {cell['batch']}"
