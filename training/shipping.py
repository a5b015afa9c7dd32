"""Copy a trained run to where it ships from: the files that serving needs, and what the caller adds."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.files import fsync, write_json
from genius.run import EXTRAS, PARTS, Run
from training.stage import CURVES

REPORTS = ("reports/health.json", CURVES)  # the reports that training writes


def add_shipping_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the arguments of every command that makes a shipped run. name: of the run in assets."""
    parser.add_argument(
        "destination",
        nargs="?",
        type=Path,
        default=Path("assets", name),
        metavar="DEST",
        help="the run to replace, once the new one is complete (default: %(default)s)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / f"genius-{name}",
        metavar="DIR",
        help="directory for the collection and the training run (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    parser.add_argument("--device", help="cpu or cuda (default: a GPU if there is one)")


def check_destination(destination: Path) -> None:
    """Raises UserError unless the destination is a run, which may be replaced, or does not exist."""
    if destination.exists() and not (destination / "manifest.json").is_file():
        raise UserError(f"{destination} exists and is not a run; name another directory or remove it first")


def ship_run(run: Run, destination: Path, facts: dict[str, Any], add_files: Callable[[Path], object]) -> None:
    """Copy parts, maps, reports and manifest, let `add_files` write into the copy, and replace the destination.

    facts: replace those of the manifest.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    aside, before = (destination.parent / f".tmp-{uuid.uuid4().hex}" for _ in range(2))
    try:
        for folder in map(run.folder, [*PARTS, *filter(run.has, EXTRAS)]):
            shutil.copytree(folder, aside / folder.name)
        for report in REPORTS:
            (aside / report).parent.mkdir(exist_ok=True)
            shutil.copyfile(run.path / report, aside / report)
        write_json(aside / "manifest.json", run.manifest | facts)
        add_files(aside)
        for file in aside.rglob("*"):
            if file.is_file():
                fsync(file)
        if destination.exists():
            destination.rename(before)
        aside.rename(destination)
        shutil.rmtree(before, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
