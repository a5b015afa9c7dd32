"""What the decoder and the order of a run are worth: every way to search and to rank, on its test
queries.

    python -m training.benchmarks.worth RUN
    python -m training.benchmarks.worth RUN --collection DIR --limit 50

Candidates are those of the scan, of the beam search (its scores those of the decoder, of the codes'
geometry, or both blended as the run was tuned) and of both, in each order that the run has. Prints
tables of hit rates by row and on average, with 95 % intervals, and writes RUN/reports/worth.json
and .md.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from genius.evaluation.arguments import add_beams, command_line, evaluation_parser, opened
from genius.evaluation.figures import PoolFigures, pool_figures, row_figures
from genius.evaluation.pools import PoolKind
from genius.evaluation.queries import EncodedSplit, read_queries, training_targets
from genius.evaluation.report import averages_table, by_row, differences_table, hit_table
from genius.evaluation.systems import SearchedPool, id_systems, search_by_ids
from genius.reports import Column, Report, program_version
from genius.search.engine import Engine
from training import NOTES
from training.distributed import run_alone

MODULE = "training.benchmarks.worth"
COMPARED = [
    ("beam", "beam by geometry"),
    ("beam", "beam by decoder"),
    ("both + fused", "scan + fused"),
    ("both + fused", "both + re-rank"),
]


def measure(
    engine: Engine, queries: EncodedSplit, targets: np.ndarray, beams: int, seed: int
) -> PoolFigures:
    """targets (n,) bool: the item was a training target."""
    systems = id_systems(beams, engine.index.fused is not None)
    systems |= {
        "beam by geometry": replace(systems["beam"], decoder_weight=0.0),
        "beam by decoder": replace(systems["beam"], decoder_weight=1.0),
    }
    compared = [pair for pair in COMPARED if set(pair) <= systems.keys()]
    compared += [(name, "dense") for name in systems]
    measured = []
    rows = np.arange(engine.index.n)
    for number, (query_set, row) in enumerate(zip(queries.sets, queries.rows, strict=True)):
        dense = SearchedPool(engine, engine.pool, rows).dense(row, query_set.qrels)
        by_ids = search_by_ids(systems, engine, engine.pool, row, query_set.qrels)
        found = pd.concat([dense, *by_ids], ignore_index=True)
        rng = np.random.default_rng((seed, number))
        measured.append(row_figures(found, query_set, rows, targets, rng, compared))
    return pool_figures(PoolKind("global", "indexed"), beams, measured)


def main(arguments: Sequence[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = evaluation_parser(MODULE, __doc__)
    add_beams(parser)
    given = parser.parse_args(arguments)
    engine, collection = opened(given)
    sets = read_queries(
        collection, engine.index, given.split, limit=given.limit, seed=given.seed, answerable=True
    )
    queries = EncodedSplit.encode(engine, collection, sets)
    targets = training_targets(collection, engine.index)
    pool = measure(engine, queries, targets, given.beams, given.seed)
    names = pool.average.systems.index.drop("dense")
    against = by_row(
        "Hit rate less that of dense search, by row",
        pool,
        [Column(name, "%") for name in names],
        lambda row: [row.difference(f"{name} − dense") for name in names],
        "In percentage points.",
    )
    facts = {
        "queries": len(queries.encoded.z),
        "items": engine.index.n,
        "beams": given.beams,
        "seed": given.seed,
    }
    note = f"{NOTES['worth_lead']}\n\n{NOTES['worth'].format(**facts)}"
    tables = [averages_table([pool]), differences_table([pool]), hit_table(pool), against]
    command = command_line(MODULE, arguments)
    title = "What the decoder and the order are worth"
    report = Report(title, note, command, program_version(given.run), tables)
    report.save(given.run / "reports" / "worth.json")


if __name__ == "__main__":
    run_alone(main)
