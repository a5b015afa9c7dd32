"""Evaluate a run; prints the tables and writes RUN/reports/retrieval.json and .md.

    python -m genius.evaluation RUN
    python -m genius.evaluation RUN --beams 1,5,10,20,30,50 --untrained-encoder
    python -m genius.evaluation RUN --beams 30,50 --every-phrasing      # the paper's tables beside ours

A run that was trained on the procedural world is evaluated on that world, redrawn from its seed.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import PHRASINGS
from genius.evaluation.redraw import World, picture_digest
from genius.evaluation.report import OTHER_PICTURES, markdown
from genius.files import write_json, write_text
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import FAST_DTYPES, SearchOptions
from genius.search.checks import checked_options
from genius.search.engine import Engine


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m genius.evaluation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("--collection", type=Path, help="by default the one that the run was trained on")
    parser.add_argument("--split", choices=SPLITS[1:], default="test")
    parser.add_argument(
        "--beams",
        default="50",
        metavar="N,N,…",
        help="beam sizes: the largest for the tables, all for the sweep (default: 50)",
    )
    parser.add_argument(
        "--decoder-weight",
        type=float,
        metavar="W",
        help="1: the decoder alone, 0: the geometry of the codes alone, between: a blend of both "
        "(default: as the run was tuned)",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="evaluate a sample of N queries a row")
    parser.add_argument(
        "--instruction",
        choices=PHRASINGS,
        default="seeded",
        help="which phrasing a query gets: one by seed and query id, the first, or by seed one "
        "that training never read",
    )
    parser.add_argument("--seed", type=int, default=0, help="of instructions, samples and intervals")
    parser.add_argument(
        "--every-phrasing",
        action="store_true",
        help="also ask every query in every phrasing: the mean over them, the lowest, the highest",
    )
    parser.add_argument(
        "--untrained-encoder",
        action="store_true",
        help="compare with dense search by the same encoder untrained, which encodes every item anew",
    )
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    parser.add_argument(
        "--fast-dtype",
        choices=FAST_DTYPES,
        default=FAST_DTYPES[0],
        help="arithmetic of the decoder in mode fast (%(default)s)",
    )
    given = parser.parse_args(arguments)
    options = EvaluationOptions(
        given.split,
        beam_sizes(given.beams),
        positive(given.limit),
        given.seed,
        given.instruction,
        given.untrained_encoder,
        checked_options(SearchOptions(decoder_weight=given.decoder_weight)).decoder_weight,
        given.every_phrasing,
    )
    keep_freed_memory()
    engine = Engine.load(given.run, given.device, given.fast_dtype)
    facts = {"command": shlex.join(["python", "-m", "genius.evaluation", *arguments]), "run": given.run.resolve().name}
    world = None if given.collection else World.of(Run(given.run).manifest)
    if world:
        report = facts | evaluate_redrawn(engine, world, options)
    else:
        collection = Collection(given.collection or trained_on(given.run))
        report = facts | {"collection": collection.root.resolve().name} | evaluate(engine, collection, options)
    text = markdown(report)
    write_json(given.run / "reports" / "retrieval.json", report)
    write_text(given.run / "reports" / "retrieval.md", text)
    print(text)


def evaluate_redrawn(engine: Engine, world: World, options: EvaluationOptions) -> dict[str, Any]:
    """The report on the world that the run was trained on, drawn for it and deleted after."""
    with tempfile.TemporaryDirectory() as scratch:
        collection = world.redraw(Path(scratch), options.split, every_picture=options.untrained)
        same = None
        if world.pictures and options.split == "test":
            same = picture_digest(collection) == world.pictures
        if same is False:
            print(OTHER_PICTURES, file=sys.stderr)
        facts = {"collection": f"the world of seed {world.seed}", "world": asdict(world) | {"same_pictures": same}}
        return facts | evaluate(engine, collection, options)


def beam_sizes(text: str) -> tuple[int, ...]:
    """ "10,1,5" -> (1, 5, 10). Raises UserError for what is no beam size."""
    try:
        sizes = {int(size) for size in text.split(",")}
    except ValueError:
        raise UserError(f"--beams {text}: expected whole numbers with commas, e.g. 1,5,10,20,30,50") from None
    return tuple(sorted(checked_options(SearchOptions(beams=size)).beams for size in sizes))


def positive(limit: int | None) -> int | None:
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: expected at least 1 query a row")
    return limit


def trained_on(run: Path) -> Path:
    """The collection that a run's manifest names. Raises UserError if it names none, or it is gone."""
    recorded = Run(run).manifest.get("collection")
    if recorded is None or not Path(recorded).is_dir():
        raise UserError(
            f"{run} does not say which collection it was trained on, or that is gone; name it: --collection DIR"
        )
    return Path(recorded)


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
