"""Right kind: do results follow the instruction to look for an image, a text or a pair of both?

    python -m genius.evaluation.right_kind RUN
    python -m genius.evaluation.right_kind RUN --collection DIR --limit 50

No search is restricted to a kind. The test queries that have an answer in the index are asked with
an instruction that training knew, with one in words that training never used and one for another
kind of item, if the collection has such, and with none. Prints tables and writes
RUN/reports/right_kind.json and .md.

Shapes: q queries of a row, n items of the index, k results, c first codes.
"""

import sys
from dataclasses import replace
from functools import partial

import numpy as np

from genius.collections.mbeir import Collection
from genius.collections.records import Instructions
from genius.errors import exit_on_user_error
from genius.evaluation import NOTES
from genius.evaluation.arguments import command_line, evaluation_parser, opened
from genius.evaluation.figures import DRAWS, Estimate
from genius.evaluation.paper import modalities_of
from genius.evaluation.queries import EncodedSplit, QuerySet, in_batches, read_queries, seeded_hash
from genius.index.store import Index
from genius.metrics.hit_rate import Qrels, interval
from genius.reports import Cell, Column, Report, Table, program_version
from genius.schema import Modality, SearchOptions
from genius.search.dense import flat_search
from genius.search.engine import Engine, batch_size
from genius.search.retrieval import EncodedQueries
from genius.trie.code_table import CodeTable

MODULE = "genius.evaluation.right_kind"
FIRST = 5  # results that are looked at
SEARCHES = {
    "as served": SearchOptions(k=FIRST),
    "both + re-rank": SearchOptions(k=FIRST, order="cosine"),
    "scan": SearchOptions(k=FIRST, mode="scan", order="score"),
    "beam": SearchOptions(k=FIRST, mode="generate", order="score"),
}
SYSTEMS = ("dense", *SEARCHES, "first code")


def asked(
    engine: Engine, collection: Collection, split: str, limit: int | None, seed: int
) -> dict[str, list[QuerySet]]:
    """The queries of each row under each kind of instruction. Raises UserError as `read_queries`
    does.
    """
    read = partial(
        read_queries, collection, engine.index, split, limit=limit, seed=seed, answerable=True
    )
    sets = {"known": read()}
    if collection.has_held_out_instructions():
        sets["held out"] = read(held_out=True)
    swapped = [
        swap_instructions(queries, collection.instructions(), seed) for queries in sets["known"]
    ]
    if others := [queries for queries in swapped if len(queries)]:
        sets["swapped"] = others
    return sets | {
        "none": [replace(queries, instructions=[""] * len(queries)) for queries in sets["known"]]
    }


def swap_instructions(queries: QuerySet, phrasings: Instructions, seed: int) -> QuerySet:
    """The queries of a row with an instruction for another target modality; queries without one are
    left out.

    The instruction is one for queries of the same modality, chosen by seed and query id. Positives
    are unknown, so there are none.
    """
    chosen, instructions, targets = [], [], []
    for query, target in zip(queries.queries, queries.targets, strict=True):
        others = sorted(key for key in phrasings if key[1] == query.modality and key[2] != target)
        if others:
            key = others[seeded_hash(seed, "swap", query.id) % len(others)]
            chosen.append(query)
            instructions.append(
                phrasings[key][seeded_hash(seed, "instruction", query.id) % len(phrasings[key])]
            )
            targets.append(key[2])
    return replace(
        queries,
        queries=chosen,
        instructions=instructions,
        qrels=Qrels.from_lists([[]] * len(chosen)),
        targets=np.array(targets, dtype=np.int64),
    )


def kinds_of_results(engine: Engine, queries: EncodedQueries) -> dict[str, np.ndarray]:
    """System -> the modality of each of its results (q, k), −1 where there are no more."""
    rows = {
        "dense": flat_search(engine.index.embeddings, queries.embeddings.cpu().numpy(), FIRST)[1]
    }
    for name, options in SEARCHES.items():
        found = [
            engine.retrieve(batch, options)
            for batch in in_batches(queries, batch_size(options.beams))
        ]
        rows[name] = np.concatenate([each.ranked.rows for each in found])
    first_codes = np.concatenate([each.first_log_probs.argmax(-1).cpu().numpy() for each in found])
    modalities = engine.index.modalities.astype(np.int64)
    kinds = {name: np.where(each >= 0, modalities[each], -1) for name, each in rows.items()}
    return kinds | {"first code": kinds_of_first_codes(engine.index)[first_codes][:, None]}


def kinds_of_first_codes(index: Index) -> np.ndarray:
    """(c,) the modality of most items with each first code: the code itself, unless first codes
    emerged.
    """
    table = index.pool().table
    codes = CodeTable(table).match(()).codes(0)
    counts = np.zeros((index.code_sizes[0], len(Modality)))
    np.add.at(counts, (codes, index.modalities[table.rows]), 1)
    return counts.argmax(1)


def right_shares(kinds: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(q,) share of the results that are of each query's target modality; kinds (q, k), targets
    (q,).
    """
    return (kinds == targets[:, None]).sum(1) / (kinds >= 0).sum(1)


def measure(
    engine: Engine, collection: Collection, sets: dict[str, list[QuerySet]], seed: int
) -> list[Table]:
    """Averages over the rows, then a table by row for each kind of instruction."""
    by_row = []
    averages = {}
    for instruction, of_rows in sets.items():
        encoded = EncodedSplit.encode(engine, collection, of_rows)
        rng = np.random.default_rng(seed)
        lines: list[list[Cell]] = []
        means, draws = [], []
        for queries, row in zip(of_rows, encoded.rows, strict=True):
            kinds = kinds_of_results(engine, row)
            shares = np.stack([right_shares(kinds[system], queries.targets) for system in SYSTEMS])
            # the same queries for each system
            chosen = rng.integers(len(queries), size=(DRAWS, len(queries)))
            means.append(shares.mean(1))
            draws.append(np.stack([of_system[chosen].mean(1) for of_system in shares]))
            name = f"{queries.row.task} {modalities_of(queries.row.task)}"
            lines.append(
                [name, queries.row.dataset, len(queries), *estimates(means[-1], draws[-1])]
            )
        averages[instruction] = estimates(np.mean(means, axis=0), np.mean(draws, axis=0))
        columns = [
            Column("task"),
            Column("dataset"),
            Column("queries"),
            *(Column(name, "%") for name in SYSTEMS),
        ]
        by_row.append(Table(f"By row, instruction: {instruction}", columns, lines))
    rows = [[system, *values] for system, *values in zip(SYSTEMS, *averages.values(), strict=True)]
    columns = [Column("system"), *(Column(f"instruction: {name}", "%") for name in sets)]
    title = f"Right kind among the first {FIRST} results, average of {len(sets['known'])} rows"
    return [Table(title, columns, rows), *by_row]


def estimates(values: np.ndarray, draws: np.ndarray) -> list[Estimate]:
    """Values (s,) of the systems with the intervals of their draws (s, ·)."""
    return [(float(value), *interval(each)) for value, each in zip(values, draws, strict=True)]


def main(arguments: list[str]) -> None:
    given = evaluation_parser(MODULE, __doc__).parse_args(arguments)
    engine, collection = opened(given)
    sets = asked(engine, collection, given.split, given.limit, given.seed)
    tables = measure(engine, collection, sets, given.seed)
    queries = sum(map(len, sets["known"]))
    settings = f"{queries:,} {given.split} queries, {engine.index.n:,} items, seed {given.seed}."
    note = f"{NOTES['right_kind_lead'].format(first=FIRST)}\n\n{NOTES['right_kind']} {settings}"
    rates = {system: known.split()[0] for system, known, *_ in tables[0].texts()}
    headline = (
        f"{rates['as served']} % of the first results are of the kind asked for; "
        f"{rates['dense']} % by dense search"
    )
    command = command_line(MODULE, arguments)
    report = Report(
        "Right kind", note, command, program_version(given.run), tables, headline=headline
    )
    report.save(given.run / "reports" / "right_kind.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
