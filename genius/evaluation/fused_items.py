"""Fused features of all items, for exhaustive search by them: a rung of the oracle ladder.

An index stores an item's embedding and its ID, not its fused feature z. Training leaves z in RUN/features, which is
used if it is of this collection's candidates and quantizes to the IDs of the index.

Shapes: n items of the index, t rows, d dim of z.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles, batched
from genius.encoding.sharded_arrays import read_progress
from genius.search.engine import Engine

LOOKED_UP = 10_000  # items whose rows are looked up together
CHECKED = 2000  # items whose feature is compared with their ID
SAME = 0.98  # share of whole IDs that must come out again; z in half precision changes 0.5 to 0.7 % of them


class FusedItems:
    """An array (m, p, d) read by the rows of an index: row i is [place[i], 0]."""

    def __init__(self, array: np.ndarray, place: np.ndarray):
        self.array, self.place = array, place

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """(t, d) fp16"""
        return self.array[self.place[rows], 0]

    @classmethod
    @torch.inference_mode()
    def read(cls, engine: Engine, collection: Collection) -> FusedItems | None:
        """The features that training left in the run; None if they are not those of the index."""
        folder = Path() if engine.run is None else engine.run.path / "features" / "candidates"
        if engine.run is None or not (folder / "fused.npy").exists() or read_progress(folder).get("fusion") is None:
            return None
        files, index = FeatureFiles(folder), engine.index
        fused = files.fused(files.progress["fusion"])
        place = np.full(index.n, -1, dtype=np.int64)
        for number, items in enumerate(batched(collection.all_candidates(), LOOKED_UP)):
            rows = index.rows_of(item.id for item in items)
            place[rows[rows >= 0]] = number * LOOKED_UP + np.flatnonzero(rows >= 0)
        if fused.shape[1:] != (1, index.config.dim) or place.min() < 0 or place.max() >= len(fused):
            return None
        sample, z = np.unique(np.linspace(0, index.n - 1, CHECKED).astype(np.int64)), cls(fused, place)
        codes = engine.quantizer.encode(
            torch.from_numpy(z[sample].astype(np.float32)).to(engine.device),
            torch.from_numpy(index.modalities[sample]).long().to(engine.device),
        )
        same = (codes.cpu().numpy() == index.codes(sample)).all(1).mean()
        return z if same >= SAME else None
