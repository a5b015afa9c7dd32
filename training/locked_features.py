"""Features from the tower outputs that locked-tower training left in a run, so that no tower encodes anything twice.

Shapes: k images or texts, t width of a tower's outputs, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.feature_cache import EncoderFeatureCache
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.run import Run
from training.locked_encoder import LockedEncoder
from training.locked_inputs import LockedLoader
from training.pairs import Pairs
from training.settings import EncoderSettings
from training.tower_outputs import TowerOutputs


def cached_features(
    run: Run,
    collection: Collection,
    splits: Sequence[Pairs],
    settings: EncoderSettings,
    encoder: Encoder,
    seed: int,
    workers: int,
) -> EncoderFeatureCache:
    """What the heads make of the tower outputs in the run; nothing if it has none of these towers and inputs.

    splits: training and validation, of which the encoder's training took those rows that the settings name.
    """
    locked = settings.locked
    folder = Path(locked.cache) if locked.cache else run.path / "towers"
    if not locked.enabled or not all((folder / name / "progress.json").exists() for name in ("images", "texts")):
        return EncoderFeatureCache()
    named = replace(settings, locked=replace(locked, cache=str(folder)))  # a named folder is not started again
    unlocked = bool(locked.unlocked_epochs)
    towers = not (unlocked and locked.image_blocks), not (unlocked and locked.text_blocks)
    try:
        trained = [pairs.select_rows(settings.rows) for pairs in splits]
        loader = LockedLoader(collection, trained, named, LockedEncoder(encoder), folder, seed, workers, towers)
    except UserError:  # other towers or inputs
        return EncoderFeatureCache()
    split = encoder.split()
    return EncoderFeatureCache(
        images=partial(_projected, loader.pixels.row, loader.pixels.outputs, split.image_head),
        texts=partial(_projected, loader.text_row, loader.texts, split.text_head),
    )


@torch.inference_mode()
def _projected(
    row: Mapping[str, int], outputs: TowerOutputs, head: nn.Module, names: Sequence[str]
) -> dict[str, Tensor]:
    """The features (d,) of those names that have a row of outputs."""
    present = [name for name in names if name in row]
    if not present:
        return {}
    device = next(head.parameters()).device
    rows = np.array([row[name] for name in present])
    return dict(zip(present, head(outputs.rows(rows).to(device)).float().cpu(), strict=True))
