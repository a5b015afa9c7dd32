"""A report: what was measured, written once by whoever measures, shown as Markdown and on the
page's Reports tab.

    report = Report("Speed", note, command, program_version(run), [Table(…)], [Plot(…)])
    report.save(run / "reports" / "speed.json")    # and speed.md beside it, which is printed as
                                                   well

Cells hold numbers at full precision; their column says how they are shown. The page shows every
report of a run, so a new measurement needs no change there. A report that is read may be a
stranger's: whatever does not fit is refused.
"""

import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, field
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal, Self

import pandas as pd
from pydantic import Field
from pydantic.dataclasses import dataclass

from genius.errors import UserError
from genius.files import disk_errors_explained, write_json, write_text
from genius.reading import EXACT, one_line, read_json
from genius.run import Run

UNKNOWN = "–"
COMMANDS = {  # that write reports which every run should have
    "retrieval": "python -m genius.evaluation {run}",
    "speed": "python -m genius.evaluation.speed {run}/reports --run {run}",
}
Digits = Annotated[int, Field(ge=0, le=12)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
# three numbers: a value and its 95 % interval
Cell = str | Whole | float | None | tuple[float, float, float]


@dataclass(frozen=True, config=EXACT)
class Column:
    """A column of a table, and how its numbers are shown."""

    name: str
    unit: str = ""  # such as "ms", written behind the name; "%": cells are shares, shown times 100
    digits: Digits = 1  # after the decimal point; whole numbers and texts are shown as they are
    best: Literal["high", "low"] | None = None  # which number of the column is set in bold


@dataclass(frozen=True, config=EXACT)
class Table:
    """Rows of cells, one for each column."""

    title: str
    columns: list[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError for a row that has not one cell for each column."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row of {self.title!r} has {len(row)} cells, expected {len(self.columns)}"
                )

    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [
            [shown(cell, column) for cell, column in zip(row, self.columns)] for row in self.rows
        ]

    def headings(self) -> list[str]:
        """The names of the columns, with their units."""
        return [
            f"{column.name}, {column.unit}" if column.unit else column.name
            for column in self.columns
        ]

    def words(self) -> list[bool]:
        """Which columns hold texts alone; they are left-aligned."""
        kinds = [
            {type(row[at]) for row in self.rows} - {type(None)} for at in range(len(self.columns))
        ]
        return [kind == {str} for kind in kinds]

    def bold(self) -> list[list[bool]]:
        """Which cells are the best of their column."""
        choices = {"high": max, "low": min}
        best = []
        for at, column in enumerate(self.columns):
            numbers = [number for row in self.rows if (number := _number(row[at])) is not None]
            best.append(choices[column.best](numbers) if column.best and numbers else None)
        return [
            [value is not None and _number(cell) == value for cell, value in zip(row, best)]
            for row in self.rows
        ]


@dataclass(frozen=True, config=EXACT)
class Axis:
    """An axis of a plot."""

    title: str
    unit: str = ""  # "%": numbers are shares, shown times 100
    log: bool = False


@dataclass(frozen=True, config=EXACT)
class Series:
    """One line, set of marks or set of bars.

    Of marks, the series "paper: NAME" holds published figures of the series NAME and is drawn as
    that one, hollow.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | str | None]
    # of the numbers; none, or one each
    interval: Sequence[tuple[float, float] | None] = field(default_factory=list)
    shown: bool = True  # False: only by a click on the legend

    def __post_init__(self) -> None:
        """Raises ValueError unless there is a y for each x, and an interval for each or for
        none.
        """
        if len(self.x) != len(self.y) or len(self.interval) not in (0, len(self.y)):
            raise ValueError(
                f"{self.name!r} has {len(self.x)} x, {len(self.y)} y and "
                f"{len(self.interval)} intervals"
            )


@dataclass(frozen=True, config=EXACT)
class Plot:
    """A figure: lines over x, or a mark (with its interval) or a bar to the right for each name on
    the y-axis.
    """

    title: str  # also what a screen reader says
    kind: Literal["lines", "marks", "bars"]
    x: Axis
    y: Axis
    series: list[Series]

    def __post_init__(self) -> None:
        """Raises ValueError for texts where numbers are drawn."""
        for series in self.series:
            values = series.y if self.kind == "lines" else series.x
            if any(isinstance(value, str) for value in values):
                raise ValueError(
                    f"{series.name!r} of {self.title!r} has texts where numbers are expected"
                )


@dataclass(frozen=True, config=EXACT)
class Report:
    """What was asked, how it was measured, and what came out."""

    title: str
    # first paragraph: what it is about, for everybody; then, after an empty line, how it was
    # measured
    note: str
    command: str  # as a person types it
    version: str  # of the program and the run that it is about
    tables: list[Table]
    plots: list[Plot] = field(default_factory=list)
    # the figure that a person remembers, in a few words: "75.8 % right among the first 5"
    headline: str = ""

    def save(self, file: Path) -> None:
        """Print the report, then write it to `file` and as Markdown beside it.

        Raises UserError if it cannot be written: what took hours to measure has been printed then.
        """
        print(self.to_markdown())
        with disk_errors_explained(file.parent, "the report was printed, but not written"):
            self.write(file)

    def write(self, file: Path) -> None:
        """Write the report to `file` and as Markdown beside it."""
        write_json(file, asdict(self))
        write_text(file.with_suffix(".md"), self.to_markdown())

    @classmethod
    def load(cls, file: Path) -> Self:
        """Raises FileNotFoundError, or UserError for what is no report of this version."""
        try:
            return read_json(file, cls)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise UserError(
                f"{file} is not a report of this version ({one_line(error)}); create it again"
            ) from None

    def to_markdown(self) -> str:
        """Title, note and tables; the plots draw the same numbers."""
        parts = [f"# {self.title}", f"`{self.command}`", f"Version: {self.version}", self.note]
        for table in self.tables:
            parts += [f"## {table.title}", table.note, _markdown_table(table)]
        return "\n\n".join(filter(None, parts)) + "\n"


def read_notes(file: Path) -> dict[str, str]:
    """The texts of a TOML file by their names, each in one line."""
    texts = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: " ".join(text.split()) for name, text in texts.items()}


def program_version(run: Path | None = None) -> str:
    """The version of the program (in a checkout its commit) and, of a run, the folders of its
    parts.
    """
    checkout = Path(__file__).parents[1]
    program = "unknown version"
    try:
        if (checkout / ".git").exists():
            asked = ["git", "rev-parse", "--short=8", "HEAD"]
            program = subprocess.run(
                asked, cwd=checkout, capture_output=True, text=True, check=True
            ).stdout.strip()
        else:
            program = metadata.version("genius-explorer")
    except (OSError, subprocess.CalledProcessError, metadata.PackageNotFoundError):
        pass  # what took hours to measure is written without it
    if run is None:
        return program
    parts = sorted(part["folder"] for part in Run(run).manifest.get("parts", {}).values())
    return f"{program}; {run.resolve().name}: {', '.join(parts) or 'no parts yet'}"


def shown(cell: Cell, column: Column) -> str:
    """A cell as text: 0.256 in a column of percents is 25.6; with an interval, 25.6 [24.0,
    27.1].
    """
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


def _markdown_table(table: Table) -> str:
    """Columns of texts are left-aligned, the best cells bold."""
    cells = [
        [f"**{escaped(text)}**" if bold else escaped(text) for text, bold in zip(*row)]
        for row in zip(table.texts(), table.bold())
    ]
    alignment = ["left" if word else "right" for word in table.words()]
    frame = pd.DataFrame(cells, columns=[*map(escaped, table.headings())])
    return frame.to_markdown(
        index=False, tablefmt="pipe", disable_numparse=True, colalign=alignment
    )


def escaped(text: str) -> str:
    """A text as it may stand in a cell of a Markdown table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
