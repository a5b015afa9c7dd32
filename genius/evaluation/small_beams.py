"""What decoder, geometry and shortlist each contribute, at small beams; writes RUN/reports/small_beams.json and .md.

    python -m genius.evaluation.small_beams RUN [--answerable] [--limit 60]

Hit rate and candidate recall (queries with a positive among the candidates) of the IDs that a beam search generates
and of the shortlist of mode fast, by geometry alone, by the decoder alone and by their blend as the run was tuned, for
queries with any target that training saw, and for those with none. `beams`: those that are decoded at each level; mode
fast decodes a quarter of its beam size, so it is asked for four times as many.

Shapes: q queries of a row.
"""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
from tqdm import tqdm

from genius.errors import exit_on_user_error
from genius.evaluation.arguments import (
    add_answerable,
    add_collection_and_device,
    add_limit,
    add_run,
    add_seed,
    command_line,
    command_parser,
    parse_integers,
)
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.queries import TargetGroups, read_queries, training_targets
from genius.evaluation.redraw import run_collection
from genius.evaluation.systems import K, search_beams
from genius.evaluation.tables import percent, table
from genius.files import write_report
from genius.metrics.hit_rate import Qrels, headline_cut
from genius.runtime import keep_freed_memory
from genius.schema import SearchOptions
from genius.search.beam import FAST_BEAM_DIVISOR
from genius.search.checks import MAX_BEAMS
from genius.search.engine import Engine

BEAMS = "1,2,5,10,20,50"
WEIGHTS = {"geometry": 0.0, "decoder": 1.0, "blend": None}  # of the decoder; None: the run's own
ALL, ANY, NONE = TARGETS = ("all", "any target seen", "no target seen")  # groups of queries
MODES = {"exact": "generated IDs", "fast": "shortlist"}


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.small_beams", __doc__)
    add_run(parser)
    add_collection_and_device(parser)
    parser.add_argument("--beams", default=BEAMS, metavar="N,N,…", help="decoded beams (default: %(default)s)")
    add_limit(parser)
    add_answerable(parser)
    add_seed(parser, "instructions and samples")
    options = parser.parse_args(arguments)
    beams = parse_integers(options.beams, "--beams", 1, MAX_BEAMS // FAST_BEAM_DIVISOR)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    with run_collection(options.run, options.collection, "test") as collection:
        sets = read_queries(
            collection,
            engine.index,
            "test",
            limit=options.limit,
            seed=options.seed,
            phrasing="seeded",
            answerable=options.answerable,
        )
        queries = EncodedSplit.encode(engine, collection, sets)
        seen = training_targets(collection, engine.index)
    report = {
        "command": command_line("genius.evaluation.small_beams", arguments),
        "queries": len(queries.cuts),
        "unseen": int(sum((split_by_targets(some.qrels, seen)[NONE]).sum() for some in sets)),
        "ranking": "ranker" if engine.has_ranker else "cosine",
        "measured": measure(engine, queries, seen, beams),
    }
    write_report(options.run / "reports" / "small_beams", report, markdown(report))


def measure(engine: Engine, queries: EncodedSplit, seen: np.ndarray, beams: tuple[int, ...]) -> list[dict[str, Any]]:
    """For each mode, scores and beams: means over rows of the shares of queries. seen (n,) bool: training targets."""
    ranking, found = "ranker" if engine.has_ranker else "cosine", []
    for mode, name, width in tqdm([*product(MODES, WEIGHTS, beams)], desc="searches", unit="setting"):
        options = SearchOptions(
            beams=width * FAST_BEAM_DIVISOR if mode == "fast" else width,
            k=K,
            mode=mode,
            decoder_weight=WEIGHTS[name],
            ranking=ranking,
        )
        shares: dict[str, list[float]] = {}
        for row, some in zip(queries.rows, queries.sets, strict=True):
            results = search_beams({name: options}, engine, engine.pool, row, some.qrels)
            hits = results.ranks[name] <= headline_cut(some.row.dataset)
            for targets, chosen in split_by_targets(some.qrels, seen).items():
                for outcome, values in (("recall", results.beams[name].recalled), ("hit rate", hits)):
                    if chosen.any():
                        shares.setdefault(f"{outcome}, {targets}", []).append(float(values[chosen].mean()))
        means = {outcome: float(np.mean(values)) for outcome, values in shares.items()}
        found.append({"mode": mode, "scores": name, "beams": width} | means)
    return found


def split_by_targets(qrels: Qrels, seen: np.ndarray) -> dict[str, np.ndarray]:
    """(q,) bool each: all queries, those with any positive that training saw, and those whose positives it never saw.

    A query without a positive in the index, which nothing can find, is in neither of the last two.
    """
    groups = TargetGroups.of(qrels, seen)
    return {ALL: np.ones_like(groups.some), ANY: groups.some, NONE: groups.none}


def markdown(report: dict[str, Any]) -> str:
    """A table for each mode and outcome: beams down, scores and targets across."""
    parts = [
        "# Small beams",
        f"`{report['command']}`; {report['queries']:,} test queries, {report['unseen']:,} of them without any target "
        f"that training saw; means over rows, results ordered by the {report['ranking']}.",
    ]
    for outcome, (mode, candidates) in product(("recall", "hit rate"), MODES.items()):
        of_mode = [entry for entry in report["measured"] if entry["mode"] == mode]
        rows = [
            {"beams": str(width)}
            | {
                f"{entry['scores']}, {targets}": percent(entry.get(f"{outcome}, {targets}"))
                for entry in of_mode
                if entry["beams"] == width
                for targets in TARGETS
            }
            for width in dict.fromkeys(entry["beams"] for entry in of_mode)
        ]
        parts += [f"## {outcome.capitalize()}, {candidates}", table(rows, text_columns=0)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
