"""Reports that stand beside the paper's tables and figures, as tables of strings.

RUN/reports/captions.json    python -m genius.evaluation.caption_table RUN
"""

from __future__ import annotations

from genius.evaluation.caption_table import cells
from genius.explore.report_data import Report, Table


def captions_note(report: Report) -> str:
    """What the rates are of, and how many lines are ours."""
    ours = sum(not line["paper"] for line in report["lines"])
    return f"{report['note']} Ours: {ours} lines. Command: {report['command']}"


def captions_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Table 3 and its supplement's Table 7, with ours below."""
    lines = [cells(line) for line in report["lines"]]
    columns = [name.capitalize() if name.islower() else name for name in lines[0]]
    return [Table("Recall in percent", tuple(columns), [list(line.values()) for line in lines], words=4)]
