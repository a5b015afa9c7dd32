"""The collection that a run is evaluated on; if that is the demo world, it is redrawn, as far as it is needed.

A run's manifest holds the parameters of the world and a checksum of its records; other records are another world.
Pictures are drawn by libraries whose versions may differ in a pixel, so they have a checksum of their own.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.run import Run


@dataclass(frozen=True)
class WorldRecipe:
    """The parameters and checksums in the manifest of a run that was trained on the demo world."""

    seed: int
    scale: int
    pixels: int
    digest: str  # SHA-256 of the records
    pictures: str = ""  # `picture_digest` of the test queries' pictures; "": not recorded

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> WorldRecipe | None:
        """None for a run of another collection. Raises UserError if the entry is damaged."""
        entry = manifest.get("world")
        if entry is None:
            return None
        values = {field.name: entry.get(field.name, "") for field in fields(cls)} if isinstance(entry, dict) else {}
        if [type(value) for value in values.values()] != [int, int, int, str, str]:
            raise UserError(
                "the manifest does not describe the world that the run was trained on (world: seed, scale, pixels, "
                "digest); name the collection: --collection DIR"
            )
        return cls(**values)

    def redraw(
        self, destination: Path, split: str, every_picture: bool = False, workers: int | None = None
    ) -> Collection:
        """Write the records, and the pictures of this split's queries or all pictures.

        workers: processes; None: one per core. Raises UserError if the records are not those of the manifest.
        """
        if every_picture:
            return self._write(destination / "world", None, workers)
        wanted = query_pictures(self._write(destination / "records", frozenset(), workers), split)
        return self._write(destination / "world", wanted, workers)

    def records(self, destination: Path) -> Collection:
        """Write the records alone. Raises UserError if they are not those of the manifest."""
        return self._write(destination / "world", frozenset(), None)

    def _write(self, root: Path, wanted: frozenset[str] | None, workers: int | None) -> Collection:
        from genius.demo_world.write import write_world  # imported late: only redrawing needs its drawing library

        written = write_world(
            root,
            seed=self.seed,
            scale=self.scale,
            pixels=self.pixels,
            pictures=None if wanted is None else wanted.__contains__,
            workers=workers,
        )
        if written["digest"] != self.digest:
            raise UserError(
                "the records of the redrawn world differ from those that the run was trained on: another version of "
                "this program drew them; train the run again, or name its collection: --collection DIR"
            )
        return Collection(root)


def query_pictures(collection: Collection, split: str) -> frozenset[str]:
    """Relative paths of the pictures of a split's queries."""
    return frozenset(query.image for query in collection.queries(split) if query.image)


def picture_digest(collection: Collection) -> str:
    """Checksum of the sizes and RGB values of the test queries' pictures, in order of their paths."""
    digest = hashlib.sha256()
    for path in sorted(query_pictures(collection, "test")):
        picture = open_image(collection.image_path(path))
        digest.update(repr((path, picture.size)).encode() + picture.tobytes())
    return digest.hexdigest()


@contextmanager
def run_collection(
    run: Path, named: Path | None, split: str, every_picture: bool = False, records_only: bool = False
) -> Iterator[Collection]:
    """The collection `named`; else the demo world that the run was trained on, redrawn; else the run's collection.

    A redrawn world has the pictures of the split's queries, every picture, or none; it is deleted afterwards.
    """
    recipe = None if named else WorldRecipe.from_manifest(Run(run).manifest)
    if recipe is None:
        yield Collection(named or training_collection(run))
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield recipe.records(Path(scratch)) if records_only else recipe.redraw(Path(scratch), split, every_picture)


def training_collection(run: Path) -> Path:
    """The collection that a run was trained on, as its manifest names it.

    Raises UserError if it names none or the directory is gone.
    """
    recorded = Run(run).manifest.get("collection")
    if recorded is None or not Path(recorded).is_dir():
        raise UserError(f"the collection that {run} was trained on is unknown or gone; name it: --collection DIR")
    return Path(recorded)
