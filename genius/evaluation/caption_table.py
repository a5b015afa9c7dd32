"""Captions → images at 1, 5 and 10: the paper's Table 3 and its supplement's Table 7, with runs of ours below.

    python -m genius.evaluation RUN              # for each of the runs, first; or python -m training.transfer
    python -m genius.evaluation.caption_table RUN [RUN …]

Reads the retrieval reports of the runs, and writes RUN/reports/captions.json and .md of the first one. Every row from
texts to images is taken in its local pool. Flickr8k stands in for Flickr30K, and any set whose name ends with mscoco
for MSCOCO, where they are not the sets themselves; both are then called by their own names.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_line, command_parser
from genius.evaluation.paper_captions import FLICKR, MSCOCO, PUBLISHED
from genius.evaluation.paper_comparison import compared_items
from genius.evaluation.tables import between, percent, table
from genius.files import write_report
from genius.metrics.hit_rate import wilson_interval
from genius.reading import read_json
from genius.run import RecordedSettings, Run

CUTS = ("1", "5", "10")
TASK = 0  # texts to images
SYSTEMS = {
    "dense": "dense search, the same encoder",
    "beam": "GENIUS",
    "beam + re-rank": "GENIUS + re-rank",
    "fast + ranker": "GENIUS, fast + ranker (ours)",
}
NOTE = (
    "Recall at 1, 5 and 10 in percent, which is the hit rate, of captions among the images of their own set. The "
    "paper's figures are of the real sets, with CLIP ViT-L/14; ours are of the sets that are named, so differences "
    "between methods can be compared, and rates cannot. † trained on another collection."
)

Line = dict[str, Any]


def published_lines() -> list[Line]:
    """Every line of the supplement's Table 7, and of Table 3 where it prints other figures."""
    return [
        {"set": name, "of": name, "method": one.method, "trained": one.trained, "paper": True}
        | {"unseen": one.zero_shot, "rates": [rate / 100 for rate in one.rates], "queries": None, "candidates": None}
        for name, lines in PUBLISHED.items()
        for one in lines
    ]


def run_lines(path: Path) -> list[Line]:
    """A line for each row from texts to images and each system that its report has.

    Raises UserError if the run has no readable report, or no such row.
    """
    file = path / "reports" / "retrieval.json"
    try:
        report = read_json(file)
        items = compared_items(report)
        rows = [
            row
            for pool in report["pools"]
            if (pool["scope"], pool["items"]) == ("local", items)
            for row in pool["rows"]
            if row["task"] == TASK
        ]
        lines = [_line(row, system, method, path, report) for row in rows for system, method in SYSTEMS.items()]
    except FileNotFoundError:
        raise UserError(f"{file} is missing; write it with: python -m genius.evaluation {path}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(
            f"{file} is not a report of this version; write it with: python -m genius.evaluation {path}"
        ) from None
    if not lines:
        raise UserError(f"{file} has no row from texts to images")
    return [line for line in lines if line]


def _line(row: Line, system: str, method: str, path: Path, report: Line) -> Line | None:
    if system not in row["systems"]:
        return None
    rates = [row["systems"][system]["hit"][cut] for cut in CUTS]
    unseen = report.get("trained_on", "")
    return {
        "set": row["dataset"],
        "of": stands_for(row["dataset"]),
        "method": method,
        "trained": unseen or trained_on(Run(path).settings, report["collection"]),
        "paper": False,
        "unseen": bool(unseen),
        "rates": rates,
        "intervals": [list(wilson_interval(round(rate * row["queries"]), row["queries"])) for rate in rates],
        "queries": row["queries"],
        "candidates": row["candidates"],
    }


def stands_for(dataset: str) -> str:
    """The paper's set that a dataset is, or stands in for; empty if it is like neither."""
    if "flickr" in dataset:
        return FLICKR
    return MSCOCO if dataset.endswith(("mscoco", "coco")) else ""


def trained_on(settings: RecordedSettings, collection: str) -> str:
    """The collection, and the benchmark rows that the stages of training were limited to."""
    stages = {"encoder": settings.encoder, "quantizer": settings.quantizer, "decoder": settings.decoder}
    limits = {name: " and ".join(stage.rows) for name, stage in stages.items() if stage.rows}
    if len(limits) == 3 and len(set(limits.values())) == 1:
        return f"{collection}, {limits['encoder']} alone"
    return ", ".join([collection, *(f"the {stage} on {rows} alone" for stage, rows in limits.items())])


def ordered(lines: Sequence[Line]) -> list[Line]:
    """The paper's lines of a set, then ours of it and of those that stand in for it; others at the end."""
    names = [*PUBLISHED, ""]
    return sorted(lines, key=lambda line: (names.index(line["of"]), not line["paper"]))


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


def markdown(report: Line) -> str:
    return (
        "\n\n".join(
            [
                "# Captions → images",
                f"`{report['command']}`",
                report["note"],
                table([cells(line) for line in report["lines"]], text_columns=4),
            ]
        )
        + "\n"
    )


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.caption_table", __doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="runs with a retrieval report")
    options = parser.parse_args(arguments)
    report = {
        "command": command_line("genius.evaluation.caption_table", arguments),
        "note": NOTE,
        "lines": ordered([*published_lines(), *(line for run in options.runs for line in run_lines(run))]),
    }
    write_report(options.runs[0] / "reports" / "captions", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
