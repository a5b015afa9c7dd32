"""Evaluate a run; prints the tables and writes RUN/reports/retrieval.json and .md.

    python -m genius.evaluation RUN
    python -m genius.evaluation RUN --beams 1,5,10,20,30,50 --untrained-encoder
    python -m genius.evaluation RUN --beams 30,50 --every-phrasing      # next to the paper's tables

A run that was trained on the demo world is evaluated on that world, redrawn from its seed. The same command
resumes an evaluation that was stopped.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

import torch

from genius.collections.mbeir import Collection
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import (
    add_answerable,
    add_collection_and_device,
    add_decoder_dtype,
    add_limit,
    add_rows,
    add_run,
    add_seed,
    add_split,
    command_line,
    command_parser,
    parse_integers,
)
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.kept_searches import KeptSearches
from genius.evaluation.queries import PHRASINGS
from genius.evaluation.redraw import WorldRecipe, picture_digest, run_collection
from genius.evaluation.report import DIFFERENT_PICTURES, markdown
from genius.files import remove_folder, write_report
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import SearchOptions
from genius.search.checks import MAX_BEAMS, checked_options
from genius.search.engine import Engine

MODULE = "genius.evaluation"
SEARCHES = ".searches"  # folder beside the report while it is made
CHOICES = ("rows", "items")  # options that choose what is searched, without changing what is found


def build_parser() -> argparse.ArgumentParser:
    parser = command_parser(MODULE, __doc__)
    add_run(parser)
    add_collection_and_device(parser)
    add_split(parser)
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
    add_limit(parser)
    parser.add_argument(
        "--instruction",
        choices=PHRASINGS,
        default="seeded",
        help="the phrasing of a query's instruction: chosen by seed and query id, the first one, or chosen by seed "
        "among those that training never used (default: %(default)s)",
    )
    add_seed(parser, "instructions, samples and intervals")
    parser.add_argument(
        "--every-phrasing",
        action="store_true",
        help="also search with every phrasing of each query's instruction: mean, lowest and highest hit rate",
    )
    add_answerable(parser)
    add_rows(parser)
    parser.add_argument(
        "--items",
        default="",
        metavar="ITEMS",
        help="only the pools of all items, or only those of the split's: all or SPLIT",
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
    add_decoder_dtype(parser)
    return parser


def main(arguments: list[str]) -> None:
    options = build_parser().parse_args(arguments)
    manifest = Run(options.run).manifest
    evaluated = EvaluationOptions(
        split=options.split,
        beams=parse_integers(options.beams, "--beams", 1, MAX_BEAMS),
        limit=options.limit,
        seed=options.seed,
        instruction=options.instruction,
        untrained=options.untrained_encoder,
        fused=options.fused,
        decoder_weight=checked_options(SearchOptions(decoder_weight=options.decoder_weight)).decoder_weight,
        every_phrasing=options.every_phrasing,
        answerable=options.answerable,
        rows=options.rows,
        items=options.items,
        trained_on=manifest.get("transferred", {}).get("collection", ""),
    )
    keep_freed_memory()
    engine = Engine.load(options.run, options.device, options.decoder_dtype)
    recipe = None if options.collection else WorldRecipe.from_manifest(manifest)
    report = {"command": command_line(MODULE, arguments), "run": options.run.resolve().name}
    searches = options.run / "reports" / SEARCHES
    facts = [
        {name: part["digest"] for name, part in manifest["parts"].items()},
        {name: value for name, value in asdict(evaluated).items() if name not in CHOICES},
        [str(engine.device), torch.get_num_threads(), engine.decoder_dtype],
    ]
    every_picture = evaluated.untrained or evaluated.fused
    with run_collection(options.run, options.collection, evaluated.split, every_picture) as collection:
        report |= describe_collection(collection, recipe, evaluated.split)
        report |= evaluate(engine, collection, evaluated, KeptSearches(searches, facts))
    write_report(options.run / "reports" / "retrieval", report, markdown(report))
    remove_folder(searches)


def describe_collection(collection: Collection, recipe: WorldRecipe | None, split: str) -> dict[str, Any]:
    """The report's entries about the collection. recipe: of the world that was redrawn; None: it is no such world.

    The pictures of another version of the drawing libraries are named on stderr, too.
    """
    if recipe is None:
        return {"collection": collection.root.resolve().name}
    compared = recipe.pictures and split == "test"
    same = picture_digest(collection) == recipe.pictures if compared else None
    if same is False:
        print(DIFFERENT_PICTURES, file=sys.stderr)
    return {"collection": f"the world of seed {recipe.seed}", "world": asdict(recipe) | {"same_pictures": same}}


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
