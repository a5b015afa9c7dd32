"""Command-line values that several evaluation commands share, and the collection that a run is evaluated on."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.redraw import WorldRecipe
from genius.run import Run
from genius.schema import FAST_DTYPES


def command_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """A parser for `python -m module`, with the module's docstring, up to its shapes, as help text."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=doc.split("\n\nShapes:")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_collection_and_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--collection", type=Path, help="default: the collection that the run was trained on")
    parser.add_argument("--device", help="cpu or cuda (default: a GPU if there is one)")


def add_fast_dtype(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fast-dtype",
        choices=FAST_DTYPES,
        default=FAST_DTYPES[0],
        help="arithmetic of the decoder in mode fast (default: %(default)s)",
    )


def integers(text: str, option: str, low: int, high: int | None = None) -> tuple[int, ...]:
    """ "10,1,5" -> (1, 5, 10). Raises UserError unless they are integers from low to high."""
    try:
        values = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        values = ()
    if not values or values[0] < low or (high is not None and values[-1] > high):
        bounds = f"from {low}" + f" to {high}" * (high is not None)
        raise UserError(f"{option} {text}: expected integers {bounds}, separated by commas")
    return values


def positive(value: int | None, option: str) -> int | None:
    """Raises UserError for a value below 1."""
    if value is not None and value < 1:
        raise UserError(f"{option} {value}: expected at least 1")
    return value


@contextmanager
def run_collection(
    run: Path, named: Path | None, split: str, every_picture: bool = False, records_only: bool = False
) -> Iterator[Collection]:
    """The collection `named`; else the demo world that the run was trained on, redrawn; else the run's collection.

    A redrawn world has the pictures of the split's queries, every picture, or none; it is deleted afterwards.
    """
    recipe = None if named else WorldRecipe.from_manifest(Run(run).manifest)
    if recipe is None:
        yield Collection(named or trained_on(run))
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield recipe.records(Path(scratch)) if records_only else recipe.redraw(Path(scratch), split, every_picture)


def trained_on(run: Path) -> Path:
    """The collection that a run's manifest names. Raises UserError if it names none or the directory is gone."""
    recorded = Run(run).manifest.get("collection")
    if recorded is None or not Path(recorded).is_dir():
        raise UserError(f"the collection that {run} was trained on is unknown or gone; name it: --collection DIR")
    return Path(recorded)
