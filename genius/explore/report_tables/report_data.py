"""The reports of a run. The other modules of this folder turn each of them into tables of strings:

    RUN/reports/retrieval.json    python -m genius.evaluation RUN                              retrieval_tables.py
    RUN/reports/speed.json        python -m genius.evaluation.speed RUN/reports --run RUN      speed_tables.py
    RUN/reports/training.json     {stage: [{"epoch", "loss", …}, …]}, written by training      training_tables.py
    RUN/reports/health.json       written by the quantizer's training                          training_tables.py
    RUN/reports/ablations.json    python -m training.ablations COLLECTION RUN                  ablation_tables.py
    RUN/reports/encoders.json     python -m training.benchmarks.encoders COLLECTION RUN        ablation_tables.py
    RUN/reports/captions.json     python -m genius.evaluation.caption_table RUN                paper_tables.py
    RUN/reports/shared_codes.json python -m genius.evaluation.shared_codes RUN                 paper_tables.py
    RUN/reports/throughput.json   python -m genius.evaluation.speed.throughput RUN             paper_tables.py
    RUN/reports/uploads.json      python -m training.benchmarks.uploads RUN $GENIUS_DATA       uploads_tables.py
    RUN/reports/hostile.json      python -m training.benchmarks.hostile RUN/reports            hostile_tables.py

Each of them is optional.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from genius.errors import UserError
from genius.evaluation.tables import UNKNOWN
from genius.reading import one_line, read_json

Drawn = TypeVar("Drawn")
Report = dict[str, Any]

COMMANDS = {  # report -> command that writes it
    "retrieval": "python -m genius.evaluation {run}",
    "speed": "python -m genius.evaluation.speed {run}/reports --run {run}",
    "training": "python -m training COLLECTION {run}",
    "health": "python -m training COLLECTION {run}",
    "ablations": "python -m training.ablations COLLECTION {run}",
    "captions": "python -m genius.evaluation.caption_table {run}",
    "shared_codes": "python -m genius.evaluation.shared_codes {run}",
    "throughput": "python -m genius.evaluation.speed.throughput {run}",
    "encoders": "python -m training.benchmarks.encoders COLLECTION {run}",
    "uploads": "python -m training.benchmarks.uploads {run} $GENIUS_DATA",
    "hostile": "python -m training.benchmarks.hostile {run}/reports",
}
WRONG_LAYOUT = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Table:
    """A table of strings; the first `words` columns are text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    words: int = 1


@dataclass(frozen=True)
class Missing:
    """Why there is nothing to show, and the command that helps."""

    reason: str
    command: str


def report_file(run: Path, name: str) -> Path:
    return run / "reports" / f"{name}.json"


def read_report(run: Path, name: str) -> Report | None:
    """A report of a run, or None. Raises UserError if the file is not a JSON object."""
    file = report_file(run, name)
    try:
        report = read_json(file)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error)})") from None
    if not isinstance(report, dict):
        raise UserError(f"{file} is not a report")
    return report


def from_report(run: Path, name: str, draw: Callable[[Report], Drawn]) -> Drawn | Missing:
    """The result of `draw` for a report, or Missing if there is no report that this version can read."""
    run = Path(os.path.relpath(run))  # do not show visitors the absolute path on the server
    command = COMMANDS[name].format(run=run)
    try:
        report = read_report(run, name)
        return (
            Missing("This has not been measured for this run yet. The command is:", command)
            if report is None
            else draw(report)
        )
    except UserError as error:
        return Missing(f"{error}; create it again:", command)
    except WRONG_LAYOUT:
        return Missing(f"{run / 'reports' / name}.json was written by another version; create it again:", command)


def decoder_dtype_note(report: Report) -> str:
    """Arithmetic of the decoder in modes set and fast; reports from before it was a setting lack it."""
    return f", decoder in {report['decoder_dtype']}" if "decoder_dtype" in report else ""


def shown_milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,.2f}"
