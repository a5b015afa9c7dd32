"""Train the fusion module and the residual quantizer on cached features (Eq. 8).

    python -m training.quantizer COLLECTION RUN [--preset small|demo|paper|paper-text]

Shapes: b pairs of a batch, d dim, M levels.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.quantize import quantize_all
from genius.errors import UserError, exit_on_user_error
from genius.files import write_json
from genius.metrics.code_health import code_health, summary
from genius.metrics.factor_agreement import read_factors
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.run import Run
from training.checkpoint import Checkpoints, reseed
from training.curves import record_epoch
from training.distributed import agree, agreed, average_gradients, bar, gathered, is_main, share
from training.features import Batch, FeatureSet
from training.optimisation import contrastive, cosine, decayed
from training.pairs import Candidates
from training.settings import Arguments, QuantizerSettings, parse_arguments
from training.stage import per_step, publish, run_stage
from training.validation import hit_rates


class FusionAndQuantizer(nn.Module):
    """Fusion and quantizer, which are trained together."""

    def __init__(self, settings: QuantizerSettings):
        super().__init__()
        self.fusion = Fusion(settings.fusion)
        self.quantizer = ResidualQuantizer(settings.quantizer)


def train(arguments: Arguments) -> None:
    """Train, publish both parts, write the fused features and the health report."""
    settings, seed, device = arguments.settings.quantizer, arguments.settings.seed, arguments.device
    run, collection = Run(arguments.run), Collection(arguments.collection)
    candidates = Candidates.read(collection)
    data, held_out = (FeatureSet(run, collection, candidates, split, seed) for split in ("train", "val"))
    labels = coarse_labels(collection, settings.coarse_factor) if settings.coarse_weight else None
    torch.manual_seed(seed)
    stage = FusionAndQuantizer(settings).to(device)
    optimizer = torch.optim.AdamW(decayed(stage, settings.weight_decay), lr=settings.learning_rate, eps=1e-6)
    checkpoints = Checkpoints(run.path, "quantizer", settings, seed, run.digest("encoder"), data.pairs.digest)
    first = checkpoints.resume(stage, optimizer)
    if first == 0 and is_main():
        initialise(stage, data, settings, seed, device)
    agree(stage)
    for epoch in range(first, settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        stage.train()
        batches = data.pairs.batches(rng, settings.batch, upsample_to=settings.upsample_to)
        steps = len(batches)
        for step, queries in enumerate(bar(batches, desc=f"quantizer epoch {epoch}", unit="batch")):
            rate = cosine(
                epoch * steps + step,
                settings.epochs * steps,
                0.0,
                settings.final_learning_rate / settings.learning_rate,
            )
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            parts = batch_losses(stage, data, data.draw(queries, rng), settings, device, labels)
            loss = (
                settings.contrastive_weight * parts["cl"]
                + settings.rq_weight * parts["rq"]
                + settings.mse_weight * parts["mse"]
                + settings.coarse_weight * parts["coarse"]
            )
            optimizer.zero_grad()
            loss.backward()
            average_gradients(stage.parameters())
            optimizer.step()
            agree(stage)
            losses.append([parts[name].item() for name in ("cl", "rq", "mse")])
        contrast, quantization, distance = np.mean(losses, axis=0)
        pace = per_step(started, steps)
        stage.eval()
        plain, quantized = agreed(is_main() and hit_rates(stage.fusion, stage.quantizer, held_out, seed, device))
        seconds = time.perf_counter() - started
        print(
            f"quantizer epoch {epoch}  contrastive {contrast:.3f}  quantization {quantization:.5f}  "
            f"distance {distance:.5f}  val hit@5 {plain:.1%}, quantized {quantized:.1%}  {seconds:.0f} s, {pace}",
            flush=True,
        )
        if is_main():
            record_epoch(
                run,
                "quantizer",
                epoch,
                contrastive=contrast,
                quantization=quantization,
                distance=distance,
                val_hit_at_5=plain,
                val_hit_at_5_quantized=quantized,
                seconds=seconds,
            )
        checkpoints.save(stage, optimizer, epoch, score=quantized)
    if settings.keep_best:
        print(f"quantizer: epoch {checkpoints.load_best(stage)} is the best")
    stage.eval()
    if settings.half:
        round_to_half(stage)  # from here on the stage is what its readers will load
    run = publish(run, "fusion", partial(stage.fusion.save, half=settings.half), ("encoder",))
    run = publish(run, "quantizer", partial(stage.quantizer.save, half=settings.half), ("encoder", "fusion"))
    if is_main():
        report(stage, run, data, held_out, seed, device)
    checkpoints.clear()


def report(stage: FusionAndQuantizer, run: Run, data: FeatureSet, held_out: FeatureSet, seed: int, device: str) -> None:
    """Write the fused features and the health report."""
    for files in (data.query_files, held_out.query_files, data.candidate_files):
        files.fuse(stage.fusion, run.digest("fusion"))
    modalities = data.candidates.modalities
    codes = quantize_all(data.candidate_files.fused(run.digest("fusion"))[:, 0], modalities, stage.quantizer)
    health = code_health(codes, modalities, stage.quantizer.config.code_sizes)
    plain, quantized = hit_rates(stage.fusion, stage.quantizer, held_out, seed, device)
    write_json(
        run.path / "reports" / "health.json", health | {"val_hit_at_5": plain, "val_hit_at_5_quantized": quantized}
    )
    print(summary(health))


@torch.no_grad()
def initialise(
    stage: FusionAndQuantizer, data: FeatureSet, settings: QuantizerSettings, seed: int, device: str
) -> None:
    """k-means start of every codebook on queries and targets, under the untrained fusion."""
    rng = np.random.default_rng(seed)
    batch = data.draw(rng.permutation(len(data.pairs))[: settings.initial_vectors // 2], rng)
    z = torch.cat([stage.fusion(features) for features in data.features(batch, device)])
    stage.quantizer.initialize(z, batch.modality.repeat(2).to(device), seed, settings.initial_iterations)


def coarse_labels(collection: Collection, factor: str) -> np.ndarray:
    """(n,) the factor of each candidate as a number, −1 where it has none.

    Raises UserError if no candidate has it.
    """
    known = read_factors(list(collection.all_candidates()))
    if factor not in known:
        raise UserError(
            f"no factor {factor!r} in src_content of {collection.root}'s candidates; there are: "
            f"{', '.join(known) or 'none'}; name one of them: --set quantizer.coarse_factor=…"
        )
    return known[factor]


def batch_losses(
    stage: FusionAndQuantizer,
    data: FeatureSet,
    batch: Batch,
    settings: QuantizerSettings,
    device: str,
    labels: np.ndarray | None = None,
) -> dict[str, Tensor]:
    """The three terms of Eq. 8 and, where candidates have labels (n,), that of what shares one.

    Queries and targets are both quantized, and both move the codebooks. Processes share the fusion's work; each
    quantizes and compares the whole batch.
    """
    b = len(batch.queries)
    own = data.features(batch.part(share(b)), device)
    z_query, z_target = (gathered(stage.fusion(features), b) for features in own)
    answered = torch.eye(b, dtype=torch.bool)
    if settings.mask_positives:
        answered = torch.from_numpy(data.pairs.answered(batch.queries, batch.positives))
    quantized = stage.quantizer(torch.cat([z_query, z_target]), batch.modality.repeat(2).to(device))
    q, c = quantized.z.chunk(2)
    if not settings.mse_raw:
        q, c = F.normalize(q, dim=-1), F.normalize(c, dim=-1)
    size = stage.quantizer.config.levels * stage.quantizer.config.dim if settings.rq_sum else 1
    return {
        "cl": contrastive(z_query, z_target, 1 / settings.temperature, answered.to(device), settings.both_ways),
        "rq": quantized.loss * size,
        "mse": (q - c).square().sum(-1).mean() if settings.mse_raw else F.mse_loss(q, c),
        "coarse": torch.zeros(())
        if labels is None
        else supcon_loss(
            torch.cat([z_query, z_target]),
            torch.from_numpy(labels[batch.positives]).repeat(2).to(device),
            settings.coarse_temperature,
        ),
    }


def supcon_loss(z: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """Supervised contrastive loss (Khosla et al. 2020) of z (b, d), normalised, with labels (b,), −1 for none."""
    itself = torch.eye(len(z), dtype=torch.bool, device=z.device)
    alike = (labels[:, None] == labels) & (labels >= 0)[:, None] & ~itself
    log_share = (z @ z.T / temperature).masked_fill(itself, -torch.inf).log_softmax(dim=-1)
    anchors = alike.any(1)
    if not anchors.any():
        return z.new_zeros(())
    return -(log_share.masked_fill(~alike, 0).sum(1)[anchors] / alike.sum(1)[anchors]).mean()


if __name__ == "__main__":
    with exit_on_user_error():
        run_stage("quantizer", train, parse_arguments(__doc__))
