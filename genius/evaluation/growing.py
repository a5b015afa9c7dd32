"""How well are items found that were added after training, compared with items seen in training?

    python -m genius.evaluation.growing RUN
    python -m genius.evaluation.growing RUN --collection DIR --fractions 10,30,50

Present items are positives of a training query. Added items are positives of none, so the quantizer was not trained on
them; neither was the decoder, unless every candidate was its own query (the report says so; train a decoder without
them with --set decoder.self_queries=false). A grown collection holds all present items, and added items, drawn by
seed, up to the given fraction; if there are too few, all of them and fewer present ones. An added item has the ID that
indexing gives it (genius/index/update.py), so grown collections are pools of the run's index. Prints a table and
writes RUN/reports/growing.json and .md.

Shapes: q queries, n items of the index.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_beams,
    add_collection_and_device,
    add_limit,
    add_run,
    add_seed,
    add_split,
    command_line,
    command_parser,
    parse_integers,
)
from genius.evaluation.encoded_queries import EncodedRow, EncodedSplit
from genius.evaluation.queries import TargetGroups, training_targets
from genius.evaluation.redraw import run_collection
from genius.evaluation.summary import DRAWS
from genius.evaluation.systems import ranks_by_system
from genius.evaluation.tables import UNKNOWN, between, table
from genius.files import write_report
from genius.metrics.hit_rate import Qrels, bootstrap_shares, interval
from genius.runtime import keep_freed_memory
from genius.search.engine import Engine

BEAM_SYSTEMS = ("beam", "beam + re-rank")
SYSTEMS = ("dense", "quantized", *BEAM_SYSTEMS)
RANKED = "fast + ranker"  # also measured where the run has a ranker
SELF_QUERIES = """The decoder of this run learned every candidate as its own query, including added ones, but not
their labeled queries. To measure items that it never saw, train with `--set decoder.self_queries=false`."""
DEFINITIONS = """*present*: queries answered by items that are also positives of training queries. *added*: by items
that are not. *Of dense*: the last system as a share of dense search for the same queries; the encoder behind both was
also trained on the present items."""


def split_by_target(queries: EncodedSplit, targets: np.ndarray) -> dict[str, np.ndarray]:
    """Group -> numbers of the queries all of whose positives are in it; targets (n,) bool: the item is present.

    A query with positives of both kinds, or with none in the index, is in neither group.
    """
    groups = TargetGroups.of(Qrels.from_lists([rows.tolist() for rows in queries.positives]), targets)
    return {"present": np.flatnonzero(groups.every), "added": np.flatnonzero(groups.none)}


def measure(
    engine: Engine,
    collection: Collection,
    *,
    split: str = "test",
    fractions: Sequence[int] = (10, 30, 50),
    beams: int = 50,
    limit: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The report, ready for JSON. fractions: percent of the grown collection that was added.

    Raises UserError if the index holds no items of one kind.
    """
    index, targets, rng = engine.index, training_targets(collection, engine.index), np.random.default_rng(seed)
    absent, present = rng.permutation(np.flatnonzero(~targets)), rng.permutation(np.flatnonzero(targets))
    if not len(present) or not len(absent):
        raise UserError(
            f"{len(present):,} of the {index.n:,} items in the index are positives of training queries; the comparison "
            "needs some that are and some that are not: index all candidates"
        )
    queries = EncodedSplit.read(engine, collection, split, limit, seed)
    collections = []
    for fraction in tqdm((0, *fractions), desc="search collections", unit="collection"):
        added = min(round(len(present) * fraction / (100 - fraction)), len(absent))
        kept = round(added * (100 - fraction) / fraction) if added == len(absent) else len(present)
        rows = np.sort(np.concatenate([present[:kept], absent[:added]]))
        collections.append(
            {
                "fraction": fraction,
                "items": len(rows),
                "added": added,
                "groups": _hit_rates(engine, queries, rows, targets, beams, seed),
            }
        )
    return {"split": split, "beams": beams, "limit": limit, "seed": seed, "collections": collections}


def _hit_rates(
    engine: Engine, queries: EncodedSplit, rows: np.ndarray, targets: np.ndarray, beams: int, seed: int
) -> dict[str, Any]:
    """Group -> figures of its queries with a positive in the collection `rows`; groups without queries are left out."""
    pool, inside, figures = engine.index.pool(rows, engine.device), np.isin(np.arange(len(targets)), rows), {}
    for group, members in split_by_target(queries, targets).items():
        chosen = np.array([number for number in members if inside[queries.positives[number]].any()], dtype=np.int64)
        if len(chosen):
            encoded = EncodedRow([queries.encoded.select(torch.from_numpy(chosen).to(engine.device))])
            qrels = Qrels.from_lists([queries.positives[number].tolist() for number in chosen])
            systems = (*SYSTEMS, RANKED) if engine.has_ranker else SYSTEMS
            ranks = ranks_by_system(systems, engine, pool, rows, encoded, qrels, beams)
            figures[group] = {
                "queries": len(chosen),
                "systems": {system: _rate(found, queries.cuts[chosen], seed) for system, found in ranks.items()},
            }
    return figures


def _rate(ranks: np.ndarray, cuts: np.ndarray, seed: int) -> dict[str, Any]:
    """Hit rate of queries, each at its own cut, and its 95 % interval."""
    hits = ranks <= cuts
    low, high = interval(bootstrap_shares(hits, DRAWS, np.random.default_rng(seed)))
    return {"hit": float(hits.mean()), "interval": [low, high]}


def markdown(report: dict[str, Any]) -> str:
    rows = []
    for grown in report["collections"]:
        for group, figures in grown["groups"].items():
            rates = figures["systems"]
            dense, found = (rates[system]["hit"] for system in ("dense", [*rates][-1]))
            row = {
                "added": f"{grown['fraction']} %",
                "items": f"{grown['items']:,}",
                "answered by": group,
                "queries": f"{figures['queries']:,}",
            }
            for system in rates:
                row[system] = between(rates[system]["hit"], *rates[system]["interval"])
            rows.append(row | {"of dense": f"{found / dense:.2f}" if dense else UNKNOWN})
    parts = [
        "# Items added after training",
        f"- `{report['command']}`\n- {report['split']} queries, {report['beams']} beams, seed {report['seed']}; "
        "hit rate at 5, at 10 for Fashion200K and FashionIQ",
        DEFINITIONS,
        *([SELF_QUERIES] if report["own_queries"] else []),
        table(rows, text_columns=0),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.growing", __doc__)
    add_run(parser)
    add_collection_and_device(parser)
    add_split(parser)
    parser.add_argument(
        "--fractions",
        default="10,30,50",
        metavar="P,P,…",
        help="percent of the grown collection that was added (default: 10,30,50)",
    )
    add_beams(parser)
    add_limit(parser)
    add_seed(parser, "instructions, samples and intervals")
    options = parser.parse_args(arguments)
    fractions = parse_integers(options.fractions, "--fractions", 1, 99)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    report = {
        "command": command_line("genius.evaluation.growing", arguments),
        "run": options.run.resolve().name,
        "own_queries": engine.run.settings.decoder.self_queries,
    }
    with run_collection(options.run, options.collection, options.split) as collection:
        report |= measure(
            engine,
            collection,
            split=options.split,
            fractions=fractions,
            beams=options.beams,
            limit=options.limit,
            seed=options.seed,
        )
    write_report(options.run / "reports" / "growing", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
