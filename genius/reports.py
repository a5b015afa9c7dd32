"""A report: what was measured, written once by whoever measures, shown as Markdown and on the page's Reports tab.

    report = Report("Speed", note, command, version(run), [Table(…)], [Plot(…)])
    report.save(run / "reports" / "speed.json")    # and speed.md beside it; both are printed or shown as they are

Cells hold numbers at full precision; their column says how they are shown. The page shows every report of a run, so
a new measurement needs no change there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import asdict, field
from importlib import metadata
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic.dataclasses import dataclass

from genius.errors import UserError
from genius.files import disk_errors_explained, write_json, write_text
from genius.reading import EXACT, one_line, read_json

UNKNOWN = "–"
Cell = str | int | float | None | tuple[float, float, float]  # three numbers: a value and its 95 % interval


@dataclass(frozen=True, config=EXACT)
class Column:
    """A column of a table, and how its numbers are shown."""

    name: str
    unit: str = ""  # such as "ms", written behind the name; "%": cells are shares, shown times 100
    digits: int = 1  # after the decimal point; whole numbers and texts are shown as they are
    best: Literal["high", "low"] | None = None  # which number of the column is set in bold


@dataclass(frozen=True, config=EXACT)
class Table:
    """Rows of cells, one for each column."""

    title: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of {self.title!r} has {len(row)} cells, expected {len(self.columns)}")

    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [[shown(cell, column) for cell, column in zip(row, self.columns)] for row in self.rows]

    def headings(self) -> list[str]:
        """The names of the columns, with their units."""
        return [f"{column.name}, {column.unit}" if column.unit else column.name for column in self.columns]

    def bold(self) -> list[list[bool]]:
        """Which cells are the best of their column."""
        best = [_best(column, [row[number] for row in self.rows]) for number, column in enumerate(self.columns)]
        return [[value is not None and _number(cell) == value for cell, value in zip(row, best)] for row in self.rows]


@dataclass(frozen=True, config=EXACT)
class Axis:
    """An axis of a plot."""

    title: str
    unit: str = ""  # "%": numbers are shares, shown times 100
    log: bool = False


@dataclass(frozen=True, config=EXACT)
class Series:
    """One line, set of marks or set of bars."""

    name: str
    x: list[float | str]
    y: list[float | str | None]
    interval: list[tuple[float, float] | None] = field(default_factory=list)  # of the numbers; none, or one each
    shown: bool = True  # False: only by a click on the legend


@dataclass(frozen=True, config=EXACT)
class Plot:
    """A figure: lines over x, or a mark (with its interval) or a bar to the right for each name on the y-axis."""

    title: str  # also what a screen reader says
    kind: Literal["lines", "marks", "bars"]
    x: Axis
    y: Axis
    series: list[Series]


@dataclass(frozen=True, config=EXACT)
class Report:
    """What was asked, how it was measured, and what came out."""

    title: str
    note: str  # what was asked, of what, and how sure the answer is; paragraphs are divided by an empty line
    command: str  # as a person types it
    version: str  # of the program and the run that it is about
    tables: list[Table]
    plots: list[Plot] = field(default_factory=list)

    def save(self, file: Path) -> None:
        """Print the report, then write it to `file` and as Markdown beside it.

        Raises UserError if it cannot be written: what took hours to measure has been printed then.
        """
        text = self.to_markdown()
        print(text)
        with disk_errors_explained(file.parent, "the report was printed, but not written"):
            write_json(file, asdict(self))
            write_text(file.with_suffix(".md"), text)

    @classmethod
    def load(cls, file: Path) -> Report:
        """Raises FileNotFoundError, or UserError for what is no report of this version."""
        try:
            return read_json(file, cls)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise UserError(f"{file} is not a report of this version ({one_line(error)}); create it again") from None

    def to_markdown(self) -> str:
        """Title, note and tables; the plots draw the same numbers."""
        parts = [f"# {self.title}", f"`{self.command}`", f"Version: {self.version}", self.note]
        for table in self.tables:
            parts += [f"## {table.title}", table.note, _markdown_table(table)]
        return "\n\n".join(filter(None, parts)) + "\n"


def version(run: Path | None = None) -> str:
    """The version of the program (its commit in a checkout) and, of a run, the folders of its parts."""
    here = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short=8", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = metadata.version("genius-explorer")
    return commit if run is None else f"{commit}, run {run.name}"


def shown(cell: Cell, column: Column) -> str:
    """A cell as text: 0.256 in a column of percents is 25.6; with an interval, 25.6 [24.0, 27.1]."""
    if cell is None:
        return UNKNOWN
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) and column.unit != "%":
        return f"{cell:,}"
    factor = 100 if column.unit == "%" else 1
    numbers = cell if isinstance(cell, tuple) else (cell,)
    value, *interval = [f"{factor * number:,.{column.digits}f}" for number in numbers]
    return f"{value} [{', '.join(interval)}]" if interval else value


def _number(cell: Cell) -> float | None:
    """What a cell is compared by; None for texts and unknown numbers."""
    if isinstance(cell, tuple):
        return cell[0]
    return None if isinstance(cell, str) else cell


def _best(column: Column, cells: Sequence[Cell]) -> float | None:
    numbers = [number for number in map(_number, cells) if number is not None]
    if column.best is None or not numbers:
        return None
    return max(numbers) if column.best == "high" else min(numbers)


def _markdown_table(table: Table) -> str:
    """Columns of texts are left-aligned."""
    cells = [
        [f"**{escaped(text)}**" if bold else escaped(text) for text, bold in zip(*row)]
        for row in zip(table.texts(), table.bold())
    ]
    words = [all(isinstance(row[number], str | None) for row in table.rows) for number in range(len(table.columns))]
    return pd.DataFrame(cells, columns=[*map(escaped, table.headings())]).to_markdown(
        index=False, tablefmt="pipe", disable_numparse=True, colalign=["left" if word else "right" for word in words]
    )


def escaped(text: str) -> str:
    """A text as it may stand in a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
