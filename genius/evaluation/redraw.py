"""The procedural world that a run was trained on, made again: what is needed to evaluate the run, and no more.

A run's manifest says what the world was made from and what its records were; records that differ are another
world. Pictures are drawn by libraries whose versions may differ in a pixel, so their checksum is apart.
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
class World:
    """What a manifest says of the world that its run was trained on."""

    seed: int
    scale: int
    pixels: int
    digest: str  # of the records
    pictures: str = ""  # of the test queries' pictures, see picture_digest; "" if nobody took it

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> World | None:
        """None for a run of another collection. Raises UserError for facts that are not a world's."""
        facts = manifest.get("world")
        if facts is None:
            return None
        known = {field.name: facts.get(field.name, "") for field in fields(cls)} if isinstance(facts, dict) else {}
        if [type(value) for value in known.values()] != [int, int, int, str, str]:
            raise UserError(
                "the manifest does not say which world the run was trained on (world: seed, scale, "
                "pixels, digest); name the collection: --collection DIR"
            )
        return cls(**known)

    def redraw(
        self, destination: Path, split: str, every_picture: bool = False, workers: int | None = None
    ) -> Collection:
        """Its records, and the pictures of this split's queries, or all. workers: processes, one for each core.

        Raises UserError if the records are not those of the manifest.
        """
        if every_picture:
            return self._written(destination / "world", None, workers)
        wanted = query_pictures(self._written(destination / "records", frozenset(), workers), split)
        return self._written(destination / "world", wanted, workers)

    def _written(self, root: Path, wanted: frozenset[str] | None, workers: int | None) -> Collection:
        from genius.demo_world.write import write_world  # its drawing library serves nothing else here

        made = write_world(
            root,
            seed=self.seed,
            scale=self.scale,
            pixels=self.pixels,
            pictures=None if wanted is None else wanted.__contains__,
            workers=workers,
        )
        if made["digest"] != self.digest:
            raise UserError(
                "the records of the redrawn world differ from those that the run was trained on: this is "
                "another version of the program; train the run again, or name the collection it was "
                "trained on: --collection DIR"
            )
        return Collection(root)


def query_pictures(collection: Collection, split: str) -> frozenset[str]:
    """Relative paths of the pictures that the queries of a split hold."""
    return frozenset(query.image for query in collection.queries(split) if query.image)


def picture_digest(collection: Collection) -> str:
    """Checksum of the test queries' pictures as the encoder would see them: size and RGB values, in order of paths."""
    digest = hashlib.sha256()
    for path in sorted(query_pictures(collection, "test")):
        picture = open_image(collection.image_path(path))
        digest.update(repr((path, picture.size)).encode() + picture.tobytes())
    return digest.hexdigest()
