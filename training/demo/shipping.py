"""Complete a trained run, and copy it to where it ships from: what serving needs, and what the
caller adds.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from genius.collections.images import thumbnail
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_seed
from genius.examples import FOLDER, LIST
from genius.files import disk_errors_explained, fsync, remove_folder, write_json, written_aside
from genius.run import Run, is_run
from training.__main__ import train
from training.command_line import Arguments, print_done
from training.settings import Settings
from training.stages import maps, names

PIXELS, QUALITY = 256, 88  # of the picture of an example


def add_shipping_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of every command that makes a shipped run. name: of the run in assets."""
    shipped = Path("assets", name)
    work = Path(tempfile.gettempdir()) / f"genius-{name}"
    replaced = "the run to replace, once the new one is complete (default: %(default)s)"
    parser.add_argument(
        "destination", nargs="?", type=Path, default=shipped, metavar="DEST", help=replaced
    )
    made = "directory for the collection and the training run (default: %(default)s)"
    parser.add_argument("--work", type=Path, default=work, metavar="DIR", help=made)
    add_seed(parser, "all random choices")
    add_device(parser)


def make_run(
    destination: Path,
    collection: Path,
    preset: str,
    settings: Settings,
    device: str,
    build: Callable[[Path], Iterable[object]],
    about: dict[str, Any],
    add_files: Callable[[Path], object],
) -> None:
    """Build the collection, train beside it and ship; steps that are done are skipped.

    build: write the collection, and return lines to print. about: what the page says about the run.
    add_files: write what this run alone has. Raises UserError, before it starts, if the destination
    is not a run.
    """
    if destination.exists() and not is_run(destination):
        raise UserError(
            f"{destination} exists and is not a run; name another directory or remove it first"
        )
    if not collection.exists():
        for line in build(collection):
            print(line)
    run = collection.with_name("run")
    train(Arguments(collection, run, preset, settings, device))
    # beyond the stages
    for part, make in (("maps", partial(maps.draw, collection)), ("names", names.name_codes)):
        if not Run(run).is_current(part):
            make(run, device)
    ship_run(Run(run), destination, {"collection": collection.name, "about": about}, add_files)
    size = sum(file.stat().st_size for file in destination.rglob("*") if file.is_file())
    print(f"{destination}: {size / 1e6:.1f} MB")
    print_done(destination)


def write_examples(
    run: Path, examples: Sequence[dict[str, Any]], files: Mapping[str, Path]
) -> None:
    """Write worked examples into a run, as genius.examples reads them; files: of the pictures that
    they name.
    """
    folder = run / FOLDER
    listed = []
    folder.mkdir(parents=True, exist_ok=True)
    for number, example in enumerate(examples, 1):
        name = f"{number:02d}.webp" if example["picture"] else ""
        if name:
            (folder / name).write_bytes(thumbnail(files[example["picture"]], PIXELS, QUALITY))
        listed.append(example | {"picture": name})
    write_json(folder / LIST, listed)


def ship_run(
    run: Run, destination: Path, facts: dict[str, Any], add_files: Callable[[Path], object]
) -> None:
    """Copy parts, reports and manifest, let `add_files` write into the copy, and replace the
    destination.

    facts: replace those of the manifest.
    """
    with (
        disk_errors_explained(destination.parent),
        written_aside(destination, folder=True) as aside,
    ):
        shipped = aside / "run"
        run.copy(shipped)
        write_json(shipped / "manifest.json", run.manifest | facts)
        add_files(shipped)
        for file in shipped.rglob("*"):
            if file.is_file():
                fsync(file)
        remove_folder(destination)  # a command that is killed here ships when it is run again
        shipped.rename(destination)
