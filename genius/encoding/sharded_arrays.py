"""Memory-mapped arrays of many rows that are filled shard by shard.

The file shards/NUMBER marks a complete shard: a process that was killed computes only the missing ones, and processes
on several hosts may fill different shards.

Shapes: n rows.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from genius.errors import UserError
from genius.files import disk_errors_explained, fsync, fsync_folder, reserve_array, write_json

ROWS = "things"  # n, as progress.json names it


class ShardedArrays:
    """Arrays of n rows each, in one folder with progress.json: {"facts": …, "things": n, "shard": …, "done": …}."""

    def __init__(self, folder: Path, names: Sequence[str]):
        self.folder, self.names = folder, names
        self.progress = read_progress(folder)
        self.arrays = tuple(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)

    def __len__(self) -> int:
        """n."""
        return self.progress[ROWS]

    @property
    def shard_size(self) -> int:
        """Rows per shard."""
        return self.progress["shard"]

    def unfinished(self) -> list[int]:
        """The numbers of the shards that are incomplete."""
        self.progress = read_progress(self.folder)  # another process may have finished
        if self.progress["done"] == len(self):
            return []
        shards = range(-(-len(self) // self.shard_size))
        return [number for number in shards if not (self.folder / "shards" / str(number)).exists()]

    def count_rows(self, shards: Iterable[int]) -> int:
        """The number of rows in these shards."""
        return sum(map(self.size, shards))

    def size(self, shard: int) -> int:
        """The number of rows in a shard; the last one may be smaller."""
        return min(self.shard_size, len(self) - shard * self.shard_size)

    def empty_shard(self, shard: int) -> list[np.ndarray]:
        """Arrays to compute the rows of a shard in."""
        return [np.empty((self.size(shard), *array.shape[1:]), array.dtype) for array in self.arrays]

    def write(self, shard: int, values: Sequence[np.ndarray]) -> None:
        """Write a shard, not through the mapping: hosts that share a page of it would undo each other's work."""
        for name, array, rows in zip(self.names, self.arrays, values, strict=True):
            file = self.folder / f"{name}.npy"
            with file.open("r+b") as stream:
                stream.seek(array.offset + shard * self.shard_size * array.strides[0])
                stream.write(rows.tobytes())
            fsync(file)
        (self.folder / "shards").mkdir(exist_ok=True)
        marker = self.folder / "shards" / str(shard)
        marker.touch()
        fsync(marker)
        fsync_folder(marker.parent)

    def finish(self) -> None:
        """Record that all rows are there, if they are."""
        if not self.unfinished():
            self.update_progress(done=len(self))
            shutil.rmtree(self.folder / "shards", ignore_errors=True)

    def update_progress(self, **changes: int | str | None) -> None:
        """Change entries of progress.json."""
        self.progress |= changes
        write_json(self.folder / "progress.json", self.progress)


def read_progress(folder: Path) -> dict[str, Any]:
    """The content of progress.json; empty if there is none."""
    file = folder / "progress.json"
    return json.loads(file.read_text()) if file.exists() else {}


def reserve_arrays(
    folder: Path,
    arrays: Iterable[tuple[str, tuple[int, ...], DTypeLike]],
    progress: dict[str, Any],
    outdated: Sequence[str] = (),
) -> None:
    """Start the arrays (name, shape, type) anew; outdated: other files of the folder, which are deleted.

    Raises UserError, and leaves no folder, if the disk has not enough space.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("progress.json", *outdated):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / "shards", ignore_errors=True)
    try:
        with disk_errors_explained(folder):
            for name, shape, dtype in arrays:
                reserve_array(folder / f"{name}.npy", shape, dtype)
    except UserError:
        shutil.rmtree(folder)
        raise
    write_json(folder / "progress.json", progress)
