"""An index on disk: the candidates of a collection, their IDs, embeddings and thumbnails.

    items.sqlite        row -> id, modality, text, image, source; unique by id
    thumbnails.sqlite   row -> WebP; an image that several items share is kept once
    ids.npy             (n, B) packed IDs, by row; memory-mapped
    pool.safetensors    of large indexes: table and trie of all items, memory-mapped
    embeddings.npy      (n, d) fp16 CLIP-SF embeddings, normalised; memory-mapped
    modalities.npy      (n,) uint8
    instructions.json   the phrasings a person may choose from
    config.json         n, d, code sizes
    familiar.safetensors  what tells pictures from outside, if training could; read by the engine

A row is an item's number in the collection's order. Table and trie are built from ids.npy when asked for, over
all items, if they are not at hand, or over a subset of rows (a local pool).
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from genius.errors import UserError
from genius.index.database import ReadOnlyDatabase
from genius.index.ids import check_packed, unpack
from genius.index.layout import POOL, IndexConfig, Instruction, read_config, read_instructions
from genius.index.pool import Pool
from genius.index.writing import write_index
from genius.schema import Item, Modality

__all__ = ["Index", "Instruction", "Pool", "write_index"]

LOOKUP = 10_000    # ids or rows per SQL statement


class Index:
    """The candidates of a run. Safe to share between threads."""

    def __init__(self, config: IndexConfig, packed: np.ndarray, pool_file: Path, embeddings: np.ndarray,
                 modalities: np.ndarray, instructions: list[Instruction],
                 items: ReadOnlyDatabase, thumbnails: ReadOnlyDatabase):
        self.config = config
        self.embeddings = embeddings        # (n, d) fp16, memory-mapped
        self.modalities = modalities        # (n,) uint8
        self.instructions = instructions
        self._packed, self._pool_file = packed, pool_file
        self._items, self._thumbnails = items, thumbnails
        self._whole: dict[str, Pool] = {}   # by device
        self._building = threading.Lock()

    @classmethod
    def load(cls, folder: Path) -> Index:
        """Open an index folder. Raises UserError that names the file which does not fit."""
        config = read_config(folder / "config.json")
        packed = _read_array(folder / "ids.npy", mapped=True)
        try:
            check_packed(packed, config.code_sizes)
        except ValueError as error:
            raise UserError(f"{folder / 'ids.npy'} does not fit its config ({error}); "
                            "build the index again") from None
        embeddings = _read_array(folder / "embeddings.npy", mapped=True)
        modalities = _read_array(folder / "modalities.npy")
        for name, array, shape, dtype in (
                ("ids.npy", packed, (config.n, packed.shape[1]), np.uint8),
                ("embeddings.npy", embeddings, (config.n, config.dim), np.float16),
                ("modalities.npy", modalities, (config.n,), np.uint8)):
            if array.shape != shape or array.dtype != dtype:
                raise UserError(f"{folder / name} holds {array.dtype} of shape {array.shape}, its config "
                                f"says {np.dtype(dtype)} of shape {shape}; build the index again")
        items, thumbnails = (ReadOnlyDatabase(folder / f"{name}.sqlite") for name in ("items", "thumbnails"))
        try:
            (count,), = items.select("SELECT max(row) + 1 FROM items")
            thumbnails.select("SELECT webp FROM thumbnails LIMIT 1")
        except sqlite3.Error as error:
            raise UserError(f"{folder} has an unreadable database ({error}); build the index again") from None
        if count != config.n:
            raise UserError(f"{folder / 'items.sqlite'} holds {count} items, its config says {config.n}; "
                            "build the index again")
        return cls(config, packed, folder / POOL, embeddings, modalities,
                   read_instructions(folder / "instructions.json"), items, thumbnails)

    @property
    def n(self) -> int:
        return self.config.n

    @property
    def code_sizes(self) -> tuple[int, ...]:
        return self.config.code_sizes

    def items(self, rows: Sequence[int] | np.ndarray) -> list[Item]:
        """The items at these rows, in this order. Raises IndexError if there is no such row."""
        rows = [int(row) for row in rows]
        found = []
        for first in range(0, len(rows), LOOKUP):
            found += self._items.select(
                "SELECT items.id, modality, text, image, source FROM json_each(?) AS wanted "
                "JOIN items ON items.row = wanted.value ORDER BY wanted.key",
                json.dumps(rows[first:first + LOOKUP]))
        if len(found) != len(rows):
            unknown = next(row for row in rows if not 0 <= row < self.n)
            raise IndexError(f"an index of {self.n} items has no row {unknown}")
        return [Item(id, Modality(modality), text, image, source)
                for id, modality, text, image, source in found]

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """Item ids -> rows (m,) int64, in this order; −1 where the index has no such item."""
        ids, rows = iter(ids), []
        while chunk := list(islice(ids, LOOKUP)):
            rows += self._items.select(
                "SELECT ifnull(items.row, -1) FROM json_each(?) AS wanted "
                "LEFT JOIN items ON items.id = wanted.value ORDER BY wanted.key", json.dumps(chunk))
        return np.array(rows, dtype=np.int64).reshape(-1)

    def thumbnail(self, row: int) -> bytes | None:
        """WebP bytes, or None if the item has no image."""
        found = self._thumbnails.select("SELECT webp FROM thumbnails WHERE row = ?", int(row))
        return found[0][0] if found else None

    def codes(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Rows (m,) -> their codes (m, M)."""
        return unpack(self._packed[np.asarray(rows, dtype=np.int64)], self.code_sizes)

    def pool(self, rows: np.ndarray | None = None, device: torch.device | str = "cpu") -> Pool:
        """Table and trie over all items (kept) or over some rows; the trie lies on the device.

        Raises ValueError if there is no row.
        """
        if rows is not None:
            rows = np.unique(rows)
            return Pool.build(self._packed[rows], self.code_sizes, rows, device)
        with self._building:
            if str(device) not in self._whole:
                self._whole[str(device)] = (
                    Pool.load(self._pool_file, self._packed, self.code_sizes, device)
                    or Pool.build(self._packed, self.code_sizes, device=device))
            return self._whole[str(device)]


def _read_array(file: Path, mapped: bool = False) -> np.ndarray:
    try:
        return np.load(file, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise UserError(f"{file} cannot be read ({error}); build the index again") from None
