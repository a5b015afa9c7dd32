"""The reports of the ablations and of the encoders as tables of strings.

RUN/reports/ablations.json (training.ablations) and encoders.json (training.benchmarks.encoders) have one form.
"""

from __future__ import annotations

from typing import Any

from genius.evaluation.tables import UNKNOWN, between, percent
from genius.explore.report_tables.report_data import Report, Table

CLAIMS = "What the paper says"


def ablation_note(report: Report) -> str:
    """What was trained at which size, on which rows."""
    return (
        f"{report['size']} Every variant shares encoder and features with the run. The paper’s figures are of other "
        "data and far larger models, so differences between rows can be compared, and hit rates cannot. Stand-ins "
        f"for the paper’s columns: {'; '.join(report['standing'])}. Brackets are 95 % confidence intervals. "
        f"Command: {report['command']}"
    )


def encoder_note(report: Report) -> str:
    """What was trained at which size."""
    return (
        f"{report['size']} The paper’s figures are of M-BEIR and far larger models, so encoders can be compared with "
        "each other, and hit rates cannot. Brackets are 95 % confidence intervals of the queries, for one training. "
        f"Command: {report['command']}"
    )


def ablation_choices(report: Report) -> list[str]:
    """Every table, and the claims if there are any: last, because the first choice is shown, and they have no plot."""
    return [_name(table) for table in report["tables"]] + [CLAIMS] * bool(report["claims"])


def chosen_table(report: Report, choice: str | None) -> dict[str, Any] | None:
    """The table of this name; None for the claims."""
    return next((table for table in report["tables"] if _name(table) == choice), None)


def ablation_tables(report: Report, choice: str | None) -> list[Table]:
    """The blocks of a table, or the claims, by block."""
    chosen = chosen_table(report, choice)
    if chosen is not None:
        return [_block(chosen, block) for block in chosen["blocks"]]
    names = {block["block"]: block["name"] for table in report["tables"] for block in table["blocks"]}
    columns = ("Claim of the paper", "Here", "Difference, points")
    return [
        Table(
            f"{name}. Whether each claim holds, with 95 % intervals",
            columns,
            [[one["claim"], one["verdict"], one["difference"]] for one in report["claims"] if one["block"] == block],
            words=2,
        )
        for block, name in names.items()
        if any(one["block"] == block for one in report["claims"])
    ]


def _block(table: dict[str, Any], block: dict[str, Any]) -> Table:
    """A column of the paper stands before ours where it prints a figure for any row."""
    rows = block["rows"]
    printed = [
        any(row["cells"][at] and row["cells"][at]["published"] is not None for row in rows)
        for at in range(len(table["columns"]))
    ]
    columns = [table.get("first_column", "Variant")]
    for name, known in zip(table["columns"], printed, strict=True):
        columns += [f"paper: {name}"] * known + [name]
    extras = list(rows[0]["extras"])
    lines = []
    for row in rows:
        line = [row["name"]]
        for cell, known in zip(row["cells"], printed, strict=True):
            line += [percent(cell and cell["published"])] * known + [_shown(cell)]
        lines.append([*line, *(row["extras"].get(name, UNKNOWN) for name in extras)])
    return Table(f"{_name(table)}. {block['name']}. Percent", (*columns, *extras), lines)


def _shown(cell: dict[str, Any] | None) -> str:
    return UNKNOWN if cell is None else between(cell["mean"], *cell["interval"])


def _name(table: dict[str, Any]) -> str:
    return f"{table['name']}: {table['title']}"
