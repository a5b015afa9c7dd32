"""An index on disk: the candidates of a collection, their IDs, embeddings and thumbnails.

    embeddings.npy, fused.npy, items.sqlite, thumbnails.sqlite
                        the items that were indexed first: a segment, see segments.py
    segment-1/, …       the same files, of the items that were added since
    ids.npy             (n, B) packed IDs, by row; memory-mapped
    modalities.npy      (n,) uint8
    distances.npy       (n, 2) float32 ‖z − ẑ‖² of each item's feature and its ID, and ‖ẑ‖²; may be
                        missing; memory-mapped
    instructions.json   the instructions that users can choose from
    config.json         n, d, code sizes, segments

A row is an item's number in the collection's order. Nothing in the folder ever changes: adding and
removing (update.py) make a snapshot in a folder of its own, in which the items after a removed
one have other rows. Segments that stay are shared by hard links; one that holds a removed item is
written anew. Once it is whole, the manifest names it (`Run.replace`), so a reader finds the old
snapshot or the new one; the old one is deleted at once, or when its last reader lets go of it.

Table and trie are built from ids.npy on request, over all items or over a subset of rows (a local
pool): storing them would save little, since a file from elsewhere is believed only after a
comparison with the IDs.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import DTypeLike

from genius.errors import UserError
from genius.index.layout import (
    CONFIG,
    DISTANCES,
    INSTRUCTIONS,
    IndexConfig,
    Instruction,
    read_config,
    read_instructions,
    segment_folder,
)
from genius.index.segments import EMBEDDINGS, FUSED, ConcatenatedArray, ItemRecords, Vectors
from genius.locks import ReadLock
from genius.reading import damage_explained, is_finite, read_array
from genius.run import PARTS, Run
from genius.schema import Item, Modality
from genius.trie.ids import check_packed, pack, packed_bytes, unpack
from genius.trie.pool import Pool

PART = "index"  # of a run
AGAIN = "copy the run again, or build the index again"


@dataclass(eq=False)
class Index:
    """The candidates of a run, one snapshot of them. Safe to share between threads; its folder
    stays while it lives.
    """

    folder: Path
    config: IndexConfig
    packed: np.ndarray  # (n, B) IDs, memory-mapped
    embeddings: Vectors  # (n, d) fp16, memory-mapped
    fused: Vectors | None  # (n, d) fp16 fused features, memory-mapped; None: it keeps none
    modalities: np.ndarray  # (n,) uint8
    distances: np.ndarray | None  # (n, 2) float32, see above; None: all unknown
    records: ItemRecords
    instructions: list[Instruction]
    lease: ReadLock

    def __post_init__(self) -> None:
        self._norms = None if self.distances is None else self.distances[:, 1]
        self.rows_of, self.thumbnail = self.records.rows_of, self.records.thumbnail
        self._whole: dict[str, Pool] = {}  # by device of the trie, with one table
        self._building = threading.Lock()

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Open an index folder. Raises UserError that names the file which does not fit."""
        try:
            lease = ReadLock(folder)
        except OSError as error:
            raise UserError(
                f"{folder} is not an index ({error.strerror or error}); build the index again"
            ) from None
        config = read_config(folder / CONFIG)
        n = config.n
        width = packed_bytes(config.code_sizes)
        packed = _read_array(
            folder / "ids.npy",
            (n, width),
            np.uint8,
            lambda ids: check_packed(ids, config.code_sizes),
        )
        modalities = np.array(
            _read_array(
                folder / "modalities.npy", (n,), np.uint8, lambda read: read.max() >= len(Modality)
            )
        )
        distances = None
        if (folder / DISTANCES).exists():
            distances = _read_array(folder / DISTANCES, (n, 2), np.float32, _no_distances)
            if np.isnan(distances).any():  # some are unknown, in an older run that has grown
                distances = None
        segments = [segment_folder(folder, number) for number in range(len(config.segments))]

        def vectors(name: str) -> Vectors:
            arrays = [
                _read_array(
                    segment / name, (size, config.dim), np.float16, lambda read: not is_finite(read)
                )
                for segment, size in zip(segments, config.segments, strict=True)
            ]
            return arrays[0] if len(arrays) == 1 else ConcatenatedArray(arrays)

        return cls(
            folder,
            config,
            packed,
            vectors(EMBEDDINGS),
            vectors(FUSED) if (folder / FUSED).exists() else None,
            modalities,
            distances,
            ItemRecords(segments, config.segments),
            read_instructions(folder / INSTRUCTIONS),
            lease,
        )

    def with_ids(self, codes: np.ndarray, code_sizes: tuple[int, ...]) -> "Index":
        """The same items under other IDs, codes (n, M), in memory: to compare ways to make IDs."""
        config = replace(self.config, code_sizes=code_sizes)
        return replace(self, config=config, packed=pack(codes, code_sizes), distances=None)

    @property
    def n(self) -> int:
        return self.config.n

    def last_dataset(self) -> int:
        """The highest dataset number of all ids, also of removed items; −1 if none has one."""
        return max(self.config.last_dataset, self.records.last_dataset())

    @property
    def code_sizes(self) -> tuple[int, ...]:
        return self.config.code_sizes

    def items(self, rows: Sequence[int] | np.ndarray) -> list[Item]:
        """The items at these rows (m,), in this order.

        Raises IndexError if there is no such row, UserError if damaged.
        """
        items = self.records.items(rows)
        for row, item in zip(rows, items, strict=True):
            if item.modality != self.modalities[row]:
                raise UserError(
                    f"{self.folder} stores another modality for {item.id} than the item "
                    f"has; {AGAIN}"
                )
        return items

    def codes(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (m, M) of these rows (m,)."""
        return unpack(self.packed[np.asarray(rows, dtype=np.int64)], self.code_sizes)

    def pool(self, rows: np.ndarray | None = None, device: torch.device | str = "cpu") -> Pool:
        """Table and trie over all items (kept) or over some rows (m,); the trie lies on the device.

        Raises ValueError if there is no row.
        """
        if rows is not None:
            rows = np.unique(rows)
            return Pool.build(self.packed[rows], self.code_sizes, rows, device, self._norms)
        with self._building:
            if str(device) not in self._whole:
                built = next(iter(self._whole.values()), None)
                self._whole[str(device)] = (
                    built.on(device)
                    if built
                    else Pool.build(self.packed, self.code_sizes, None, device, self._norms)
                )
            return self._whole[str(device)]


def load_index(served: Run) -> Index:
    """The index of a run, the newest snapshot of it that belongs to the models of `served`.

    Raises UserError for an index that cannot be read, or if the run was trained anew since `served`
    was read.
    """
    index = load_newer_index(served)
    if index is None:
        raise UserError(f"{served.path} was trained anew while it was loaded; start again")
    return index


def load_newer_index(served: Run, index: Index | None = None) -> Index | None:
    """The index that the run on disk names by now, if it is another snapshot than this one; cheap
    to ask.

    served: the run as it was read when its models were loaded. None, too, if the run was trained
    anew since: then its index belongs to other models. Raises UserError for an index that cannot be
    read.
    """
    while True:
        now = Run(served.path)
        if (
            index and now.manifest["parts"].get(PART, {}).get("folder") == index.folder.name
        ) or any(
            now.digest(part) != served.digest(part)
            for part in PARTS
            if part != PART and served.has(part)
        ):
            return None
        try:
            with now.reading(PART) as folder:
                return Index.load(folder)
        except UserError:
            if Run(served.path).digest(PART) == now.digest(PART):
                raise  # else it was replaced and deleted while it was opened


def _no_distances(read: np.ndarray) -> bool:
    return bool((np.isinf(read) | (read < 0)).any())


def _read_array(
    file: Path,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    wrong: Callable[[np.ndarray], bool | None] = lambda array: False,
) -> np.ndarray:
    """Memory-mapped. wrong: whether numbers cannot be those of an index. Raises UserError that
    names the file.
    """
    with damage_explained(f"{file} does not fit its index", "build the index again"):
        array = read_array(file, shape, dtype, mapped=True)
        if wrong(array):
            raise ValueError("a number is out of range")
        return array
