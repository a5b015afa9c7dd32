"""Train the fusion module and the residual quantizer on cached features (Eq. 8).

    python -m training.quantizer COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

Shapes: b pairs of a batch, d dim, M levels, n candidates, s validation queries.
"""

import time
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.encoding.quantize import quantize_all
from genius.metrics.code_health import format_health, table_health
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.reports import program_version
from genius.run import Run
from genius.trie.ids import IDTable
from training.checkpoint import Checkpoints, reseed
from training.command_line import Arguments
from training.distributed import (
    all_gather,
    broadcast_buffers,
    broadcast_object,
    is_main,
    local_slice,
    progress_bar,
)
from training.settings import QuantizerSettings
from training.stage import publish, seconds_per_step, stage_command
from training.stages.curves import HEALTH, health_report, record_epoch
from training.stages.features import Batch, FeatureSet, training_features
from training.stages.optimization import adamw, contrastive_loss, cosine, descend

SAMPLE = 2000  # validation queries
# losses, as the report names them
FIGURES = {"cl": "contrastive", "rq": "quantization", "mse": "distance"}
# of AdamW and its schedule, as published
WEIGHT_DECAY = 0.2
BETAS = (0.9, 0.999)
FINAL_LEARNING_RATE = 1e-5


class FusionAndQuantizer(nn.Module):
    """The two modules that are trained together."""

    def __init__(self, settings: QuantizerSettings):
        super().__init__()
        self.fusion = Fusion(settings.fusion)
        self.quantizer = ResidualQuantizer(settings.quantizer)


def train(arguments: Arguments) -> None:
    """Train on the features of the run."""
    settings = arguments.settings
    data, val = training_features(arguments)
    fit(Run(arguments.run), data, val, settings.quantizer, settings.seed, arguments.device)


def fit(
    run: Run, data: FeatureSet, val: FeatureSet, settings: QuantizerSettings, seed: int, device: str
) -> None:
    """Train, publish both parts, write the fused features and the health report."""
    torch.manual_seed(seed)
    model = FusionAndQuantizer(settings).to(device)
    optimizer = adamw(model, settings.learning_rate, WEIGHT_DECAY, BETAS)
    checkpoints = Checkpoints(run.path, "quantizer", settings, seed, data.sources)
    for epoch in checkpoints.epochs(model, optimizer, settings.epochs, settings.patience):
        if epoch == 0:
            if is_main():
                initialize_codebooks(model, data, settings, seed, device)
            broadcast_buffers(model)
        rng = reseed(seed, epoch)
        started = time.perf_counter()
        history = []
        model.train()
        batches = data.pairs.batches(
            rng,
            settings.batch,
            upsample_to=settings.upsample_to,
            drop_last=settings.drop_last,
            row_names=settings.rows,
        )
        steps = len(batches)
        for step, queries in enumerate(
            progress_bar(batches, desc=f"quantizer epoch {epoch}", unit="batch")
        ):
            final = FINAL_LEARNING_RATE / settings.learning_rate
            rate = cosine(epoch * steps + step, settings.epochs * steps, final=final)
            losses = batch_losses(model, data, data.draw(queries, rng), settings, device)
            descend(optimizer, losses["total"], settings.learning_rate * rate, model)
            broadcast_buffers(model)
            history.append([losses[name].item() for name in FIGURES])
        pace = seconds_per_step(started, steps)
        model.eval()
        rates = broadcast_object(
            validate(model, val, settings, seed, device) if is_main() else None
        )
        figures = dict(zip(FIGURES.values(), np.mean(history, axis=0), strict=True))
        record_epoch(run, "quantizer", epoch, figures | rates, started, pace)
        checkpoints.save(model, optimizer, epoch, score=rates["validation hit@5 quantized"])
    if settings.keep_best:
        print(f"quantizer: keeping epoch {checkpoints.load_best(model)}, the best on validation")
    model.eval()
    if settings.half:
        round_to_half(model)  # as its readers will load it
    run = publish(run, "fusion", partial(model.fusion.save, half=settings.half), ("encoder",))
    run = publish(
        run, "quantizer", partial(model.quantizer.save, half=settings.half), ("encoder", "fusion")
    )
    if is_main():
        for files in (data.query_files, val.query_files, data.candidate_files):
            files.fuse(model.fusion, run.digest("fusion"))
        rates = validate(model, val, settings, seed, device)
        report_health(run, data, model.quantizer, rates)
    checkpoints.clear()


def report_health(
    run: Run, data: FeatureSet, quantizer: ResidualQuantizer, rates: dict[str, Any]
) -> None:
    """Write and print how evenly the candidates use the codes. rates: of validation."""
    modalities = data.candidates.modalities
    fused = data.candidate_files.fused(run.digest("fusion"))[:, 0]
    codes = quantize_all(fused, modalities, quantizer)
    table = IDTable.build(codes, quantizer.config.code_sizes)
    health = table_health(table, modalities) | rates
    health_report(health, program_version(run.path)).write(run.path / HEALTH)
    print(format_health(health))


@torch.inference_mode()
def validate(
    model: FusionAndQuantizer,
    val: FeatureSet,
    settings: QuantizerSettings,
    seed: int,
    device: str,
    block: int = 8192,
) -> dict[str, float]:
    """Hit@5 of validation queries of the rows that are trained, among all candidates: by z, and by
    quantized vectors.

    block: candidates that are compared together.
    """
    pairs = val.pairs
    candidates = val.candidates
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(np.flatnonzero(pairs.row_mask(settings.rows)))[:SAMPLE])
    query = model.fusion(val.query_files.features(sample).to(device))  # (s, d)
    none = (
        torch.full((len(sample), 5), -torch.inf, device=device),
        torch.full((len(sample), 5), -1, device=device),
    )
    # scores and rows so far
    best = dict.fromkeys(("validation hit@5", "validation hit@5 quantized"), none)
    for start in range(0, len(candidates), block):
        part = slice(start, start + block)
        modality = torch.from_numpy(candidates.modalities[part]).long().to(device)
        z = model.fusion(val.candidate_files.features(part).to(device))
        quantized = model.quantizer.decode(model.quantizer.encode(z, modality))
        row = torch.arange(start, start + len(z), device=device).expand(len(sample), -1)
        for name, vectors in zip(best, (z, quantized), strict=True):
            by_distance = 2 * query @ vectors.T - vectors.square().sum(-1)
            scores = torch.cat([best[name][0], by_distance], dim=1)
            rows = torch.cat([best[name][1], row], dim=1)
            scores, at = scores.topk(5)
            best[name] = scores, rows.gather(1, at)
    rates = {}
    for name, (_, first) in best.items():
        found = zip(sample[:, None], first.cpu().numpy())
        hits = [pairs.positive_mask(asked, rows).any() for asked, rows in found]
        rates[name] = float(np.mean(hits))
    return rates


@torch.no_grad()
def initialize_codebooks(
    model: FusionAndQuantizer, data: FeatureSet, settings: QuantizerSettings, seed: int, device: str
) -> None:
    """Start every codebook by k-means on fused queries and targets, before the fusion is
    trained.
    """
    rng = np.random.default_rng(seed)
    queries = np.flatnonzero(data.pairs.row_mask(settings.rows))
    batch = data.draw(rng.permutation(queries)[: settings.kmeans_vectors // 2], rng)
    z = torch.cat([model.fusion(features) for features in data.features(batch, device)])
    model.quantizer.initialize(
        z, batch.modality.repeat(2).to(device), seed, settings.kmeans_iterations
    )


def batch_losses(
    model: FusionAndQuantizer,
    data: FeatureSet,
    batch: Batch,
    settings: QuantizerSettings,
    device: str,
) -> dict[str, Tensor]:
    """The three terms of Eq. 8, the classifier's loss if the quantizer has one, and their weighted
    total, () each.

    Queries and targets are both quantized, and both move the codebooks. Each process fuses its
    slice of the batch; all of them quantize and compare the whole batch.
    """
    b = len(batch.queries)
    query, target = data.features(batch.part(local_slice(b)), device)
    z_query = all_gather(model.fusion(query), b)
    z_target = all_gather(model.fusion(target), b)
    positives = None
    if settings.mask_positives:
        positives = torch.from_numpy(data.pairs.positive_mask(batch.queries, batch.positives)).to(
            device
        )
    quantized = model.quantizer(torch.cat([z_query, z_target]), batch.modality.repeat(2).to(device))
    z_hat_query, z_hat_target = quantized.z_hat.chunk(2)
    if settings.mse_raw:
        mse = (z_hat_query - z_hat_target).square().sum(-1).mean()
    else:
        mse = F.mse_loss(F.normalize(z_hat_query, dim=-1), F.normalize(z_hat_target, dim=-1))
    size = model.quantizer.config.levels * model.quantizer.config.dim if settings.rq_sum else 1
    losses = {
        "cl": contrastive_loss(
            z_query, z_target, 1 / settings.temperature, positives, settings.symmetric_loss
        ),
        "rq": quantized.loss * size,
        "mse": mse,
        "modality": quantized.modality_loss,
    }
    weighted = settings.contrastive_weight * losses["cl"] + settings.rq_weight * losses["rq"]
    return losses | {"total": weighted + settings.mse_weight * losses["mse"] + losses["modality"]}


if __name__ == "__main__":
    stage_command("quantizer", train, __doc__)
