"""Fused features of all items, for exhaustive search by them: a rung of the oracle ladder.

An index stores an item's embedding and its ID, not its fused feature z. Training leaves z in RUN/features; without it
all items are encoded again.

Shapes: n items of the index, d dim of z.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles, batched
from genius.encoding.sharded_arrays import read_progress
from genius.index.store import Index
from genius.models.encoder import Encoder
from genius.search.engine import Engine

LOOKED_UP = 10_000  # items whose rows are looked up together
BATCH = 256  # items encoded together
CHECKED = 2000  # items whose feature is compared with their ID
SAME = 0.98  # share of whole IDs that must come out again; z in half precision changes 0.5 to 0.7 % of them


def fused_items(engine: Engine, collection: Collection, encode: bool, scratch: Path) -> PlacedRows | np.ndarray | None:
    """(n, d) fp16 by row of the index; from the run if training left them there, else encoded again or None.

    encode: whether they may be encoded again, into files in the folder `scratch`.
    """
    found = None
    if engine.run is not None:
        found = trained_features(engine, collection, engine.run.path / "features" / "candidates")
    return encoded_features(engine, collection, scratch) if found is None and encode else found


class PlacedRows:
    """An array (m, p, d) read by the rows of an index: row i is [place[i], 0]."""

    def __init__(self, array: np.ndarray, place: np.ndarray):
        self.array, self.place = array, place

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        """(t, d)"""
        return self.array[self.place[rows], 0]


def trained_features(engine: Engine, collection: Collection, folder: Path) -> PlacedRows | None:
    """(n, d) fp16 by row of the index, from the features that training left in `folder`.

    None unless they are of this collection's candidates and quantize to the IDs of the index.
    """
    if not (folder / "fused.npy").exists() or read_progress(folder).get("fusion") is None:
        return None
    files, index = FeatureFiles(folder), engine.index
    fused = files.fused(files.progress["fusion"])
    place = np.full(index.n, -1, dtype=np.int64)
    for number, items in enumerate(batched(collection.all_candidates(), LOOKED_UP)):
        rows = index.rows_of(item.id for item in items)
        place[rows[rows >= 0]] = number * LOOKED_UP + np.flatnonzero(rows >= 0)
    if fused.shape[1:] != (1, index.config.dim) or place.min() < 0 or place.max() >= len(fused):
        return None
    z = PlacedRows(fused, place)
    return z if _quantizes_to_the_ids(engine, z) else None


def encoded_features(engine: Engine, collection: Collection, folder: Path) -> np.ndarray:
    """(n, d) fp16 by row of the index: all items encoded again, into files in `folder`."""
    files = encode_items(engine.encoder, engine.index, collection, folder, "encode items")
    files.fuse(engine.fusion, "fusion")
    return files.fused("fusion")[:, 0]


def encode_items(encoder: Encoder, index: Index, collection: Collection, folder: Path, label: str) -> FeatureFiles:
    """The features of all items, by row of the index, in files in `folder`. label: of the progress bar."""
    inputs = (
        (item.image, [item.text])
        for start in range(0, index.n, BATCH)
        for item in index.items(range(start, min(start + BATCH, index.n)))
    )
    files = FeatureFiles.create(folder, index.n, phrasings=1, dim=encoder.dim, source=label)
    files.fill(encoder, inputs, lambda path: open_image(collection.image_path(path)), BATCH, label)
    return files


@torch.inference_mode()
def _quantizes_to_the_ids(engine: Engine, z: PlacedRows) -> bool:
    """Whether a sample of the features has the IDs of the index."""
    index = engine.index
    rows = np.unique(np.linspace(0, index.n - 1, CHECKED).astype(np.int64))
    codes = engine.quantizer.encode(
        torch.from_numpy(z[rows].astype(np.float32)).to(engine.device),
        torch.from_numpy(index.modalities[rows]).long().to(engine.device),
    )
    return bool((codes.cpu().numpy() == index.codes(rows)).all(1).mean() >= SAME)
