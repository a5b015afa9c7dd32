"""The report of an evaluation: what `python -m genius.evaluation` writes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from genius.evaluation import NOTES
from genius.evaluation.evaluate import Evaluation
from genius.evaluation.figures import MIN_DENSE, PoolFigures, RowFigures
from genius.evaluation.paper import (
    bytes_table,
    caption_lines,
    captions_table,
    modalities_of,
    paper_tables,
    row_names,
)
from genius.evaluation.systems import CANDIDATES
from genius.metrics.factor_agreement import SHUFFLES
from genius.metrics.hit_rate import CUTS, FASHION_CUT, USUAL_CUT
from genius.reports import Axis, Cell, Column, Plot, Report, Series, Table
from genius.search.candidates import SCANNED

SHOWN = ("dense", "beam", "beam + re-rank")  # in plots; others by a click on the legend
SERVED = ("both + fused", "both + re-rank")  # and the first of these that was measured
STAGES = {
    "encode": "encode",
    "fuse": "fuse",
    "beam": "beam search",
    "scan": "scan",
    "rerank": "re-rank",
}
REPORTED_AS = "What codes say about factors: "  # starts the titles of tables
FACTOR_FIGURES = ("alone", "in_modality", "given_prefix")
HITS = [f"hit@{k}" for k in CUTS]
NAMES = [Column("task"), Column("dataset")]


def report_of(
    evaluation: Evaluation, run: str, collection: str, command: str, version: str, trained: str = ""
) -> Report:
    """trained: what the run learned from, see `trained_on`; the collection, if it is empty."""
    headline, *others = evaluation.pools
    tables = [
        hit_table(headline),
        *paper_tables(evaluation),
        ladder_table(headline),
        averages_table(evaluation.pools),
    ]
    tables += [differences_table(evaluation.pools)] if headline.average.differences else []
    tables += [phrasings_table(headline)] if headline.rows[0].phrasings else []
    sizes = evaluation.sweep(headline.kind)
    tables += [sweep_table(sizes)] if len(sizes) > 1 else []
    tables += [targets_table(headline), beams_table(evaluation.pools)]
    tables += [health_table(evaluation.health)] if evaluation.health else []
    tables += factor_tables(evaluation.factors) if evaluation.factors else []
    tables += [times_table(evaluation.pools), bytes_table(evaluation.code_sizes, evaluation.dim)]
    for pool in others:
        tables += [hit_table(pool), ladder_table(pool)]
    captions = caption_lines(evaluation, trained or collection)
    tables += [captions_table(captions)] if captions else []
    tables += [cuts_table(pool) for pool in evaluation.pools]
    plots = [hit_plot(pool) for pool in evaluation.pools]
    plots += [sweep_plot(sizes)] if len(sizes) > 1 else []
    plots += [factors_plot(evaluation.factors)] if evaluation.factors else []
    plots.append(times_plot(headline))
    definitions = NOTES["definitions"].format(usual=USUAL_CUT, fashion=FASHION_CUT, least=MIN_DENSE)
    systems = NOTES["systems"].format(scanned=SCANNED)
    paragraphs = [NOTES["lead"], evaluation.settings, definitions, systems]
    title = f"Retrieval: {run} on {collection}"
    note = "\n\n".join(paragraphs)
    return Report(title, note, command, version, tables, plots, _headline(headline.average))


def _headline(average: RowFigures) -> str:
    """What the page serves beside dense search."""
    words = dict.fromkeys(
        _served(average), f"of questions find a right item among the first {USUAL_CUT}"
    )
    words["dense"] = "when every item is compared"
    measured = [name for name in words if name in average.systems.index]
    return "; ".join(f"{100 * average.rate(name)[0]:.1f} % {words[name]}" for name in measured)


def _served(average: RowFigures) -> list[str]:
    """The first of SERVED that was measured."""
    return [name for name in SERVED if name in average.systems.index][:1]


def _by_ids(average: RowFigures) -> list[str]:
    """The systems that search by IDs."""
    return average.systems.index[average.systems["items"].notna()].tolist()


def _total(row: RowFigures, system: str) -> float:
    """Milliseconds per query, of all stages."""
    return float(row.systems.loc[system, [*STAGES]].sum())


def _percents(*names: str) -> list[Column]:
    return [Column(name, "%") for name in names]


def by_row(
    title: str,
    pool: PoolFigures,
    columns: Sequence[Column],
    cells: Callable[[RowFigures], list[Cell]],
    note: str = "",
) -> Table:
    """A line for each row, and their average; cells: of the columns, for one of them."""
    rows = [[*row_names(row), *cells(row)] for row in [*pool.rows, pool.average]]
    return Table(title, [*NAMES, *columns], rows, note)


def hit_table(pool: PoolFigures) -> Table:
    """Hit rates of all systems, with their intervals."""
    counts = ["queries", "candidates"]
    systems = pool.average.systems.index
    for count in ("no positive in pool", "judgments outside"):
        counts += [count] if any(row.counts[count] for row in pool.rows) else []

    def cells(row: RowFigures) -> list[Cell]:
        return [*map(row.counts.get, counts), *map(row.rate, systems)]

    return by_row(
        f"Hit rate by row, {pool.kind}", pool, [*map(Column, counts), *_percents(*systems)], cells
    )


def ladder_table(pool: PoolFigures) -> Table:
    """The oracle ladder: where the next point of hit rate is lost, for each row."""
    systems = pool.average.systems.index
    # heading -> system and its figure
    steps = {"dense": ("dense", "rate")} if "dense" in systems else {}
    for search in ("scan", "beam", "both"):
        orders = [
            f"{search} + {order}"
            for order in ("re-rank", "fused")
            if f"{search} + {order}" in systems
        ]
        steps |= {f"{search}: candidates": (order, "recall") for order in orders[:1]}
        steps |= {order: (order, "rate") for order in orders}

    def cells(row: RowFigures) -> list[Cell]:
        return [row.figure(*step) for step in steps.values()]

    return by_row(
        f"Where hit rate is lost, {pool.kind}", pool, _percents(*steps), cells, NOTES["ladder"]
    )


def averages_table(pools: Sequence[PoolFigures]) -> Table:
    """Of each system in each pool, at all cuts."""
    columns = [Column("pool"), Column("system"), *_percents("hit rate", *HITS)]
    rows = []
    for pool in pools:
        for name in pool.average.systems.index:
            figures = [pool.average.figure(name, figure) for figure in (*HITS, "of dense")]
            rows.append([str(pool.kind), name, pool.average.rate(name), *figures])
    return Table("Averages over rows", [*columns, Column("of dense", digits=2)], rows)


def differences_table(pools: Sequence[PoolFigures]) -> Table:
    """Between systems, query by query."""
    averages = [(str(pool.kind), pool.average) for pool in pools]
    rows: list[list[Cell]] = [
        [kind, pair, average.difference(pair)]
        for kind, average in averages
        for pair in average.differences
    ]
    columns = [Column("pool"), Column("pair"), Column("difference", "%")]
    return Table("Differences between systems", columns, rows, NOTES["differences"])


def phrasings_table(pool: PoolFigures) -> Table:
    """Means over all phrasings of the instructions."""
    systems = list(pool.rows[0].by_phrasing)
    rows = [[*row_names(row), row.phrasings, *row.by_phrasing.values()] for row in pool.rows]
    means = [
        float(np.mean([row.by_phrasing[system][0] for row in pool.rows])) for system in systems
    ]
    columns = [*NAMES, Column("phrasings"), *_percents(*systems)]
    rows = [*rows, ["average", "", None, *means]]
    return Table(
        "Hit rate over all phrasings of the instructions", columns, rows, NOTES["phrasings"]
    )


def sweep_table(sizes: Sequence[PoolFigures]) -> Table:
    """Averages by beam size."""
    systems = _by_ids(sizes[0].average)
    columns = [Column("beams"), *_percents(*systems)]
    for name in systems:
        columns += [Column(f"{name}: recall", "%"), Column(f"{name}: time", "ms", digits=2)]
    rows: list[list[Cell]] = []
    for pool in sizes:
        rows.append([pool.beams, *map(pool.average.rate, systems)])
        for name in systems:
            rows[-1] += pool.average.figure(name, "recall"), _total(pool.average, name)
    note = "*Recall*: queries with a positive among the candidates."
    return Table(f"Averages by beam size, {sizes[0].kind}", columns, rows, note)


def targets_table(pool: PoolFigures) -> Table:
    """Hit rates of the queries whose targets training saw, and of those whose targets it did not
    see.
    """
    shown = (
        "dense",
        "scan",
        "beam",
        "scan + re-rank",
        "beam + re-rank",
        "both + re-rank",
        "both + fused",
    )
    systems = [name for name in shown if name in pool.average.systems.index]
    columns = [Column("seen: queries"), *_percents(*(f"seen: {name}" for name in systems))]
    columns += [Column("new: queries"), *_percents(*(f"new: {name}" for name in systems))]

    def cells(row: RowFigures) -> list[Cell]:
        seen, new = ([row.figure(system, name) for system in systems] for name in ("seen", "new"))
        return [row.counts.get("seen: queries"), *seen, row.counts.get("new: queries"), *new]

    return by_row(
        f"Targets seen and not seen in training, {pool.kind}",
        pool,
        columns,
        cells,
        NOTES["targets"],
    )


def beams_table(pools: Sequence[PoolFigures]) -> Table:
    """What the searches by IDs hand over."""
    columns = [
        Column("pool"),
        Column("system"),
        Column("recall", "%"),
        Column("items"),
        Column("most items"),
    ]
    columns += [Column("scored"), *_percents("first code")]
    rows: list[list[Cell]] = []
    for pool in pools:
        for name in _by_ids(pool.average):
            figures = pool.average.systems.loc[name]
            means = figures[[*CANDIDATES]].tolist()
            most = int(figures["most items"])
            rows.append([str(pool.kind), name, *means[:2], most, *means[2:]])
    return Table("Candidates, averages over rows", columns, rows, NOTES["beams"])


def health_table(health: Mapping[str, Any]) -> Table:
    """Use of the codes of each level; health: see `table_health`."""
    columns = [Column("level"), Column("codes"), Column("used"), Column("effective codes")]
    rows = [
        [level["level"], level["codes"], level["used"], level["perplexity"]]
        for level in health["levels"]
    ]
    note = NOTES["health"].format(
        alone=100 * health["items_alone"],
        items=health["items"],
        largest=health["largest_bucket"],
        purity=100 * health["modality_purity"],
    )
    return Table("Codes in use", columns, rows, note)


def factor_tables(factors: Sequence[dict]) -> list[Table]:
    """How much the codes of each level say about known factors of the items."""
    levels = [level["level"] for level in factors[0]["levels"]]
    shuffled = max(abs(level["shuffled"]) for row in factors for level in row["levels"])
    baseline = (
        f" With the factor shuffled ({SHUFFLES} times, mean) no entry is beyond ±{shuffled:.3f}."
    )
    columns = [Column("factor"), Column("items"), Column("values")]
    columns += [Column(f"level {level}", digits=2) for level in levels]
    tables = []
    for figure in FACTOR_FIGURES:
        rows = [
            [
                row["factor"],
                row["items"],
                row["values"],
                *(level[figure] for level in row["levels"]),
            ]
            for row in factors
        ]
        title = REPORTED_AS + figure.replace("_", " ")
        tables.append(
            Table(title, columns, rows, NOTES[f"factors_{figure}"] + baseline * (figure == "alone"))
        )
    return tables


def times_table(pools: Sequence[PoolFigures]) -> Table:
    """Milliseconds by stage of a search."""
    columns = [Column("pool"), Column("system")]
    columns += [Column(name, "ms", digits=2) for name in (*STAGES.values(), "total")]
    rows: list[list[Cell]] = []
    for pool in pools:
        for name in pool.average.systems.index:
            spent = [pool.average.figure(name, stage) for stage in STAGES]
            rows.append([str(pool.kind), name, *spent, _total(pool.average, name)])
    note = "Averages over rows. *Scan*: over all embeddings, or all IDs."
    return Table("Milliseconds per query", columns, rows, note)


def cuts_table(pool: PoolFigures) -> Table:
    """The hit rate of each row and system at all cuts."""
    columns = [*NAMES, Column("system"), *_percents(*HITS)]
    rows = [
        [*row_names(row), name, *(row.figure(name, hit) for hit in HITS)]
        for row in [*pool.rows, pool.average]
        for name in row.systems.index
    ]
    return Table(
        f"Hit rate at {', '.join(map(str, CUTS))} by row and system, {pool.kind}", columns, rows
    )


def hit_plot(pool: PoolFigures) -> Plot:
    """A mark with its interval for each row and system; the average on top."""
    rows = [pool.average, *pool.rows]
    names = ["Average", *(f"{row.dataset} {modalities_of(row.task)}" for row in pool.rows)]
    served = _served(pool.average)
    series = []
    for name in pool.average.systems.index:
        rates = [row.rate(name) for row in rows]
        limits = [(low, high) for _, low, high in rates]
        shown = name in SHOWN or name in served
        series.append(Series(name, [rate for rate, _, _ in rates], names, limits, shown))
    return Plot(f"Hit rate by row, {pool.kind}", "marks", Axis("hit rate", "%"), Axis(""), series)


def sweep_plot(sizes: Sequence[PoolFigures]) -> Plot:
    """Average hit rates by beam size."""
    beams = [float(pool.beams) for pool in sizes]
    series = []
    for name in _by_ids(sizes[0].average):
        rates = [pool.average.figure(name, "rate") for pool in sizes]
        series.append(Series(name, beams, rates, shown=name in SHOWN or name in SERVED))
    title = f"Hit rate by beam size, {sizes[0].kind}"
    return Plot(title, "lines", Axis("beams"), Axis("hit rate", "%"), series)


def factors_plot(factors: Sequence[dict]) -> Plot:
    """What the codes of each level alone say about each factor."""
    series = []
    for row in factors:
        levels = [float(level["level"]) for level in row["levels"]]
        series.append(Series(row["factor"], levels, [level["alone"] for level in row["levels"]]))
    title = "What the codes of each level say about the factors of the items"
    return Plot(title, "lines", Axis("level"), Axis("adjusted mutual information"), series)


def times_plot(pool: PoolFigures) -> Plot:
    """A bar for each system, of its stages."""
    spent = pool.average.systems.fillna(0.0)
    series = [
        Series(name, spent[stage].tolist(), spent.index.tolist()) for stage, name in STAGES.items()
    ]
    return Plot(
        f"Milliseconds per query, {pool.kind}",
        "bars",
        Axis("milliseconds per query"),
        Axis(""),
        series,
    )
