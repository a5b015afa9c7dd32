"""Reports that stand beside the paper's tables and figures, as tables of strings.

RUN/reports/captions.json      python -m genius.evaluation.caption_table RUN
RUN/reports/throughput.json    python -m genius.evaluation.speed.throughput RUN
"""

from __future__ import annotations

from genius.evaluation.speed import throughput
from genius.evaluation.tables import UNKNOWN, between, percent
from genius.explore.report_tables.report_data import Report, Table

FLICKR, MSCOCO = "Flickr30K", "MSCOCO"
CUTS = ("1", "5", "10")
Line = Report

SHARED_NOTE = (
    "A couple is an image and one of its captions, both candidates of the index, as the collection's queries from "
    "images to texts know them; the pair is that picture and that text, encoded together as a candidate. The first "
    "code, the modality, is not compared. In brackets: what is expected if the images of a dataset are coupled with "
    "its captions at random."
)
ELSEWHERE = (
    "Each item is guessed to be what its code at that level mostly is in another dataset. In brackets: what is right "
    "of the same items if the guess is always the other dataset's commonest value."
)


def agreement_rows(report: Report, figure: str = "same") -> list[dict[str, str]]:
    """A row for each two sides and dataset; figure: same, or same_so_far."""
    chance = figure.replace("same", "by_chance")
    return [
        {
            "compared": f"{one['first']} and {one['second']}",
            "dataset": one["dataset"] or "all",
            "couples": f"{one['couples']:,}",
        }
        | {f"level {level['level']}": f"{percent(level[figure])} ({percent(level[chance])})" for level in one["levels"]}
        for one in report["agreement"]
    ]


def elsewhere_rows(report: Report) -> list[dict[str, str]]:
    """A row for each factor."""
    return [
        {"factor": one["factor"], "items": f"{one['items']:,}"}
        | {
            f"level {level['level']}": f"{percent(level['right'])} ({percent(level['without_codes'])})"
            if level["pairs"]
            else UNKNOWN
            for level in one["levels"]
        }
        for one in report["elsewhere"]
    ]


def cells(line: Line) -> dict[str, str]:
    """The line as strings, for a table."""
    name = line["set"]
    if not line["paper"] and line["of"] and name not in (FLICKR.lower(), MSCOCO.lower()):
        name += f" (stands in for {line['of']})"
    found = {
        "set": name,
        "method": line["method"],
        "trained on": line["trained"] + " †" * line["unseen"],
        "": "paper" if line["paper"] else "here",
    }
    for at, cut in enumerate(CUTS):
        rate = line["rates"][at]
        found[f"R@{cut}"] = between(rate, *line["intervals"][at]) if "intervals" in line else percent(rate)
    return found | {
        "queries among images": f"{line['queries']:,} among {line['candidates']:,}" if line["queries"] else ""
    }


def captions_note(report: Report) -> str:
    """What the rates are of, and how many lines are ours."""
    ours = sum(not line["paper"] for line in report["lines"])
    return f"{report['note']} Ours: {ours} lines. Command: {report['command']}"


def captions_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Table 3 and its supplement's Table 7, with ours below."""
    lines = [cells(line) for line in report["lines"]]
    columns = [name.capitalize() if name.islower() else name for name in lines[0]]
    return [Table("Recall in percent", tuple(columns), [list(line.values()) for line in lines], words=4)]


def throughput_note(report: Report) -> str:
    """What was measured, on which machine."""
    return f"{throughput.note(report)} Command: {report['command']}"


def throughput_points(report: Report) -> dict[str, dict[int, float]]:
    """System -> number of candidates -> queries per second."""
    points: dict[str, dict[int, float]] = {}
    for cell in report["cells"]:
        points.setdefault(cell["system"], {})[cell["items"]] = cell["per_second"]
    return {system: dict(sorted(found.items())) for system, found in points.items()}


def throughput_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Figure 4 as a table."""
    rows = throughput.rows(report)
    return [Table("Queries per second by number of candidates", tuple(rows[0]), [list(row.values()) for row in rows])]


def shared_note(report: Report) -> str:
    """What is compared."""
    return f"{report['couples']:,} couples of {report['collection']}. {SHARED_NOTE} Command: {report['command']}"


def shared_tables(report: Report, choice: str | None = None) -> list[Table]:
    """The paper's Figure 3 and its supplement's Figures 2 to 4, counted."""
    parts = [
        ("The same code at a level, in percent", agreement_rows(report), 2),
        ("The same codes at every level from 1 to this one, in percent", agreement_rows(report, "same_so_far"), 2),
        (f"What a code means in another dataset, in percent. {ELSEWHERE}", elsewhere_rows(report), 1),
    ]
    return [
        Table(title, tuple(name.capitalize() for name in rows[0]), [list(row.values()) for row in rows], words=words)
        for title, rows, words in parts
        if rows
    ]
