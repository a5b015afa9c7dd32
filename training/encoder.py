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
from training.batch_content import Content
from training.checkpoint import Checkpoints, reseed
from training.curves import record_epoch
from training.distributed import agree, agreed, average_gradients, bar, count, is_main, main_first
from training.factor_heads import FactorHeads, Factors
from training.hard_groups import HardGroups
from training.optimisation import contrastive, cosine, decayed
from training.pairs import Candidates, Pairs
from training.settings import Arguments, EncoderSettings, parse_arguments
from training.stage import per_step, publish, run_stage
from training.vocabulary import Neighbours

SAMPLE = 1500  # validation queries whose hit rate is printed after each epoch
BLOCK = 256  # of them encoded together


def train(arguments: Arguments) -> None:
    """Train or adopt the encoder and publish it in the run."""
    settings, seed = arguments.settings.encoder, arguments.settings.seed
    run, collection = Run(arguments.run), Collection(arguments.collection)
    torch.manual_seed(seed)
    encoder = new_encoder(settings)
    if count() > 1 and torch.device(arguments.device).type == "cuda":  # on CPUs each normalises over its share
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
    if settings.pretrained:
        return Encoder.from_open_clip(settings.architecture, settings.pretrained)
    architecture = settings.architecture
    if isinstance(architecture, str):
        architecture = open_clip.get_model_config(architecture)
        if architecture is None:
            raise UserError(
                f"open_clip has no architecture {settings.architecture!r}; it lists its own with: "
                'python -c "import open_clip; print(open_clip.list_models())"'
            )
    side = architecture["vision_cfg"]["image_size"]
    return Encoder(EncoderConfig(architecture, asdict(PreprocessCfg(size=side, resize_mode="squash"))))


def fit(encoder: Encoder, collection: Collection, settings: EncoderSettings, seed: int, run: Run, workers: int) -> None:
    """Run the epochs, from the last checkpoint if there is one."""
    candidates = Candidates.read(collection)
    pairs, held_out = (Pairs.read(collection, split, candidates) for split in ("train", "val"))
    content = Content(collection, [pairs, held_out], settings, encoder, run.path / "cache", workers)
    if settings.substitution:
        with main_first():
            content.neighbours = Neighbours.read(
                content.texts(pairs), settings.teacher, run.path / "cache", encoder.device
            ).over(collection.synonyms())
    learner = nn.ModuleDict({"encoder": encoder})
    if settings.factor_weight:
        factors = Factors(collection, content.items, content.places(pairs.positives[pairs.offsets[:-1]]))
        learner["heads"] = heads = FactorHeads(encoder.dim, list(factors.sizes.values())).to(encoder.device)
        weights = dict.fromkeys(factors.sizes, settings.factor_weight / len(factors.sizes))
        weights["modality"] = settings.modality_weight or weights["modality"]
        weights = torch.tensor(list(weights.values()), device=encoder.device)
    optimizer = torch.optim.AdamW(
        decayed(learner, settings.weight_decay), lr=settings.learning_rate, betas=settings.betas, eps=1e-6, fused=True
    )
    checkpoints = Checkpoints(run.path, "encoder", settings, seed, pairs.digest, candidates.digest)
    for epoch in range(checkpoints.resume(learner, optimizer), settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        alike = HardGroups.of(encoder, content, pairs, settings, rng) if settings.hard_groups and epoch else np.asarray
        batches = agreed(pairs.batches(rng, settings.batch, settings.group, settings.upsample_to, alike))
        encoder.train()
        drawn, steps = content.pairs(pairs, batches, rng, training=True), len(batches)
        for step, (asked, answers) in enumerate(bar(drawn, desc=f"encoder epoch {epoch}", unit="batch", total=steps)):
            rate = cosine(epoch * steps + step, settings.epochs * steps, settings.warmup)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            with torch.autocast(encoder.device.type, torch.bfloat16, enabled=settings.bf16):
                query, target = (inputs.features(encoder).embedding() for inputs in (asked, answers))
            kept = np.flatnonzero(asked.swapped < 0)  # the others' answers are not known
            known = torch.from_numpy(pairs.answered(asked.rows[kept], answers.rows[kept])).to(encoder.device)
            loss = contrastive(query[kept], target[kept], encoder.clip.logit_scale.exp(), known, settings.both_ways)
            if settings.factor_weight:
                labels = [
                    factors.asked_otherwise(asked.rows, content.swaps.modalities(asked.swapped)),
                    factors.candidates[content.places(answers.rows)],
                ]
                labels = torch.from_numpy(np.concatenate(labels)).to(encoder.device)
                loss = loss + (weights * heads(torch.cat([query, target]), labels)).sum()
            optimizer.zero_grad()
            loss.backward()
            average_gradients(learner.parameters())
            if settings.stabilised:
                nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            if settings.stabilised:
                with torch.no_grad():
                    encoder.clip.logit_scale.clamp_(max=math.log(100))
            losses.append(loss.item())
        agree(encoder)
        pace = per_step(started, steps)
        loss, first, fifth = np.mean(losses), *validation(encoder, content, held_out, seed)
        seconds = time.perf_counter() - started
        print(
            f"encoder epoch {epoch}  loss {loss:.3f}  val hit@1 {first:.1%}  hit@5 {fifth:.1%}  {seconds:.0f} s, "
            f"{pace}",
            flush=True,
        )
        if is_main():
            record_epoch(run, "encoder", epoch, loss=loss, val_hit_at_1=first, val_hit_at_5=fifth, seconds=seconds)
        checkpoints.save(learner, optimizer, epoch)
    checkpoints.clear()


@torch.inference_mode()
def validation(encoder: Encoder, content: Content, pairs: Pairs, seed: int) -> tuple[float, float]:
    """Hit rates at 1 and at 5 on a fixed sample of validation queries, among the targets of that sample."""
    encoder.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    blocks = (sample[start : start + BLOCK] for start in range(0, len(sample), BLOCK))
    query, target, positives = [], [], []
    for asked, answers in content.pairs(pairs, blocks, rng, training=False):
        query.append(asked.features(encoder).embedding())
        target.append(answers.features(encoder).embedding())
        positives.append(answers.rows)
    similarity = (torch.cat(query) @ torch.cat(target).T).cpu()
    answered = torch.from_numpy(pairs.answered(sample, np.concatenate(positives)))
    best = torch.where(answered, similarity, -torch.inf).amax(1, keepdim=True)
    rank = ((similarity > best) & ~answered).sum(1)
    return (rank < 1).float().mean().item(), (rank < 5).float().mean().item()


if __name__ == "__main__":
    with exit_on_user_error():
        run_stage("encoder", train, parse_arguments(__doc__))
