"""An index on disk: the candidates of a collection, their IDs, embeddings and thumbnails.

    embeddings.npy, items.sqlite, thumbnails.sqlite     the items that were indexed first: a segment, see segments.py
    segment-1/, …       the same files, of the items that were added since
    rows.npy            (n,) int32 positions of the items in the segments, if any were removed; memory-mapped
    ids.npy             (n, B) packed IDs, by row; memory-mapped
    pool.safetensors    of large indexes: table and trie of all items, memory-mapped
    modalities.npy      (n,) uint8
    errors.npy          (n,) float32 ‖z − ẑ‖² of each item's feature and its ID; NaN if unknown; may be missing
    instructions.json   the instructions that users can choose from
    config.json         n, d, code sizes, segments
    familiar.safetensors  the out-of-distribution detector, if the run has one; read by the engine

A row is an item's number in the collection's order. Nothing in the folder ever changes: adding and removing
(update.py) make a new version, which shares the segments, and in which the items after a removed one have other
rows. Table and trie are built from ids.npy on request: over all items, unless pool.safetensors has them, or over a
subset of rows (a local pool).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from genius.errors import UserError
from genius.index.layout import (
    CONFIG,
    ERRORS,
    POOL,
    ROWS,
    IndexConfig,
    Instruction,
    read_config,
    read_instructions,
    segment_folder,
)
from genius.index.pool_file import load_pool
from genius.index.segments import EMBEDDINGS, ConcatenatedArray, ItemRecords, RowMap
from genius.locks import ReadLock
from genius.schema import Item
from genius.trie.ids import check_packed, unpack
from genius.trie.pool import Pool

_READING = threading.Lock()  # Python 3.11 may fail where two threads parse the headers of arrays at once


class Index:
    """The candidates of a run, one version of them. Safe to share between threads; its folder stays while it lives."""

    def __init__(
        self,
        folder: Path,
        config: IndexConfig,
        packed: np.ndarray,
        embeddings: np.ndarray | ConcatenatedArray,
        modalities: np.ndarray,
        errors: np.ndarray | None,
        records: ItemRecords,
        instructions: list[Instruction],
        lease: ReadLock,
    ):
        """Use `load`."""
        self.folder, self.config = folder, config
        self.embeddings = embeddings  # (n, d) fp16, memory-mapped
        self.modalities = modalities  # (n,) uint8
        self.errors = errors  # (n,) float32 of reconstruction, NaN: unknown; None: all unknown
        self.instructions = instructions
        self.packed = packed  # (n, B) IDs, memory-mapped
        self.records, self.places = records, records.places
        self._lease = lease
        self._whole: dict[str, Pool] = {}  # by device
        self._building = threading.Lock()

    @classmethod
    def load(cls, folder: Path) -> Index:
        """Open an index folder. Raises UserError that names the file which does not fit."""
        try:
            lease = ReadLock(folder)
        except OSError as error:
            raise UserError(f"{folder} is not an index ({error.strerror or error}); build the index again") from None
        config = read_config(folder / CONFIG)
        packed = _read_array(folder / "ids.npy", mapped=True)
        try:
            check_packed(packed, config.code_sizes)
        except ValueError as error:
            raise UserError(f"{folder / 'ids.npy'} does not fit its config ({error}); build the index again") from None
        modalities = _read_array(folder / "modalities.npy")
        errors = _read_array(folder / ERRORS) if (folder / ERRORS).exists() else None
        kept = _read_array(folder / ROWS, mapped=True) if (folder / ROWS).exists() else None
        segments = [segment_folder(folder, number) for number in range(len(config.segments))]
        vectors = [_read_array(segment / EMBEDDINGS, mapped=True) for segment in segments]
        n = (config.n,)
        for file, array, shape, dtype in (
            (folder / "ids.npy", packed, (*n, packed.shape[1]), np.uint8),
            (folder / "modalities.npy", modalities, n, np.uint8),
            (folder / ERRORS, errors, n, np.float32),
            (folder / ROWS, kept, n, np.int32),
            *(
                (segment / EMBEDDINGS, array, (size, config.dim), np.float16)
                for segment, array, size in zip(segments, vectors, config.segments, strict=True)
            ),
        ):
            if array is not None and (array.shape != shape or array.dtype != dtype):
                raise UserError(
                    f"{file} holds {array.dtype} of shape {array.shape}, its config "
                    f"says {np.dtype(dtype)} of shape {shape}; build the index again"
                )
        places = RowMap(config.segments, kept)
        if len(places) != config.n or (kept is not None and not _ascend(kept, places.starts[-1])):
            raise UserError(f"{folder} does not say which items of its segments remain; build the index again")
        return cls(
            folder,
            config,
            packed,
            vectors[0] if len(vectors) == 1 and kept is None else ConcatenatedArray(vectors, kept),
            modalities,
            errors,
            ItemRecords(segments, places),
            read_instructions(folder / "instructions.json"),
            lease,
        )

    @property
    def n(self) -> int:
        return self.config.n

    @property
    def code_sizes(self) -> tuple[int, ...]:
        return self.config.code_sizes

    def items(self, rows: Sequence[int] | np.ndarray) -> list[Item]:
        """The items at these rows, in this order. Raises IndexError if there is no such row."""
        return self.records.items(rows)

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """Item ids -> rows (m,) int64, in this order; −1 where the index has no such item."""
        return self.records.rows_of(ids)

    def thumbnail(self, row: int) -> bytes | None:
        """WebP bytes, or None if the item has no image."""
        return self.records.thumbnail(row)

    def codes(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (m, M) of these rows (m,)."""
        return unpack(self.packed[np.asarray(rows, dtype=np.int64)], self.code_sizes)

    def pool(self, rows: np.ndarray | None = None, device: torch.device | str = "cpu") -> Pool:
        """Table and trie over all items (kept) or over some rows; the trie lies on the device.

        Raises ValueError if there is no row.
        """
        if rows is not None:
            rows = np.unique(rows)
            return Pool.build(self.packed[rows], self.code_sizes, rows, device)
        with self._building:
            if str(device) not in self._whole:
                self._whole[str(device)] = load_pool(
                    self.folder / POOL, self.packed, self.code_sizes, device
                ) or Pool.build(self.packed, self.code_sizes, device=device)
            return self._whole[str(device)]


def _ascend(kept: np.ndarray, end: int) -> bool:
    """Whether these could be positions of rows: ascending from 0 to end − 1."""
    return kept[0] >= 0 and kept[-1] < end and bool((kept[1:] > kept[:-1]).all())


def _read_array(file: Path, mapped: bool = False) -> np.ndarray:
    try:
        with _READING:
            return np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise UserError(f"{file} cannot be read ({error}); build the index again") from None
