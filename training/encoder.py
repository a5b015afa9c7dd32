"""Train the encoder: CLIP score fusion by contrastive learning (Eq. 2).

    python -m training.encoder COLLECTION RUN [--preset small|demo|paper|paper-text]

Shapes: b pairs of a batch, d embedding dim.
"""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import open_clip
import torch
from open_clip.transform import PreprocessCfg
from timm.layers import convert_sync_batchnorm
from torch import nn

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.models.encoder import Encoder, EncoderConfig
from genius.models.saving import round_to_half
from genius.run import Run
from training.checkpoint import Checkpoints, reseed
from training.demo.extras import DemoExtras
from training.distributed import (
    average_gradients,
    broadcast_buffers,
    broadcast_object,
    is_main,
    progress_bar,
    world_size,
)
from training.encoder_extras import OWN_INSTRUCTION
from training.encoder_inputs import InputLoader
from training.optimization import adamw, contrastive_loss, cosine, set_learning_rate
from training.pairs import CandidateTable, Pairs
from training.settings import Arguments, EncoderSettings, ExtrasSettings, parse_arguments
from training.stage import publish, record_epoch, run_stage, seconds_per_step

SAMPLE = 1500  # validation queries of the hit rates after each epoch
BLOCK = 256  # validation queries encoded together


def train(arguments: Arguments) -> None:
    """Train the encoder, or take it as it is, and publish it in the run."""
    settings, seed = arguments.settings.encoder, arguments.settings.seed
    run, collection = Run(arguments.run), Collection(arguments.collection)
    torch.manual_seed(seed)
    encoder = new_encoder(settings)
    if world_size() > 1 and torch.device(arguments.device).type == "cuda":  # on CPUs each normalizes over its slice
        encoder.clip = convert_sync_batchnorm(encoder.clip)
    encoder = encoder.to(arguments.device, memory_format=torch.channels_last)
    if settings.epochs:
        fit(encoder, collection, settings, seed, run, arguments.workers)
    if settings.half:
        round_to_half(encoder)
    publish(run, "encoder", partial(encoder.eval().cpu().save, half=settings.half))
    if is_main():
        shutil.rmtree(run.path / "cache", ignore_errors=True)


def new_encoder(settings: EncoderSettings) -> Encoder:
    """A pretrained encoder, or one of the given architecture with random weights."""
    if settings.pretrained and (Path(settings.pretrained) / "config.json").is_file():
        return Encoder.load(Path(settings.pretrained))
    if settings.pretrained:
        return Encoder.from_open_clip(settings.architecture, settings.pretrained)
    architecture = settings.architecture
    if isinstance(architecture, str):
        architecture = open_clip.get_model_config(architecture)
        if architecture is None:
            raise UserError(
                f"open_clip has no architecture {settings.architecture!r}; list them with: "
                'python -c "import open_clip; print(open_clip.list_models())"'
            )
    side = architecture["vision_cfg"]["image_size"]
    return Encoder(EncoderConfig(architecture, asdict(PreprocessCfg(size=side, resize_mode="squash"))))


def fit(encoder: Encoder, collection: Collection, settings: EncoderSettings, seed: int, run: Run, workers: int) -> None:
    """Run the epochs, from the last checkpoint if there is one."""
    candidates = CandidateTable.read(collection)
    pairs, val_pairs = (Pairs.read(collection, split, candidates) for split in ("train", "val"))
    loader = InputLoader(collection, [pairs, val_pairs], settings, encoder, run.path / "cache", workers)
    if settings.extras != ExtrasSettings():
        loader.extras = DemoExtras(collection, pairs, loader, run.path / "cache")
    extras = loader.extras
    model = nn.ModuleDict({"encoder": encoder, **extras.modules()})
    optimizer = adamw(model, settings, fused=True)
    checkpoints = Checkpoints(run.path, "encoder", settings, seed, pairs.digest, candidates.digest)
    for epoch in range(checkpoints.resume(model, optimizer), settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        order = extras.order(epoch, rng)
        batches = pairs.batches(rng, settings.batch, settings.group, settings.upsample_to, settings.drop_last, order)
        batches = broadcast_object(batches)
        encoder.train()
        loaded, steps = loader.pairs(pairs, batches, rng, training=True), len(batches)
        progress = progress_bar(loaded, desc=f"encoder epoch {epoch}", unit="batch", total=steps)
        for step, (queries, targets) in enumerate(progress):
            rate = cosine(epoch * steps + step, settings.epochs * steps, settings.warmup)
            set_learning_rate(optimizer, settings.learning_rate * rate)
            with torch.autocast(encoder.device.type, torch.bfloat16, enabled=settings.bf16):
                query, target = (inputs.features(encoder).embedding() for inputs in (queries, targets))
            known = np.flatnonzero(queries.instruction == OWN_INSTRUCTION)  # queries whose target is known
            positive_mask = torch.eye(len(known), dtype=torch.bool)
            if settings.mask_positives:
                positive_mask = torch.from_numpy(pairs.positive_mask(queries.rows[known], targets.rows[known]))
            loss = contrastive_loss(
                query[known],
                target[known],
                encoder.clip.logit_scale.exp(),
                positive_mask.to(encoder.device),
                settings.symmetric_loss,
            )
            loss = loss + extras.loss(queries, targets, query, target)
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model.parameters())
            if settings.clip_grad_norm:
                nn.utils.clip_grad_norm_(model.parameters(), settings.clip_grad_norm)
            optimizer.step()
            if settings.max_logit_scale:
                with torch.no_grad():
                    encoder.clip.logit_scale.clamp_(max=math.log(settings.max_logit_scale))
            losses.append(loss.item())
        broadcast_buffers(encoder)
        pace = seconds_per_step(started, steps)
        loss, hit_at_1, hit_at_5 = np.mean(losses), *validate(encoder, loader, val_pairs, seed)
        seconds = time.perf_counter() - started
        print(
            f"encoder epoch {epoch}  loss {loss:.3f}  val hit@1 {hit_at_1:.1%}  hit@5 {hit_at_5:.1%}  "
            f"{seconds:.0f} s, {pace}",
            flush=True,
        )
        if is_main():
            record_epoch(
                run, "encoder", epoch, loss=loss, val_hit_at_1=hit_at_1, val_hit_at_5=hit_at_5, seconds=seconds
            )
        checkpoints.save(model, optimizer, epoch)
    checkpoints.clear()


@torch.inference_mode()
def validate(encoder: Encoder, loader: InputLoader, pairs: Pairs, seed: int) -> tuple[float, float]:
    """hit@1 and hit@5 of a fixed sample of validation queries, among the targets of that sample."""
    encoder.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    blocks = (sample[start : start + BLOCK] for start in range(0, len(sample), BLOCK))
    query, target, rows = [], [], []
    for queries, targets in loader.pairs(pairs, blocks, rng, training=False):
        query.append(queries.features(encoder).embedding())
        target.append(targets.features(encoder).embedding())
        rows.append(targets.rows)
    similarity = (torch.cat(query) @ torch.cat(target).T).cpu()
    positive_mask = torch.from_numpy(pairs.positive_mask(sample, np.concatenate(rows)))
    best = torch.where(positive_mask, similarity, -torch.inf).amax(1, keepdim=True)
    rank = ((similarity > best) & ~positive_mask).sum(1)
    return (rank < 1).float().mean().item(), (rank < 5).float().mean().item()


if __name__ == "__main__":
    with exit_on_user_error():
        run_stage("encoder", train, parse_arguments(__doc__))
