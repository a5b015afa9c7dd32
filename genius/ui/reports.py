"""The Reports tab: every report of the run, as plots and tables. A new report needs no change
here.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.reports import COMMANDS, Report
from genius.ui.common.context import Context, Panel
from genius.ui.figures import draw
from genius.ui.look import File, NotFound

# Of known reports; others come after them, by name
ORDER = (
    "retrieval",
    "worth",
    "right_kind",
    "match",
    "uploads",
    "captions",
    "speed",
    "training",
    "health",
    "ablations",
)
FILE_NAME = re.compile(r"[\w-]{1,80}", re.ASCII)  # of a report, without its suffix

Version = tuple[int, int] | None  # when a report was written, and its size; None: there is none


def panel(context: Context) -> Panel:
    """Reports are read when they are looked at, as they may be written meanwhile."""
    run = context.served.path

    def on_reports() -> list[Mapping[str, Any]]:
        """A section for each report."""
        return sections(run)

    def on_report(name: str) -> File:
        """A report, to be saved as Markdown."""
        try:
            if FILE_NAME.fullmatch(name):
                text = Report.load(run / "reports" / f"{name}.json").to_markdown()
                return File(text.encode(), "text/markdown; charset=utf-8", f"{name}.md")
        except (FileNotFoundError, UserError):
            pass
        raise NotFound("There is no such report.")

    return Panel({"reports": on_reports, "reports/{name}": on_report}, prepare=[on_reports])


def sections(run: Path) -> list[Mapping[str, Any]]:
    """A section for each report of a run, also for those that it lacks though their command is
    known.
    """
    files = (run / "reports").glob("*.json")
    present = {file.stem for file in files if FILE_NAME.fullmatch(file.stem)}
    names = [name for name in ORDER if name in present or name in COMMANDS]
    names += sorted(present - set(ORDER))
    return [section(run, name, _version(run / "reports" / f"{name}.json")) for name in names]


def _version(file: Path) -> Version:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@lru_cache(128)  # a section is made once for each version of its report
def section(run: Path, name: str, version: Version) -> Mapping[str, Any]:
    """What the panel shows of one report: the report, or why there is none and what to do."""
    # messages do not show a visitor where the run lies on the server
    place = Path(os.path.relpath(run))
    command = COMMANDS.get(name, "").format(run=place)
    missing = {"name": name, "title": name.capitalize(), "command": command}
    try:
        report = Report.load(place / "reports" / f"{name}.json")
    except FileNotFoundError:
        reason = "This has not been measured for this run yet."
        return missing | {"reason": f"{reason} The command is:" if command else reason}
    except UserError as error:
        return missing | {"reason": f"{error}{':' if command else '.'}"}
    lead, _, note = report.note.partition("\n\n")
    return {
        "name": name,
        "title": report.title,
        "headline": report.headline,
        "lead": lead,
        "note": note.split("\n\n") if note else [],
        "command": report.command,
        "version": report.version,
        "plots": [
            {"title": plot.title, "kind": plot.kind, "figure": json.loads(draw(plot).to_json())}
            for plot in report.plots
        ],
        "tables": [
            {
                "title": table.title,
                "note": table.note,
                "columns": table.headings(),
                "rows": table.texts(),
                "words": table.words(),  # which columns hold texts
                "bold": table.bold(),  # of each row, which cells are best
            }
            for table in report.tables
        ],
    }
