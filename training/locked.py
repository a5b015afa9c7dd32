"""Locked-tower training (LiT, Zhai et al. 2022): pretrained towers stay as they are, and heads learn on their outputs.

The outputs are computed once, so an epoch takes seconds. Afterwards the last blocks of either tower can be unlocked.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.models.encoder import Encoder
from genius.run import Run
from training.checkpoint import Checkpoints
from training.contrastive import fit
from training.locked_encoder import LockedEncoder
from training.locked_inputs import LockedLoader
from training.pairs import CandidateTable, Pairs
from training.settings import EncoderSettings


def fit_locked(
    encoder: Encoder, collection: Collection, settings: EncoderSettings, seed: int, run: Run, workers: int
) -> list[Checkpoints]:
    """Train the heads, then, if the settings ask for it, heads and last blocks. Returns the checkpoints, to be cleared.

    The tower outputs stay in the run, or in the folder that the settings name, for the next training.
    """
    locked, cache = settings.locked, run.path / "cache"
    candidates = CandidateTable.read(collection)
    splits = [Pairs.read(collection, split, candidates).select_rows(settings.rows) for split in ("train", "val")]
    pairs, val_pairs = splits
    model = LockedEncoder(encoder, locked.input_dropout)
    if locked.unlocked_epochs:
        model.check_unlock(locked.image_blocks, locked.text_blocks)
    folder = Path(locked.cache) if locked.cache else run.path / "towers"
    loader = LockedLoader(collection, splits, settings, model, folder, seed, workers)
    if settings.image_tower:  # the heads are new, so they may take standardized outputs
        model.standardize(loader.pixels.outputs.statistics(), loader.texts.statistics())
    facts = (settings, seed, pairs.training_digest, candidates.content_digest)
    checkpoints = [Checkpoints(run.path, "encoder", *facts)]
    fit(model, loader, pairs, val_pairs, settings, seed, run, checkpoints[0])
    model.fold()
    if locked.unlocked_epochs:
        model.unlock(locked.image_blocks, locked.text_blocks)
        loader.unlock(bool(locked.image_blocks), bool(locked.text_blocks), cache, workers)
        settings = replace(
            settings,
            epochs=locked.unlocked_epochs,
            batch=locked.unlocked_batch,
            learning_rate=locked.unlocked_learning_rate,
        )
        loader.settings = settings
        checkpoints.append(Checkpoints(run.path, "unlocked", *facts))
        fit(model, loader, pairs, val_pairs, settings, seed, run, checkpoints[1], first=facts[0].epochs)
    return checkpoints[::-1]  # the last first: heads that are trained again would drop later epochs from the curve
