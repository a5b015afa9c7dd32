"""Evaluate a run; prints the tables and writes RUN/reports/retrieval.json and .md.

    python -m genius.evaluation RUN
    python -m genius.evaluation RUN --beams 1,5,10,20,30,50 --untrained-encoder
    python -m genius.evaluation RUN --beams 30,50 --every-phrasing      # next to the paper's tables

A run that was trained on the demo world is evaluated on that world, redrawn from its seed.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from genius.collections.layout import SPLITS
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import (
    add_collection_and_device,
    add_fast_dtype,
    command_parser,
    integers,
    positive,
    run_collection,
)
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import PHRASINGS
from genius.evaluation.redraw import WorldRecipe, picture_digest
from genius.evaluation.report import DIFFERENT_PICTURES, markdown
from genius.files import write_report
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import SearchOptions
from genius.search.checks import MAX_BEAMS, checked_options
from genius.search.engine import Engine


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation", __doc__)
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    add_collection_and_device(parser)
    parser.add_argument("--split", choices=SPLITS[1:], default="test")
    parser.add_argument(
        "--beams",
        default="50",
        metavar="N,N,…",
        help="beam sizes: the largest for the tables, all for the sweep (default: %(default)s)",
    )
    parser.add_argument(
        "--decoder-weight",
        type=float,
        metavar="W",
        help="1: the decoder alone, 0: the geometry of the codes alone, in between: a blend of both "
        "(default: the run's tuned weight)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="evaluate a sample of N queries per row")
    parser.add_argument(
        "--instruction",
        choices=PHRASINGS,
        default="seeded",
        help="the phrasing of a query's instruction: chosen by seed and query id, the first one, or chosen by seed "
        "among those that training never used (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of instructions, samples and intervals")
    parser.add_argument(
        "--every-phrasing",
        action="store_true",
        help="also search with every phrasing of each query's instruction: mean, lowest and highest hit rate",
    )
    parser.add_argument(
        "--answerable",
        action="store_true",
        help="leave out queries without a positive in the index, where it holds one pool of the collection",
    )
    parser.add_argument(
        "--untrained-encoder",
        action="store_true",
        help="compare with dense search by the same encoder untrained; encodes all items again",
    )
    parser.add_argument(
        "--fused",
        action="store_true",
        help="also search by the fused features of all items; encodes them again, unless training left them in the run",
    )
    add_fast_dtype(parser)
    given = parser.parse_args(arguments)
    manifest = Run(given.run).manifest
    options = EvaluationOptions(
        given.split,
        integers(given.beams, "--beams", 1, MAX_BEAMS),
        positive(given.limit, "--limit"),
        given.seed,
        given.instruction,
        given.untrained_encoder,
        given.fused,
        checked_options(SearchOptions(decoder_weight=given.decoder_weight)).decoder_weight,
        given.every_phrasing,
        given.answerable,
        manifest.get("transferred", {}).get("collection", ""),
    )
    keep_freed_memory()
    engine = Engine.load(given.run, given.device, given.fast_dtype)
    recipe = None if given.collection else WorldRecipe.from_manifest(manifest)
    report = {"command": shlex.join(["python", "-m", "genius.evaluation", *arguments]), "run": given.run.resolve().name}
    every_picture = options.untrained or options.fused
    with run_collection(given.run, given.collection, options.split, every_picture) as collection:
        if recipe is None:
            report["collection"] = collection.root.resolve().name
        else:
            compared = recipe.pictures and options.split == "test"
            same = picture_digest(collection) == recipe.pictures if compared else None
            if same is False:
                print(DIFFERENT_PICTURES, file=sys.stderr)
            report["collection"] = f"the world of seed {recipe.seed}"
            report["world"] = asdict(recipe) | {"same_pictures": same}
        report |= evaluate(engine, collection, options)
    write_report(given.run / "reports" / "retrieval", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
