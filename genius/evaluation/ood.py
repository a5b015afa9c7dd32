"""Which pictures a run calls far from all that it holds: those of a folder, and those of its own test queries.

    python -m genius.evaluation.ood RUN FOLDER [--limit 200]

Prints both shares and writes RUN/reports/outside.json. A run that was trained on the procedural world is asked with
the pictures of that world, redrawn from its seed.
"""

from __future__ import annotations

import argparse
import heapq
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from tqdm import tqdm

from genius.collections.images import SUFFIXES, open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.__main__ import positive, trained_on
from genius.evaluation.queries import draw
from genius.evaluation.redraw import World
from genius.files import write_json
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import Query
from genius.search.engine import Engine


def folder_pictures(folder: Path, limit: int, seed: int) -> list[Path]:
    """At most so many picture files below a folder, a sample fixed by the seed. Raises UserError if there are none."""
    names = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES}
    if not names:
        raise UserError(f"{folder} holds no pictures; name a folder of PNG, JPEG or WebP files")
    return [folder / name for name in heapq.nsmallest(limit, names, key=lambda name: draw(seed, "outside", name))]


def asked_pictures(collection: Collection) -> list[Path]:
    """The picture of each test query that holds one. Raises UserError if none does."""
    paths = [collection.image_path(query.image) for query in collection.queries("test") if query.image]
    if not paths:
        raise UserError(f"{collection.root} has no test query with a picture; name another: --collection DIR")
    return paths


def measure(engine: Engine, paths: list[Path]) -> dict[str, Any]:
    """How many pictures these are, and the share of them that is far. Raises UserError for one that cannot be read."""
    far = [engine.is_out_of_distribution(Query(image=open_image(path))) for path in tqdm(paths, unit="picture")]
    return {"pictures": len(far), "far": sum(far) / len(far)}


def measure_asked(engine: Engine, run: Path, named: Path | None) -> dict[str, Any]:
    """The same for the test queries of the collection that is named, else of the one that the run was trained on."""
    world = None if named else World.of(Run(run).manifest)
    if world is None:
        return measure(engine, asked_pictures(Collection(named or trained_on(run))))
    with tempfile.TemporaryDirectory() as scratch:
        return measure(engine, asked_pictures(world.redraw(Path(scratch), "test")))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m genius.evaluation.ood",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("folder", type=Path, help="pictures from outside the collection")
    parser.add_argument("--limit", type=int, default=200, metavar="N", help="a sample of the folder (default: 200)")
    parser.add_argument("--collection", type=Path, help="by default the one that the run was trained on")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    given = parser.parse_args(arguments)
    keep_freed_memory()
    engine = Engine.load(given.run, given.device)
    if engine.ood_detector is None:
        raise UserError(
            f"{given.run} cannot tell pictures from outside; build its index again from a collection with "
            "more pictures among its items and validation queries: python -m training.index COLLECTION RUN"
        )
    outside = measure(engine, folder_pictures(given.folder, positive(given.limit), given.seed))
    asked = measure_asked(engine, given.run, given.collection)
    write_json(
        given.run / "reports" / "outside.json",
        {
            "command": shlex.join(["python", "-m", "genius.evaluation.ood", *arguments]),
            "run": given.run.resolve().name,
            "folder": given.folder.resolve().name,
            "outside": outside,
            "queries": asked,
        },
    )
    print(
        f"called far: {outside['far']:.1%} of {outside['pictures']} pictures of {given.folder}, "
        f"{asked['far']:.1%} of the {asked['pictures']} test queries with a picture"
    )


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
