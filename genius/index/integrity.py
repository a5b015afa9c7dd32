"""Check the files of an index, describe it, and advise what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from genius.errors import UserError
from genius.files import sha256
from genius.index.drift import DriftReport
from genius.index.segments import LOOKUP
from genius.index.store import Index
from genius.index.versions import PART
from genius.run import MAX_HASHED, Run
from genius.schema import Modality

LENGTH_TOLERANCE = 0.01  # by which the length of a stored embedding may differ from 1
MAX_REMOVED = 0.5  # removed items that still take space, for each item of the index; of more the index is compacted


def problems(run: Path, index: Index) -> Iterator[str]:
    """Yield a sentence for each file or item that is not as it was written. Reads all files once.

    Raises UserError if the run names another version of the index by now.
    """
    entry = Run(run).manifest["parts"][PART]
    if entry["folder"] != index.folder.name:
        raise UserError(f"the index of {run} was changed while it was opened; check it again")
    for name, recorded in entry["files"].items():
        if recorded["bytes"] > MAX_HASHED and sha256(index.folder / name) != recorded["sha256"]:  # loading spared it
            yield f"{name} is not the file that was written; copy the run again"
    for first in tqdm(range(0, index.n, LOOKUP), desc="check", unit_scale=LOOKUP, unit="item", disable=None):
        rows = np.arange(first, min(first + LOOKUP, index.n))
        items = index.records.items(rows)  # which compares no modalities
        if (wrong := index.rows_of(item.id for item in items) != rows).any():
            yield f"the item in row {rows[wrong][0]} is not found by its id {items[wrong.argmax()].id!r}"
        if (wrong := index.modalities[rows] != [item.modality for item in items]).any():
            yield f"row {rows[wrong][0]} has another modality than its item {items[wrong.argmax()].id!r}"
        lengths = np.linalg.norm(index.embeddings[first : first + LOOKUP].astype(np.float32), axis=1)
        if (wrong := ~(np.abs(lengths - 1) <= LENGTH_TOLERANCE)).any():
            yield f"the embedding of {items[wrong.argmax()].id!r} has length {lengths[wrong][0]:.3f} instead of 1"


def description(index: Index, drift: DriftReport) -> str:
    """Describe the index in a few lines."""
    config = index.config
    kinds = ", ".join(
        f"{count:,} {modality.mbeir}" for modality in Modality if (count := int((index.modalities == modality).sum()))
    )
    segments, gone = len(config.segments), sum(config.segments) - index.n
    lines = [
        f"{index.n:,} items ({kinds}): {drift.trained:,} indexed by training, {drift.added:,} added since",
        f"{segments} segment{'s' * (segments > 1)}; {gone:,} removed items still take space",
        f"items that share an ID: {drift.all_buckets}"
        + (f"; as trained: {drift.buckets}" if drift.added and drift.buckets else ""),
    ]
    if drift.error is not None:
        added = (
            ""
            if drift.added_error is None
            else (f"; added items {drift.added_error:.4f}, {drift.far:,} of {drift.compared:,} far from their IDs")
        )
        lines.append(f"distance of features from their IDs, squared: {drift.error:.4f}{added}")
    return "\n".join(lines)


def advice(index: Index, drift: DriftReport) -> list[str]:
    """Sentences that say what to do; none if all is well."""
    sentences = drift.warnings()
    if sum(index.config.segments) > (1 + MAX_REMOVED) * index.n:
        sentences.append("Removed items take much space; free it: python -m genius.index RUN compact")
    return sentences
