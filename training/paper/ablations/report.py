"""The report of the ablations: a table and a plot for each table of the paper, and whether the
paper's claims hold.

A cell is the mean over seeds with its 95 % interval, Student's t. A claim is about the difference
between two rows, paired by seed. One seed has no intervals, and decides nothing.

Shapes: s seeds, c columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from genius import reports
from genius.evaluation.paper import modalities_of, read_published
from genius.metrics.hit_rate import USUAL_CUT, headline_cut
from genius.reports import Axis, Cell, Plot, Series, Table
from training.paper.ablations.trainer import Result, Row
from training.paper.ablations.variants import (
    TABLES,
    AblationTable,
    PaperColumn,
    Variant,
    search_name,
)

LEVEL = 0.95
SOMEWHERE, NO_WORSE = "better somewhere", "no worse"
HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"

# of a variant in a table, by seed and column
Results = Callable[[AblationTable, Variant], list[dict[Row, Result]]]


@dataclass(frozen=True)
class Claim:
    """`better` is above `worse` in a table.

    kind: what is tested.
      - better: the average over columns. Holds if the interval of the difference lies above 0, is
        contradicted if it lies below, and undecided otherwise.
      - better somewhere: each column by itself, with Bonferroni's correction for their number.
        Holds if any interval lies above 0, is contradicted if all lie below, and undecided
        otherwise.
      - no worse: as better, but holds unless the interval lies below 0, so that `worse` is
        significantly better.
    """

    text: str
    table: str
    better: str
    worse: str
    kind: str


CLAIMS = tuple(Claim(**line) for line in read_published(Path(__file__).with_name("claims.tsv")))


def build(tables: Sequence[AblationTable], results: Results) -> tuple[list[Table], list[Plot]]:
    """The verdicts, if the tables have any claim's rows and there are several seeds; then each
    table and its plot.
    """
    made = [_table(table, results) for table in tables]
    claims = verdicts(tables, results)
    return [claims] * bool(claims.rows) + [table for table, _ in made], [plot for _, plot in made]


def _table(table: AblationTable, results: Results) -> tuple[Table, Plot]:
    """The rates of each variant by column and their average, each with the published one beside
    it.
    """
    columns = _columns(table, results)
    averaged = [number for number, column in enumerate(columns) if _is_averaged(table, column)]
    first = results(table, table.variants[0])[0]
    headings = [reports.Column("variant")]
    for column in columns:
        here, paper = first[column.row].dataset, f"paper, {column.dataset}"
        headings.append(reports.Column(_heading(here, column), "%", best="high"))
        headings.append(reports.Column(_heading(paper, column), "%"))
    headings += [reports.Column("average", "%", best="high"), reports.Column("paper, average", "%")]
    rows = list[list[Cell]]()
    means = list[np.ndarray]()
    known: dict[str, float] = {}  # variant -> the published average
    for variant in table.variants:
        rates = _rates(table, variant, columns, results)
        cells: list[Cell] = [variant.name]
        printed = [
            variant.published[table.columns.index(column)] / 100
            for column in columns
            if variant.published
        ]
        for number in range(len(columns)):
            cells += [estimate(rates[:, number]), printed[number] if printed else None]
        means.append(rates[:, averaged].mean(axis=1))
        if printed:
            known[variant.name] = float(np.mean([printed[number] for number in averaged]))
        rows.append([*cells, estimate(means[-1]), known.get(variant.name)])
    title = f"{table.name}: {table.title}"
    names = [variant.name for variant in table.variants]
    intervals = [row[-2][1:] if isinstance(row[-2], tuple) else None for row in rows]
    series = [
        Series("here", [float(mean.mean()) for mean in means], names, intervals),
        Series("the paper", list(known.values()), list(known)),
    ]
    plot = Plot(title, "marks", Axis("average hit rate", "%"), Axis("variant"), series)
    return Table(title, headings, rows, f"Searched in the {table.scope} pool."), plot


def verdicts(tables: Sequence[AblationTable], results: Results) -> Table:
    """What the paper says, and whether it holds in these tables."""
    rows = []
    for claim in CLAIMS:
        if (table := TABLES[claim.table]) not in tables:
            continue
        columns = [column for column in _columns(table, results) if _is_averaged(table, column)]
        variants = {variant.name: variant for variant in table.variants}
        better = _rates(table, variants[claim.better], columns, results)
        worse = _rates(table, variants[claim.worse], columns, results)
        if columns and len(better) > 1:
            rows.append([claim.text, table.name, *decided(claim.kind, better - worse)])
    return Table(
        "What the paper says, and what holds here",
        list(map(reports.Column, ("the paper says", "in", "here", "difference, points"))),
        rows,
        "Differences of the average over columns, paired by seed. A claim holds, or is "
        "contradicted, where the 95 % interval of its difference excludes 0.",
    )


def decided(kind: str, gains: np.ndarray) -> tuple[str, str]:
    """The verdict of a claim of this kind by gains (s, c), and the difference with its interval in
    points.
    """
    columns = gains.shape[1]
    differences = [(float(gains.mean()), half_width(gains.mean(axis=1), LEVEL))]
    if kind == SOMEWHERE:
        level = 1 - (1 - LEVEL) / columns
        differences = [
            (float(of_column.mean()), half_width(of_column, level)) for of_column in gains.T
        ]
    # the best, one that holds first
    mean, half = max(differences, key=lambda pair: (pair[0] > pair[1], pair[0]))
    if mean > half:
        verdict = HOLDS
    elif all(mean < -half for mean, half in differences):
        verdict = CONTRADICTED
    else:
        verdict = HOLDS if kind == NO_WORSE else UNDECIDED
    shown = f"{100 * mean:+.1f} [{100 * (mean - half):+.1f}, {100 * (mean + half):+.1f}]"
    return verdict, shown + (f", best of {columns} columns" if kind == SOMEWHERE else "")


def estimate(rates: np.ndarray) -> Cell:
    """The mean of the rates (s,) of all seeds, with its interval if there are several."""
    mean = float(rates.mean())
    if len(rates) == 1:
        return mean
    half = half_width(rates, LEVEL)
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def half_width(values: np.ndarray, level: float) -> float:
    """Half of Student's t interval of the mean of at least two values (s,)."""
    return float(stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values))


def _columns(table: AblationTable, results: Results) -> list[PaperColumn]:
    """Those that the collection has queries for."""
    measured = results(table, table.variants[0])[0]
    return [column for column in table.columns if column.row in measured]


def _rates(
    table: AblationTable, variant: Variant, columns: Sequence[PaperColumn], results: Results
) -> np.ndarray:
    """(s, c) hit rates."""
    search = search_name(table.scope, variant.beams, variant.reranked)
    return np.array(
        [
            [of_seed[column.row].rate(search, column.cut) for column in columns]
            for of_seed in results(table, variant)
        ]
    )


def _is_averaged(table: AblationTable, column: PaperColumn) -> bool:
    """Whether a column counts for averages and claims: of several cuts of the same queries, only
    the usual one does.
    """
    cuts = [each.cut for each in table.columns if each.row == column.row]
    return len(cuts) == 1 or column.cut == headline_cut(column.dataset)


def _heading(dataset: str, column: PaperColumn) -> str:
    """Such as: mscoco text → image, hit@1; the cut is written where it is not 5."""
    cut = column.cut or headline_cut(column.dataset)
    return f"{dataset} {modalities_of(column.task)}" + (f", hit@{cut}" if cut != USUAL_CUT else "")
