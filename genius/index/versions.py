"""Versions of a run's index: how one takes the place of another while somebody reads it.

A version is written aside and renamed, and then the run's manifest names it: a reader finds the one or the other,
whole. Files that do not change are shared by hard links, so a version costs what is new in it. A version that
nobody reads any more is deleted when the next but one is made, or later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from genius.errors import UserError
from genius.index.store import Index
from genius.locks import unused
from genius.run import PARTS, Run

PART = "index"
FOLDER = re.compile(rf"{PART}-[0-9a-f]{{8}}")


def newer(served: Run, index: Index) -> Index | None:
    """The index that the run on disk names by now, if it is another version than this one; cheap to ask.

    served: the run as it was read when its models were loaded. None, too, if the run was trained anew since: then
    its index belongs to other models. Raises UserError for an index that cannot be read.
    """
    while True:
        now = Run(served.path)
        if now.manifest["parts"][PART]["folder"] == index.folder.name or any(
            now.digest(part) != served.digest(part) for part in PARTS if part != PART
        ):
            return None
        try:
            return Index.load(now.folder(PART))
        except UserError:
            if Run(served.path).digest(PART) == now.digest(PART):
                raise  # else it was replaced and deleted while it was opened


def publish(run: Path, shared: Iterable[str], write: Callable[[Path], None]) -> Path:
    """What `write` puts into an empty folder, and the `shared` files of the version before, are now the index.

    Only inside `write_lock`. A failure or a kill at any point leaves the run as it was.
    """
    opened = Run(run)
    entry, made = opened.manifest["parts"][PART], opened.store(PART, write, shared)
    before = entry["folder"]
    entry.update(made)
    opened.record()
    _sweep(opened, {before, entry["folder"]})
    return run / entry["folder"]


def _sweep(run: Run, wanted: set[str]) -> None:
    """Delete versions that nobody reads. The one before stays, for who has just read the manifest."""
    for folder in run.path.glob(f"{PART}-*"):
        if FOLDER.fullmatch(folder.name) and folder.name not in wanted:
            with unused(folder) as free:
                if free:
                    run.discard(folder)
