"""The training loop of the encoder: contrastive learning (Eq. 2).

Shapes: b pairs of a batch, d embedding dim.
"""

import math
import time

import numpy as np
import torch
from torch import Tensor, nn

from genius.models.encoder import Encoder
from genius.run import Run
from training.checkpoint import Checkpoints, reseed
from training.curves import record_epoch
from training.distributed import average_gradients, broadcast_buffers, is_main, progress_bar
from training.encoder_inputs import InputLoader, Inputs
from training.instruction_swaps import OWN_INSTRUCTION
from training.locked import LockedEncoder, LockedLoader
from training.optimization import WeightAverage, adamw, bf16_where_fast, contrastive_loss, cosine, set_learning_rate
from training.pairs import Pairs
from training.settings import EncoderSettings
from training.stage import seconds_per_step

BETAS = (0.9, 0.98)  # of AdamW, as in UniIR
SAMPLE = 1500  # validation queries of the hit rates after each epoch
BLOCK = 256  # validation queries encoded together


def fit(
    encoder: Encoder | LockedEncoder,
    loader: InputLoader | LockedLoader,
    pairs: Pairs,
    val_pairs: Pairs,
    settings: EncoderSettings,
    seed: int,
    run: Run,
    checkpoints: Checkpoints,
) -> None:
    """Run settings.epochs epochs, from the last checkpoint if there is one.

    In the end the encoder has the average of its weights, if the settings ask for it.
    """
    swaps = loader.swaps
    average = WeightAverage(encoder, settings.average)
    model = nn.ModuleDict({"encoder": encoder, "average": average} | ({} if swaps is None else {"swaps": swaps}))
    optimizer = adamw(model, settings.learning_rate, settings.weight_decay, BETAS, fused=True)
    for epoch in range(checkpoints.resume(model, optimizer), settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        batches = pairs.batches(rng, settings.batch, settings.group, settings.upsample_to, settings.drop_last)
        encoder.train()
        inputs, steps = loader.load_pairs(pairs, batches, rng, training=True), len(batches)
        progress = progress_bar(inputs, desc=f"encoder epoch {epoch}", unit="batch", total=steps)
        for step, (queries, targets) in enumerate(progress):
            rate = cosine(epoch * steps + step, settings.epochs * steps, settings.warmup)
            set_learning_rate(optimizer, settings.learning_rate * rate)
            with bf16_where_fast(encoder.device, settings.bf16):
                query, target = queries.embedding(encoder), targets.embedding(encoder)
            loss = batch_loss(pairs, queries, targets, query, target, encoder.logit_scale.exp(), settings)
            if swaps is not None:
                loss = loss + swaps.loss(queries, targets, query, target)
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model.parameters())
            if settings.clip_grad_norm:
                nn.utils.clip_grad_norm_(model.parameters(), settings.clip_grad_norm)
            optimizer.step()
            if settings.max_logit_scale:
                with torch.no_grad():
                    encoder.logit_scale.clamp_(max=math.log(settings.max_logit_scale))
            average.update()
            losses.append(loss.item())
        broadcast_buffers(encoder)
        pace = seconds_per_step(started, steps)
        with average.averaged_weights():
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
    average.apply_averages()


def batch_loss(
    pairs: Pairs,
    queries: Inputs,
    targets: Inputs,
    query: Tensor,
    target: Tensor,
    scale: Tensor,
    settings: EncoderSettings,
) -> Tensor:
    """The contrastive loss (Eq. 2) of embeddings (b, d) of queries and of a positive of each; scale: 1/τ.

    Queries whose instruction was replaced are left out: what they retrieve is not known.
    """
    labeled = np.flatnonzero(queries.instruction == OWN_INSTRUCTION)
    positive_mask = torch.eye(len(labeled), dtype=torch.bool)
    if settings.mask_positives:
        positive_mask = torch.from_numpy(pairs.positive_mask(queries.rows[labeled], targets.rows[labeled]))
    return contrastive_loss(
        query[labeled], target[labeled], scale, positive_mask.to(query.device), settings.symmetric_loss
    )


@torch.inference_mode()
def validate(
    encoder: Encoder | LockedEncoder, loader: InputLoader | LockedLoader, pairs: Pairs, seed: int
) -> tuple[float, float]:
    """hit@1 and hit@5 of a fixed sample of validation queries, among the targets of that sample."""
    encoder.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    blocks = (sample[start : start + BLOCK] for start in range(0, len(sample), BLOCK))
    query, target, rows = [], [], []
    for queries, targets in loader.load_pairs(pairs, blocks, rng, training=False):
        query.append(queries.embedding(encoder))
        target.append(targets.embedding(encoder))
        rows.append(targets.rows)
    similarity = (torch.cat(query) @ torch.cat(target).T).cpu()
    positive_mask = torch.from_numpy(pairs.positive_mask(sample, np.concatenate(rows)))
    best = torch.where(positive_mask, similarity, -torch.inf).amax(1, keepdim=True)
    rank = ((similarity > best) & ~positive_mask).sum(1)
    return (rank < 1).float().mean().item(), (rank < 5).float().mean().item()
