"""Redraw the demo world that a run was trained on: the records, and the pictures that an evaluation needs.

A run's manifest holds the parameters of the world and a checksum of its records; other records are another world.
Pictures are drawn by libraries whose versions may differ in a pixel, so they have a checksum of their own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.errors import UserError


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
