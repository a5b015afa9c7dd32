"""How well are items found that were added after training, compared with items seen in training?

    python -m genius.evaluation.growing RUN
    python -m genius.evaluation.growing RUN --collection DIR --fractions 10,30,50

Present items are positives of a training query. Added items are positives of none, so the quantizer
was not trained on them; neither was the decoder, unless every candidate was its own query (the
report says so; train a decoder without them with --set decoder.self_queries=false). A grown
collection holds all present items, and added items, drawn by seed, up to the given fraction; if
there are too few, all of them and fewer present ones. An added item has the ID that indexing gives
it (genius/index/update.py), so grown collections are pools of the run's index. Prints a table and
writes RUN/reports/growing.json and .md.

Shapes: q queries, n items of the index.
"""

import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation import NOTES
from genius.evaluation.arguments import (
    add_beams,
    command_line,
    evaluation_parser,
    opened,
    parse_integers,
)
from genius.evaluation.figures import DRAWS, Estimate
from genius.evaluation.queries import EncodedSplit, TargetGroups, training_targets
from genius.evaluation.systems import SearchedPool
from genius.metrics.hit_rate import bootstrap_shares, interval
from genius.reports import Column, Report, Table, program_version
from genius.search.engine import Engine

MODULE = "genius.evaluation.growing"
SYSTEMS = ("dense", "scan", "beam", "beam + re-rank")
FUSED = "both + fused"  # also measured where the index keeps fused features


def measure(
    engine: Engine,
    collection: Collection,
    queries: EncodedSplit,
    fractions: Sequence[int],
    beams: int,
    seed: int,
) -> Table:
    """fractions: percent of the grown collection that was added. Raises UserError if the index
    lacks either kind.

    A query with positives of both kinds, or with none in the index, is in neither group.
    """
    index = engine.index
    targets = training_targets(collection, engine.index)
    rng = np.random.default_rng(seed)
    absent = rng.permutation(np.flatnonzero(~targets))
    present = rng.permutation(np.flatnonzero(targets))
    if not len(present) or not len(absent):
        raise UserError(
            f"{len(present):,} of the {index.n:,} items in the index are positives of "
            "training queries; the comparison "
            "needs some that are and some that are not: index all candidates"
        )
    systems = (*SYSTEMS, FUSED) if engine.index.fused is not None else SYSTEMS
    groups = TargetGroups.of(queries.qrels, targets)
    lines = []
    for fraction in tqdm((0, *fractions), desc="search collections", unit="collection"):
        added = min(round(len(present) * fraction / (100 - fraction)), len(absent))
        kept = round(added * (100 - fraction) / fraction) if added == len(absent) else len(present)
        rows = np.sort(np.concatenate([present[:kept], absent[:added]]))
        pool = SearchedPool(engine, index.pool(rows, engine.device), rows, systems)
        (found,) = pool.search(queries.encoded, queries.qrels, [beams])
        answered = queries.qrels.count(np.isin(np.arange(index.n), rows)) > 0
        for group, members in (("present", groups.every), ("added", groups.none)):
            if (inside := members & answered).any():
                rates = hit_rates(found[inside[found["query"]]], queries.cuts, seed)
                dense, last = rates["dense"][0], rates[systems[-1]][0]
                shown = [rates[system] for system in systems]
                share = last / dense if dense else None
                lines.append([f"{fraction} %", len(rows), group, int(inside.sum()), *shown, share])
    columns = [Column("added"), Column("items"), Column("answered by"), Column("queries")]
    columns += [*(Column(system, "%") for system in systems), Column("of dense", digits=2)]
    return Table("Hit rate in collections that grew", columns, lines)


def hit_rates(found: pd.DataFrame, cuts: np.ndarray, seed: int) -> dict[str, Estimate]:
    """System -> hit rate of what was found, each query at its own cut (q,), and its 95 %
    interval.
    """
    rates = {}
    for system, of_system in found.groupby("system", sort=False):
        hits = of_system["rank"].to_numpy() <= cuts[of_system["query"]]
        rates[system] = (
            float(hits.mean()),
            *interval(bootstrap_shares(hits, DRAWS, np.random.default_rng(seed))),
        )
    return rates


def main(arguments: list[str]) -> None:
    parser = evaluation_parser(MODULE, __doc__)
    added = "percent of the grown collection that was added (default: %(default)s)"
    parser.add_argument("--fractions", default="10,30,50", metavar="P,P,…", help=added)
    add_beams(parser)
    given = parser.parse_args(arguments)
    fractions = parse_integers(given.fractions, "--fractions", 1, 99)
    engine, collection = opened(given)
    queries = EncodedSplit.read(engine, collection, given.split, given.limit, given.seed)
    table = measure(engine, collection, queries, fractions, given.beams, given.seed)
    settings = f"{given.split} queries, {given.beams} beams, seed {given.seed}. {NOTES['growing']}"
    note = f"{NOTES['growing_lead']}\n\n{settings}"
    assert engine.run
    if engine.run.settings.decoder.self_queries:
        note += f" {NOTES['growing_self_queries']}"
    report = Report(
        "Items added after training",
        note,
        command_line(MODULE, arguments),
        program_version(given.run),
        [table],
    )
    report.save(given.run / "reports" / "growing.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
