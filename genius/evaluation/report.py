"""The report of an evaluation: what `python -m genius.evaluation` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple

from genius.evaluation.evaluate import Evaluation
from genius.evaluation.figures import MIN_DENSE, PoolFigures, RowFigures, SystemFigures
from genius.evaluation.paper import bytes_table, caption_lines, captions_table, modalities_of, paper_tables, row_names
from genius.metrics.factor_agreement import REPORTED_AS, SHUFFLES
from genius.metrics.hit_rate import CUTS, FASHION_CUT, USUAL_CUT, mean_known
from genius.reports import Axis, Cell, Column, Plot, Report, Series, Table
from genius.search.candidates import PER_CANDIDATE, PER_ROOT

LEAD = """How often a right item is among the first results. “dense” compares the question with every item; “beam” and
“fast” write IDs, “geometry” does so without the decoder; “re-rank” orders what they found by similarity, “ranker” by
all that is known of it."""
DEFINITIONS = f"""A query is a hit at k if any of its positives is among its first k results (M-BEIR's Recall@k). A
positive outside the pool never counts, and a query with no positive in the pool is a miss, as in M-BEIR's own
evaluation. k is {USUAL_CUT}; for Fashion200K and FashionIQ it is {FASHION_CUT} (marked *hit@{FASHION_CUT}*), as in the
paper. Averages weigh all rows equally. Brackets are bootstrap 95 % intervals. *Of dense* is a system's share of the hit
rate of dense search, in rows where dense search reaches {MIN_DENSE:.0%}; its average is over those rows."""
SYSTEMS = f"""*dense*: exact search over the embeddings. *quantized*: over the quantized vectors, all IDs scored by
look-up tables. *beam*: beam search over the valid IDs by the decoder, blended with geometry; mode exact, the published
algorithm, in the order of ID scores. *beam + re-rank*: the same IDs, re-ranked by embedding. *fast + re-rank*: mode
fast, which decodes a quarter of the beams, stops where the prefixes hold at most {PER_CANDIDATE} times as many items as
the budget, or {PER_ROOT} · √(items of the pool) if that is more, and re-ranks those that are nearest by their codes, up
to the budget. *ranker*, where the run has one: by it instead of by embedding. *geometry*: each of these by codebook
distances alone (decoder weight 0); the difference is what the decoder adds. Items that share an ID are in the order of
index rows unless re-ranked."""
LADDER = """What each step from exhaustive search to the served result keeps. *dense*, *quantized*: exhaustive search
over the embeddings and the quantized vectors. *candidates*: queries with a positive among the items that the beam
search hands over, the most that re-ranking can reach. Then the hit rate after re-ranking."""
SHOWN = ("dense", "beam", "beam + re-rank")  # in plots; others by a click on the legend
SERVED = ("fast + ranker", "fast + re-rank")  # and the first of these that was measured
STAGES = {
    "encode": "encode",
    "fuse": "fuse",
    "scan": "scan",
    "beam": "beam search",
    "expand": "expand",
    "rerank": "re-rank",
}
FACTOR_FIGURES = {
    "alone": "Adjusted mutual information of a factor with the codes of one level alone, over the candidates that have "
    "the factor: 1 determines it, 0 is chance.",
    "in_modality": "The same among candidates of one modality, averaged by their number.",
    "given_prefix": "Given the codes before: the share of the remaining uncertainty about the factor that the level "
    "removes, beyond what chance would remove (unknown: chance would leave none).",
}
Columns = dict[Column, Callable[[RowFigures], Cell]]
NAMES = [Column("task"), Column("dataset")]


def report_of(found: Evaluation, run: str, collection: str, command: str, version: str, trained: str = "") -> Report:
    """trained: what the run learned from, see `trained_on`; the collection, if it is empty."""
    headline, *others = found.pools
    tables = [hit_table(headline), *paper_tables(found), ladder_table(headline), averages_table(found.pools)]
    if headline.average.differences:
        tables.append(differences_table(found.pools))
    if found.phrasings:
        tables.append(phrasings_table(found))
    sizes = [pool for pool in found.sweep if pool.kind == headline.kind]
    if len(sizes) > 1:
        tables.append(sweep_table(sizes))
    tables += [targets_table(headline), beams_table(found.pools)]
    if found.following:
        tables.append(following_table(found))
    if found.health:
        tables.append(health_table(found.health))
    tables += factor_tables(found)
    tables += [times_table(found.pools), bytes_table(found.code_sizes, found.dim)]
    for pool in others:
        tables += [hit_table(pool), ladder_table(pool)]
    captions = caption_lines(found, trained or collection)
    tables += [captions_table(captions)] if captions else []
    tables += [cuts_table(pool) for pool in found.pools]
    plots = [hit_plot(pool) for pool in found.pools]
    plots += [sweep_plot(sizes)] if len(sizes) > 1 else []
    plots += [factors_plot(found.factors)] if found.factors else []
    plots.append(times_plot(headline))
    paragraphs = [" ".join(text.split()) for text in (LEAD, found.settings, DEFINITIONS, SYSTEMS)]
    return Report(f"Retrieval: {run} on {collection}", "\n\n".join(paragraphs), command, version, tables, plots)


def _percents(*names: str) -> list[Column]:
    return [Column(name, "%") for name in names]


def _by_row(title: str, pool: PoolFigures, columns: Columns, note: str = "") -> Table:
    """A line for each row, and their average."""
    cells = [[*row_names(row), *(value(row) for value in columns.values())] for row in [*pool.rows, pool.average]]
    return Table(title, [*NAMES, *columns], cells, note)


def hit_table(pool: PoolFigures) -> Table:
    """Hit rates of all systems, with their intervals."""
    columns: Columns = {Column("queries"): lambda row: row.queries, Column("candidates"): lambda row: row.candidates}
    if any(row.without_positive for row in pool.rows):
        columns[Column("no positive in pool")] = lambda row: row.without_positive
    if any(row.outside for row in pool.rows):
        columns[Column("judgments outside")] = lambda row: row.outside
    columns |= {Column(name, "%"): lambda row, name=name: row.systems[name].rate for name in pool.average.systems}
    return _by_row(f"Hit rate by row, {pool.kind}", pool, columns)


def rungs(row: RowFigures) -> list[str]:
    """The steps of the ladder that were measured."""
    found = [system for system in ("dense", "quantized") if system in row.systems]
    for search in ("beam", "fast"):
        orders = [f"{search} + {order}" for order in ("re-rank", "ranker") if f"{search} + {order}" in row.systems]
        found += [f"{search}: candidates", *orders] if orders else []
    return found


def _rung(row: RowFigures, name: str) -> float:
    search, colon, _ = name.partition(": ")
    if not colon:
        return row.systems[name].rate[0]
    ordered = [figures for system, figures in row.systems.items() if system.startswith(f"{search} + ")]
    return ordered[0].beam.recall


def ladder_table(pool: PoolFigures) -> Table:
    """The oracle ladder: where the next point of hit rate is lost, for each row."""
    columns: Columns = {Column(name, "%"): lambda row, name=name: _rung(row, name) for name in rungs(pool.average)}
    return _by_row(f"Where hit rate is lost, {pool.kind}", pool, columns, " ".join(LADDER.split()))


def averages_table(pools: Sequence[PoolFigures]) -> Table:
    """Of each system in each pool, at all cuts."""
    columns = [Column("pool"), Column("system"), *_percents("hit rate", *(f"hit@{k}" for k in CUTS))]
    rows = [
        [str(pool.kind), name, found.rate, *(found.hit[k] for k in CUTS), found.of_dense]
        for pool in pools
        for name, found in pool.average.systems.items()
    ]
    return Table("Averages over rows", [*columns, Column("of dense", digits=2)], rows)


def differences_table(pools: Sequence[PoolFigures]) -> Table:
    """Between systems, query by query."""
    rows = [[str(pool.kind), pair, found] for pool in pools for pair, found in pool.average.differences.items()]
    note = "In percentage points, averages over rows. Intervals are of the differences query by query."
    columns = [Column("pool"), Column("pair"), Column("difference", "%")]
    return Table("Differences between systems", columns, rows, note)


def phrasings_table(found: Evaluation) -> Table:
    """Means over all phrasings of the instructions."""
    systems = list(found.phrasings[0].systems)
    rows: list[list[Cell]] = []
    for row in found.phrasings:
        names = row_names(RowFigures({}, {}, row.task, row.dataset, row.cut))
        rows.append([*names, row.phrasings, *(row.systems[system] for system in systems)])
    means = [mean_known([row.systems[system][0] for row in found.phrasings]) for system in systems]
    note = "Every query in every phrasing of its row's instruction: the mean; in brackets the lowest and the highest."
    columns = [*NAMES, Column("phrasings"), *_percents(*systems)]
    title = "Hit rate over all phrasings of the instructions"
    return Table(title, columns, [*rows, ["average", "", None, *means]], note)


def sweep_table(sizes: Sequence[PoolFigures]) -> Table:
    """Averages by beam size."""
    systems = [name for name, found in sizes[0].average.systems.items() if found.beam]
    columns = [Column("beams"), *_percents(*systems)]
    for name in systems:
        columns += [Column(f"{name}: recall", "%"), Column(f"{name}: time", "ms", digits=2)]
    rows: list[list[Cell]] = []
    for pool in sizes:
        found = [pool.average.systems[name] for name in systems]
        spent = [(figures.beam.recall, sum(figures.milliseconds.values())) for figures in found]
        rows.append([pool.beams, *(figures.rate for figures in found), *(cell for pair in spent for cell in pair)])
    note = "*Recall*: queries with a positive among the candidates of the beam search."
    return Table(f"Averages by beam size, {sizes[0].kind}", columns, rows, note)


def targets_table(pool: PoolFigures) -> Table:
    """Hit rates of the queries whose targets training saw, and of those whose targets it did not see."""
    shown = ("dense", "quantized", "beam", "geometry + re-rank", "beam + re-rank", "fast + re-rank", "fast + ranker")
    systems = [name for name in shown if name in pool.average.systems]
    columns: Columns = {Column("seen: queries"): lambda row: row.queries_seen}
    columns |= {Column(f"seen: {name}", "%"): lambda row, name=name: row.systems[name].seen for name in systems}
    columns[Column("new: queries")] = lambda row: row.queries_new
    columns |= {Column(f"new: {name}", "%"): lambda row, name=name: row.systems[name].new for name in systems}
    note = (
        "Hit rate of queries all of whose positives were training targets (seen), and of those none of whose positives "
        "was one (new). Averages are over the rows that have any."
    )
    return _by_row(f"Targets seen and not seen in training, {pool.kind}", pool, columns, note)


def beams_table(pools: Sequence[PoolFigures]) -> Table:
    """What the beam searches hand over."""
    columns = [Column("pool"), Column("system"), Column("recall", "%"), Column("items"), Column("most items")]
    columns += [Column("scored"), *_percents("certified", "first code")]
    rows: list[list[Cell]] = [
        [str(pool.kind), name, *astuple(found.beam)]
        for pool in pools
        for name, found in pool.average.systems.items()
        if found.beam
    ]
    note = (
        "*Recall*: queries with a positive among the items that are re-ranked. *Items*, *most items*: how many, on "
        "average and at most. *Scored*: beams whose continuations the decoder scored, over all levels (geometry: by "
        "codebook distances). *Certified*: queries whose IDs are provably the best of all valid IDs under the model; "
        "measured in mode exact alone. *First code*: queries whose most probable first code is that of a positive, "
        "which is its modality unless first codes of the run emerged."
    )
    return Table("Candidates of the beam searches, averages over rows", columns, rows, note)


def following_table(found: Evaluation) -> Table:
    """Right first codes under other instructions."""
    rows: list[list[Cell]] = [
        [f"{row.task} {modalities_of(row.task)}", row.dataset, row.asked, row.held_out, row.swapped]
        for row in found.following
    ]
    averages = [mean_known([row[at] for row in rows]) for at in (2, 3, 4)]
    note = (
        "Queries whose most probable first code is right: *asked* as in the tables above, in phrasings that training "
        "never used (*held out*), and with the same text and image under an instruction for another target modality "
        "(*swapped*: the code of that modality is right)."
    )
    columns = [*NAMES, *_percents("asked", "held out", "swapped")]
    return Table("First codes under other instructions", columns, [*rows, ["average", "", *averages]], note)


def health_table(health: dict) -> Table:
    """Use of the codes of each level; health: see `table_health`."""
    columns = [Column("level"), Column("codes"), Column("used"), Column("effective codes")]
    rows = [[level["level"], level["codes"], level["used"], level["perplexity"]] for level in health["levels"]]
    note = (
        f"{100 * health['items_alone']:.1f} % of {health['items']:,} items share their ID with no other; the largest "
        f"bucket holds {health['largest_bucket']:,}. Modality purity of the first code: "
        f"{100 * health['modality_purity']:.1f} %. *Effective codes*: how many of equal size would divide the items as "
        "finely (exp of the entropy)."
    )
    return Table("Codes in use", columns, rows, note)


def factor_tables(found: Evaluation) -> list[Table]:
    """How much the codes of each level say about known factors of the items."""
    if not found.factors:
        return []
    levels = [level["level"] for level in found.factors[0]["levels"]]
    shuffled = max(abs(level["shuffled"]) for row in found.factors for level in row["levels"])
    baseline = f" With the factor shuffled ({SHUFFLES} times, mean) no entry is beyond ±{shuffled:.3f}."
    columns = [Column("factor"), Column("items"), Column("values")]
    columns += [Column(f"level {level}", digits=2) for level in levels]
    tables = []
    for figure, note in FACTOR_FIGURES.items():
        rows = [
            [row["factor"], row["items"], row["values"], *(level[figure] for level in row["levels"])]
            for row in found.factors
        ]
        title = REPORTED_AS + figure.replace("_", " ")
        tables.append(Table(title, columns, rows, note + baseline * (figure == "alone")))
    return tables


def times_table(pools: Sequence[PoolFigures]) -> Table:
    """Milliseconds by stage of a search."""
    columns = [Column("pool"), Column("system")]
    columns += [Column(name, "ms", digits=2) for name in (*STAGES.values(), "total")]
    rows = [
        [str(pool.kind), name, *(found.milliseconds.get(stage) for stage in STAGES), sum(found.milliseconds.values())]
        for pool in pools
        for name, found in pool.average.systems.items()
    ]
    note = "Averages over rows. *Scan*: over all embeddings, or all IDs."
    return Table("Milliseconds per query", columns, rows, note)


def cuts_table(pool: PoolFigures) -> Table:
    """The hit rate of each row and system at all cuts."""
    columns = [*NAMES, Column("system"), *_percents(*(f"hit@{k}" for k in CUTS))]
    rows = [
        [*row_names(row), name, *(found.hit[k] for k in CUTS)]
        for row in [*pool.rows, pool.average]
        for name, found in row.systems.items()
    ]
    return Table(f"Hit rate at {', '.join(map(str, CUTS))} by row and system, {pool.kind}", columns, rows)


def hit_plot(pool: PoolFigures) -> Plot:
    """A mark with its interval for each row and system; the average on top."""
    rows = [pool.average, *pool.rows]
    names = ["Average", *(f"{row.dataset} {modalities_of(row.task)}" for row in pool.rows)]
    served = [name for name in SERVED if name in pool.average.systems][:1]
    series = []
    for name in pool.average.systems:
        rates = [row.systems[name].rate for row in rows]
        limits = [(low, high) for _, low, high in rates]
        shown = name in SHOWN or name in served
        series.append(Series(name, [rate for rate, _, _ in rates], names, limits, shown))
    return Plot(f"Hit rate by row, {pool.kind}", "marks", Axis("hit rate", "%"), Axis(""), series)


def sweep_plot(sizes: Sequence[PoolFigures]) -> Plot:
    """Average hit rates by beam size."""
    systems = [name for name, found in sizes[0].average.systems.items() if found.beam]
    beams = [float(pool.beams) for pool in sizes]
    series = []
    for name in systems:
        rates = [pool.average.systems[name].rate for pool in sizes]
        series.append(Series(name, beams, [rate for rate, _, _ in rates], shown=name in SHOWN or name in SERVED))
    title = f"Hit rate by beam size, {sizes[0].kind}"
    return Plot(title, "lines", Axis("beams"), Axis("hit rate", "%"), series)


def factors_plot(factors: Sequence[dict]) -> Plot:
    """What the codes of each level alone say about each factor."""
    series = [
        Series(
            row["factor"],
            [float(level["level"]) for level in row["levels"]],
            [level["alone"] for level in row["levels"]],
        )
        for row in factors
    ]
    title = "What the codes of each level say about the factors of the items"
    return Plot(title, "lines", Axis("level"), Axis("adjusted mutual information"), series)


def times_plot(pool: PoolFigures) -> Plot:
    """A bar for each system, of its stages."""
    systems: dict[str, SystemFigures] = pool.average.systems
    series = [
        Series(name, [found.milliseconds.get(stage, 0.0) for found in systems.values()], list(systems))
        for stage, name in STAGES.items()
    ]
    return Plot(f"Milliseconds per query, {pool.kind}", "bars", Axis("milliseconds per query"), Axis(""), series)
