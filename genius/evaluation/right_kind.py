"""Right kind: how many of the first results are of the kind (image, text or pair) that the instruction asks for?

    python -m genius.evaluation.right_kind RUN
    python -m genius.evaluation.right_kind RUN --collection DIR --limit 50

No search is restricted to a kind. The test queries that have an answer in the index are asked with an instruction that
training knew, with one in words that training never used, if the collection has such, and with none. Prints tables and
writes RUN/reports/right_kind.json and .md.

Shapes: q queries of a row, n items of the index, k results.
"""

import sys
from dataclasses import replace

import numpy as np

from genius.collections.mbeir import Collection
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_evaluated, collection_of, command_line, command_parser
from genius.evaluation.figures import DRAWS, Estimate
from genius.evaluation.paper import modalities_of
from genius.evaluation.queries import EncodedRow, EncodedSplit, QuerySet, read_queries
from genius.metrics.hit_rate import interval
from genius.reports import Column, Report, Table, version
from genius.runtime import keep_freed_memory
from genius.schema import SearchOptions
from genius.search.dense import flat_search
from genius.search.engine import Engine, batch_size

MODULE = "genius.evaluation.right_kind"
FIRST = 5  # results that are looked at
SYSTEMS = {  # how results are found; None: dense search
    "dense": None,
    "as served": SearchOptions(k=FIRST),
    "both + re-rank": SearchOptions(k=FIRST, order="cosine"),
    "scan": SearchOptions(k=FIRST, mode="scan", order="score"),
    "beam": SearchOptions(k=FIRST, mode="generate", order="score"),
}
NOTE = (
    f"The share of the first {FIRST} results that are of the kind that the instruction asks for: image, text or a pair "
    "of both.\n\n*dense*: the nearest embeddings. *as served*: the page's default. *both + re-rank*: the same "
    "candidates, by cosine. *scan*: the nearest IDs. *beam*: generated IDs, by score. Averages weigh rows equally; "
    "intervals are 95 %, by bootstrap of the queries. Without an instruction a query does not say what it wants."
)


def asked(
    engine: Engine, collection: Collection, split: str, limit: int | None, seed: int
) -> dict[str, list[QuerySet]]:
    """The queries of each row under each kind of instruction. Raises UserError as `read_queries` does."""

    def read(**phrasing: str) -> list[QuerySet]:
        return read_queries(collection, engine.index, split, limit=limit, seed=seed, answerable=True, **phrasing)

    sets = {"known": read()}
    if collection.has_held_out_instructions():
        sets["held out"] = read(phrasing="held-out")
    return sets | {"none": [replace(queries, instructions=[""] * len(queries)) for queries in sets["known"]]}


def first_results(engine: Engine, queries: EncodedRow, options: SearchOptions | None) -> np.ndarray:
    """Rows (q, k) of the index, padded with −1."""
    if options is None:
        return flat_search(engine.index.embeddings, queries.embeddings, FIRST)[1]
    batches = queries.split(batch_size(options.beams))
    return np.concatenate([engine.retrieve(batch, options).ranked.rows for batch in batches])


def right_shares(rows: np.ndarray, modalities: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(q,) share of the results (q, k) that are of each query's target modality (q,); modalities (n,) of the index."""
    found = rows >= 0
    return (found & (modalities[rows] == targets[:, None])).sum(1) / found.sum(1)


def measure(engine: Engine, collection: Collection, sets: dict[str, list[QuerySet]], seed: int) -> list[Table]:
    """Averages over the rows, then a table by row for each kind of instruction."""
    by_row, averages = [], {}
    for instruction, of_rows in sets.items():
        encoded, rng = EncodedSplit.encode(engine, collection, of_rows), np.random.default_rng(seed)
        lines, means, draws = [], [], []
        for queries, row in zip(of_rows, encoded.rows, strict=True):
            results = (first_results(engine, row, options) for options in SYSTEMS.values())
            shares = np.stack([right_shares(rows, engine.index.modalities, queries.targets) for rows in results])
            chosen = rng.integers(len(queries), size=(DRAWS, len(queries)))  # the same queries for each system
            means.append(shares.mean(1))
            draws.append(np.stack([of_system[chosen].mean(1) for of_system in shares]))
            name = f"{queries.row.task} {modalities_of(queries.row.task)}"
            lines.append([name, queries.row.dataset, len(queries), *estimates(means[-1], draws[-1])])
        averages[instruction] = estimates(np.mean(means, axis=0), np.mean(draws, axis=0))
        columns = [Column("task"), Column("dataset"), Column("queries"), *(Column(name, "%") for name in SYSTEMS)]
        by_row.append(Table(f"By row, instruction: {instruction}", columns, lines))
    rows = [[system, *values] for system, *values in zip(SYSTEMS, *averages.values(), strict=True)]
    columns = [Column("system"), *(Column(f"instruction: {name}", "%") for name in sets)]
    title = f"Right kind among the first {FIRST} results, average of {len(sets['known'])} rows"
    return [Table(title, columns, rows), *by_row]


def estimates(values: np.ndarray, draws: np.ndarray) -> list[Estimate]:
    """Values (s,) of the systems with the intervals of their draws (s, ·)."""
    return [(float(value), *interval(each)) for value, each in zip(values, draws, strict=True)]


def main(arguments: list[str]) -> None:
    parser = command_parser(MODULE, __doc__)
    add_evaluated(parser)
    given = parser.parse_args(arguments)
    keep_freed_memory()
    engine, collection = Engine.load(given.run, given.device), collection_of(given.run, given.collection)
    sets = asked(engine, collection, given.split, given.limit, given.seed)
    tables = measure(engine, collection, sets, given.seed)
    settings = f"{sum(map(len, sets['known'])):,} {given.split} queries, {engine.index.n:,} items, seed {given.seed}."
    report = Report("Right kind", f"{NOTE} {settings}", command_line(MODULE, arguments), version(given.run), tables)
    report.save(given.run / "reports" / "right_kind.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
