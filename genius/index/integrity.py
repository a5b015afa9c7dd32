"""Is the index of a run whole, and does what was added to it still fit?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from genius.files import sha256
from genius.index.drift import DriftReport
from genius.index.segments import LOOKUP
from genius.index.store import Index
from genius.index.versions import PART
from genius.run import HASHED, Run
from genius.schema import Modality

LENGTH = 0.01  # that a stored embedding may be longer or shorter than 1
WASTE = 0.5  # removed items that take space, for each item of the index, from which on they should be dropped


def problems(run: Path, index: Index) -> Iterator[str]:
    """Everything that is not as it was written, a sentence each. Reads all files once."""
    for name, recorded in Run(run).manifest["parts"][PART]["files"].items():
        if recorded["bytes"] > HASHED and sha256(index.folder / name) != recorded["sha256"]:  # loading spared it
            yield f"{name} is not the file that was written; copy the run again"
    for first in tqdm(range(0, index.n, LOOKUP), desc="check", unit_scale=LOOKUP, unit="item", disable=None):
        rows = np.arange(first, min(first + LOOKUP, index.n))
        items = index.items(rows)
        if (wrong := index.rows_of(item.id for item in items) != rows).any():
            yield f"the item in row {rows[wrong][0]} is not found by its id {items[wrong.argmax()].id!r}"
        if (wrong := index.modalities[rows] != [item.modality for item in items]).any():
            yield f"row {rows[wrong][0]} has another modality than its item {items[wrong.argmax()].id!r}"
        lengths = np.linalg.norm(index.embeddings[first : first + LOOKUP].astype(np.float32), axis=1)
        if (wrong := ~(np.abs(lengths - 1) <= LENGTH)).any():
            yield f"the embedding of {items[wrong.argmax()].id!r} has length {lengths[wrong][0]:.3f} instead of 1"


def description(index: Index, outlook: DriftReport) -> str:
    """What is indexed, in a few lines."""
    config = index.config
    kinds = ", ".join(
        f"{count:,} {modality.mbeir}" for modality in Modality if (count := int((index.modalities == modality).sum()))
    )
    segments, gone = len(config.segments), sum(config.segments) - index.n
    lines = [
        f"{index.n:,} items ({kinds}): {outlook.trained:,} indexed by training, {outlook.added:,} added since",
        f"{segments} segment{'s' * (segments > 1)}; {gone:,} removed items still take space",
        f"items that share an ID: {outlook.all_buckets}"
        + (f"; as trained: {outlook.buckets}" if outlook.added and outlook.buckets else ""),
    ]
    if outlook.error is not None:
        added = (
            ""
            if outlook.added_error is None
            else (
                f"; added items {outlook.added_error:.4f}, {outlook.far:,} of {outlook.compared:,} far from their IDs"
            )
        )
        lines.append(f"distance of features from their IDs, squared: {outlook.error:.4f}{added}")
    return "\n".join(lines)


def advice(index: Index, outlook: DriftReport) -> list[str]:
    """What to do, a sentence each; none if all is well."""
    found = outlook.warnings()
    if sum(index.config.segments) > (1 + WASTE) * index.n:
        found.append("Removed items take much space; free it: python -m genius.index RUN compact")
    return found
