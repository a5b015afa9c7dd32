"""The arguments that the evaluation commands share."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.commands import command_parser
from genius.errors import UserError
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.search.batching import leave_cores_to_engines
from genius.search.engine import Engine

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")


def command_line(module: str, arguments: Sequence[str]) -> str:
    """The command as it is typed; reports name it."""
    return shlex.join(["python", "-m", module, *arguments])


def evaluation_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """As `command_parser`, with the run, and which queries of which collection it is asked."""
    parser = command_parser(module, doc)
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument(
        "--collection", type=Path, help="default: the collection that the run was trained on"
    )
    add_device(parser)
    parser.add_argument("--split", choices=SPLITS[1:], default="test", help="default: %(default)s")
    add_number(parser, "--limit", metavar="N", help="a sample of N queries per row")
    add_seed(parser, "instructions, samples and intervals")
    return parser


def opened(given: argparse.Namespace) -> tuple[Engine, Collection]:
    """What the arguments of `evaluation_parser` name. The process keeps its memory and its cores
    for the engine.
    """
    keep_freed_memory()
    leave_cores_to_engines()
    return Engine.load(given.run, given.device), collection_of(given.run, given.collection)


def collection_of(run: Path, named: Path | None) -> Collection:
    """The collection `named`, or else the one that the run was trained on.

    Raises UserError if the run names none or the directory is gone.
    """
    folder = named or Run(run).manifest.get("collection")
    if folder is None or (named is None and not Path(folder).is_dir()):
        raise UserError(
            f"the collection that {run} was trained on is unknown or gone; name it: "
            "--collection DIR"
        )
    return Collection(Path(folder))


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", help="cpu or cuda (default: a GPU if there is one)")


def add_number(
    parser: argparse.ArgumentParser, option: str, least: int = 1, **options: Any
) -> None:
    """Add an option that is an integer of at least `least`."""
    parser.add_argument(option, type=partial(parse_integer, option, least), **options)


def add_beams(parser: argparse.ArgumentParser) -> None:
    add_number(parser, "--beams", default=50, help="beam size (default: %(default)s)")


def add_seed(parser: argparse.ArgumentParser, purpose: str) -> None:
    """Add --seed, which refuses a negative number: numpy's generators take none. purpose: what is
    drawn with it.
    """
    add_number(parser, "--seed", 0, default=0, help=f"seed of {purpose} (default: %(default)s)")


def options_of(kind: type[Options], given: argparse.Namespace) -> Options:
    """A dataclass of options from the arguments that are named as its fields; the others keep their
    defaults.
    """
    return kind(
        **{
            field.name: getattr(given, field.name)
            for field in fields(kind)
            if hasattr(given, field.name)
        }
    )


def parse_integers(text: str, option: str, low: int, high: int | None = None) -> tuple[int, ...]:
    """ "10,1,5" -> (1, 5, 10). Raises UserError unless they are integers from low to high."""
    try:
        values = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        values = ()
    if not values or values[0] < low or (high is not None and values[-1] > high):
        bounds = f"from {low}" + f" to {high}" * (high is not None)
        raise UserError(f"{option} {text}: expected integers {bounds}, separated by commas")
    return values


def parse_integer(option: str, least: int, text: str) -> int:
    """The value of an option. Raises UserError unless it is an integer of at least `least`."""
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise UserError(f"{option} {text}: expected an integer of at least {least}")
    return value
