"""Which pictures does a run report as out of distribution? Those of a folder, and those of its own test queries.

    python -m genius.evaluation.ood RUN FOLDER [--limit 200]

Prints both shares and writes RUN/reports/outside.json. For a run that was trained on the demo world, that world is
redrawn from its seed.
"""

from __future__ import annotations

import heapq
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from genius.collections.images import SUFFIXES, open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_collection_and_device,
    add_run,
    add_seed,
    command_line,
    command_parser,
    parse_positive,
)
from genius.evaluation.queries import stable_hash
from genius.evaluation.redraw import run_collection
from genius.files import write_json
from genius.runtime import keep_freed_memory
from genius.schema import Query
from genius.search.engine import Engine


def folder_pictures(folder: Path, limit: int, seed: int) -> list[Path]:
    """At most `limit` picture files below a folder, a sample fixed by the seed. Raises UserError if there are none."""
    names = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES}
    if not names:
        raise UserError(f"{folder} holds no pictures; name a folder of PNG, JPEG or WebP files")
    return [
        folder / name for name in heapq.nsmallest(limit, names, key=lambda name: stable_hash(seed, "outside", name))
    ]


def query_pictures(collection: Collection) -> list[Path]:
    """The picture of each test query that has one. Raises UserError if none has."""
    paths = [collection.image_path(query.image) for query in collection.queries("test") if query.image]
    if not paths:
        raise UserError(f"{collection.root} has no test query with a picture; name another: --collection DIR")
    return paths


def measure(engine: Engine, paths: list[Path]) -> dict[str, Any]:
    """{"pictures": count, "far": share out of distribution}. Raises UserError for an unreadable picture."""
    far = [engine.is_out_of_distribution(Query(image=open_image(path))) for path in tqdm(paths, unit="picture")]
    return {"pictures": len(far), "far": sum(far) / len(far)}


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.ood", __doc__)
    add_run(parser)
    parser.add_argument("folder", type=Path, help="pictures from outside the collection")
    add_collection_and_device(parser)
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=200,
        metavar="N",
        help="a sample of the folder (default: %(default)s)",
    )
    add_seed(parser, "the sample")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    if engine.ood_detector is None:
        raise UserError(
            f"{options.run} has no out-of-distribution detector; build its index again from a collection with more "
            "pictures among its items and validation queries: python -m training.index COLLECTION RUN"
        )
    outside = measure(engine, folder_pictures(options.folder, options.limit, options.seed))
    with run_collection(options.run, options.collection, "test") as collection:
        queries = measure(engine, query_pictures(collection))
    write_json(
        options.run / "reports" / "outside.json",
        {
            "command": command_line("genius.evaluation.ood", arguments),
            "run": options.run.resolve().name,
            "folder": options.folder.resolve().name,
            "outside": outside,
            "queries": queries,
        },
    )
    print(
        f"out of distribution: {outside['far']:.1%} of {outside['pictures']} pictures of {options.folder}, "
        f"{queries['far']:.1%} of the {queries['pictures']} test queries with a picture"
    )


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
