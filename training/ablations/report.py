"""The report of the ablations: a table and a plot for each table of the paper, and whether the paper's claims hold.

A cell is the mean over seeds and its 95 % interval: Student's t over the seeds, or Wilson's interval of the queries
where there is one seed. A claim is about the difference between two rows, paired by seed or, with one, by query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

from genius import reports
from genius.collections.layout import TASKS
from genius.metrics.hit_rate import headline_cut, wilson_interval
from genius.reports import Axis, Plot, Series, Table
from training.ablations.trainer import Result
from training.ablations.variants import FULL, TABLES, AblationTable, Column, Variant

LEVEL = 0.95
BETTER, SOMEWHERE, NO_WORSE = "better", "better somewhere", "no worse"
HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"

Rate = tuple[float, float, float]  # a value and its interval
Results = Callable[[AblationTable, Variant], list[list[Result]]]  # by seed and column
Hits = list[list[np.ndarray]]  # by seed and column, (q,) bool


@dataclass(frozen=True)
class Claim:
    """`better` is above `worse` in a table.

    kind: what is tested.
      - better: the average over the table's columns. Holds if the interval of the difference lies above 0, is
        contradicted if it lies below, and undecided otherwise.
      - better somewhere: each column by itself, with Bonferroni's correction for their number. Holds if any interval
        lies above 0, is contradicted if all lie below, and undecided otherwise.
      - no worse: as better, but holds unless the interval lies below 0, so that `worse` is significantly better.
    """

    text: str
    table: str
    better: str
    worse: str
    kind: str = BETTER


CLAIMS = (
    Claim("Modality-decoupled codes help (5.5)", "4", FULL, "w/o modality-decoupled"),
    Claim("Query augmentation helps (5.5)", "4", FULL, "w/o query augmentation"),
    Claim("Without L_cl almost nothing is found (5.5)", "4", FULL, "w/o L_cl"),
    Claim("L_mse helps in some rows (5.5)", "4", FULL, "w/o L_mse", SOMEWHERE),
    Claim("Larger codebooks help (5.5)", "5", "4096 × 9", "256 × 9"),
    Claim("More levels help (5.5)", "5", "4096 × 9", "4096 × 5"),
    Claim("Modality within quantization beats a classifier (C.2)", "S3", "modality-decoupled", "classifier"),
    Claim("A classifier beats no modality code (C.2)", "S3", "classifier", "RQ w/o modality code"),
    Claim("More beams help (C.3)", "S4", "30 beams", "1 beam"),
    Claim("Larger decoders help (C.4)", "S5", "T5-base", "T5-small"),
    Claim("A codebook of its own for each level is crucial (C.5)", "S6", "4096 × 9", "4096 × 9, shared"),
    Claim("8192 × 17 is not better (C.5)", "S6", "4096 × 9", "8192 × 17", NO_WORSE),
    Claim("GENIUS beats GRACE's structured IDs (5.4)", "S7", FULL, "GRACE, structured"),
    Claim("GENIUS beats IRGen (5.4)", "S7", FULL, "IRGen"),
    Claim("Re-ranking helps (5.4)", "S7", f"{FULL} + re-rank", FULL),
)


def build(tables: Sequence[AblationTable], results: Results) -> tuple[list[Table], list[Plot]]:
    """results: of a variant of a table."""
    parts = [_table(table, results) for table in tables]
    return [verdicts(tables, results), *(table for table, _ in parts)], [plot for _, plot in parts]


def _table(table: AblationTable, results: Results) -> tuple[Table, Plot]:
    """The rates of each variant by column, the average over columns, and the published ones beside them."""
    measured = results(table, table.variants[0])[0]
    columns = [column for column in table.columns if column.row in {result.row for result in measured}]
    places = [table.columns.index(column) for column in columns]
    averaged = [number for number, column in enumerate(columns) if _is_averaged(table, column)]
    headings = [reports.Column("variant")]
    for column in columns:
        dataset = _result(measured, column).dataset
        headings.append(reports.Column(_heading(dataset, column), "%", best="high"))
        headings.append(reports.Column(f"paper, {_heading(column.dataset, column)}", "%"))
    headings += [reports.Column(name, "%", best=best) for name, best in (("average", "high"), ("paper, average", None))]
    rows, averages, published_averages = [], [], []
    for variant in table.variants:
        hits = _hits(table, variant, columns, results)
        published = [variant.published[place] / 100 if variant.published else None for place in places]
        rates = [rate([of_seed[number] for of_seed in hits]) for number in range(len(columns))]
        average = average_rate([[of_seed[number] for number in averaged] for of_seed in hits])
        known = [published[number] for number in averaged] if variant.published else []
        published_average = float(np.mean(known)) if known else None
        cells = [cell for pair in zip(rates, published, strict=True) for cell in pair]
        rows.append([variant.name, *cells, average, published_average])
        averages.append(average)
        published_averages.append(published_average)
    names = [variant.name for variant in table.variants]
    series = [
        Series("here", [mean for mean, _, _ in averages], names, [(low, high) for _, low, high in averages]),
        Series(
            "the paper",
            [value for value in published_averages if value is not None],
            [name for name, value in zip(names, published_averages, strict=True) if value is not None],
        ),
    ]
    title = f"{table.name}: {table.title}"
    pool = f"Searched in the {table.scope} pool."
    return (
        Table(title, headings, rows, pool),
        Plot(title, "marks", Axis("hit rate, average", "%"), Axis("variant"), series),
    )


def verdicts(tables: Sequence[AblationTable], results: Results) -> Table:
    """What the paper says, and whether it holds in these tables."""
    rows = []
    for claim in CLAIMS:
        table = TABLES[claim.table]
        if table not in tables:
            continue
        measured = results(table, table.variants[0])[0]
        columns = [column for column in table.columns if _is_averaged(table, column)]
        columns = [column for column in columns if column.row in {result.row for result in measured}]
        if not columns:
            continue
        variants = {variant.name: variant for variant in table.variants}
        better = _hits(table, variants[claim.better], columns, results)
        worse = _hits(table, variants[claim.worse], columns, results)
        verdict, shown = decided(claim.kind, better, worse)
        rows.append([claim.text, table.name, verdict, shown])
    headings = ["the paper says", "in", "here", "difference, points"]
    return Table(
        "What the paper says, and what holds here",
        [reports.Column(heading) for heading in headings],
        rows,
        "Differences of the average over columns, paired by seed (Student's t) or, with one seed, by query. A claim "
        "holds, or is contradicted, where the 95 % interval of its difference excludes 0.",
    )


def decided(kind: str, better: Hits, worse: Hits) -> tuple[str, str]:
    """The verdict of a claim of this kind, and the difference with its interval in points."""
    columns = range(len(better[0]))
    if kind == SOMEWHERE:
        level = 1 - (1 - LEVEL) / len(columns)
        differences = [
            difference([[of_seed[number]] for of_seed in better], [[of_seed[number]] for of_seed in worse], level)
            for number in columns
        ]
    else:
        differences = [difference(better, worse)]
    mean, half = max(
        differences, key=lambda pair: (pair[0] > pair[1], pair[0])
    )  # the best, one that holds before others
    if mean > half:
        verdict = HOLDS
    elif all(mean < -half for mean, half in differences):
        verdict = CONTRADICTED
    else:
        verdict = HOLDS if kind == NO_WORSE else UNDECIDED
    shown = f"{100 * mean:+.1f} [{100 * (mean - half):+.1f}, {100 * (mean + half):+.1f}]"
    return verdict, shown + (f", best of {len(columns)} columns" if kind == SOMEWHERE else "")


def difference(better: Hits, worse: Hits, level: float = LEVEL) -> tuple[float, float]:
    """Mean difference of the averages over columns, and half of its interval at this level.

    Student's t over the differences of each seed; with one seed, normal, over the differences of each query.
    """
    gains = [
        [upper.astype(float) - lower for upper, lower in zip(*columns, strict=True)]
        for columns in zip(better, worse, strict=True)
    ]  # by seed and column, (q,) −1, 0 or 1
    by_seed = [float(np.mean([gain.mean() for gain in of_seed])) for of_seed in gains]
    if len(by_seed) > 1:
        return float(np.mean(by_seed)), student_half_width(by_seed, level)
    variance = sum(gain.var() / len(gain) for gain in gains[0]) / len(gains[0]) ** 2
    return by_seed[0], float(stats.norm.ppf((1 + level) / 2)) * sqrt(variance)


def rate(hits: Sequence[np.ndarray]) -> Rate:
    """The hit rate of a column; hits: (q,) bool of each seed."""
    return average_rate([[of_seed] for of_seed in hits])


def average_rate(hits: Hits) -> Rate:
    """The average of the hit rates of columns. The interval of one seed takes all queries as those of one column."""
    by_seed = [float(np.mean([of_column.mean() for of_column in of_seed])) for of_seed in hits]
    mean = float(np.mean(by_seed))
    if len(by_seed) > 1:
        half = student_half_width(by_seed, LEVEL)
        low, high = mean - half, mean + half
    else:
        queries = sum(map(len, hits[0]))
        low, high = wilson_interval(round(mean * queries), queries, LEVEL)
    return mean, max(0.0, min(low, mean)), min(1.0, max(high, mean))


def student_half_width(values: Sequence[float], level: float) -> float:
    """Half of Student's t interval of the mean of at least two values."""
    return float(stats.t.ppf((1 + level) / 2, len(values) - 1) * np.std(values, ddof=1) / sqrt(len(values)))


def _hits(table: AblationTable, variant: Variant, columns: Sequence[Column], results: Results) -> Hits:
    search = table.search(variant)
    return [
        [_result(of_seed, column).hits(search, column.cut) for column in columns] for of_seed in results(table, variant)
    ]


def _result(results: Sequence[Result], column: Column) -> Result:
    return next(result for result in results if result.row == column.row)


def _is_averaged(table: AblationTable, column: Column) -> bool:
    """Whether a column counts for averages and claims: of several cuts of the same queries, only the usual one does."""
    cuts = [other.cut for other in table.columns if other.row == column.row]
    return len(cuts) == 1 or column.cut == headline_cut(column.dataset)


def _heading(dataset: str, column: Column) -> str:
    """Such as: mscoco text → image, hit@1; the cut is written where it is not 5."""
    query, target = TASKS[column.task]
    cut = column.cut or headline_cut(column.dataset)
    return f"{dataset} {query.mbeir} → {target.mbeir}" + (f", hit@{cut}" if cut != 5 else "")
