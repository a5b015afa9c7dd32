"""Train the fusion module and the residual quantizer on cached features (Eq. 8).

    python -m training.quantizer COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

Shapes: b pairs of a batch, d dim, M levels, n candidates.
"""

import time
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.encoding.quantize import quantize_all
from genius.errors import exit_on_user_error
from genius.metrics.code_health import code_health, format_health
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.reports import version
from genius.run import Run
from training.checkpoint import Checkpoints, reseed
from training.class_pictures import training_collection
from training.command_line import Arguments, parse_arguments
from training.curves import HEALTH, health_report, record_epoch
from training.distributed import (
    all_gather,
    average_gradients,
    broadcast_buffers,
    broadcast_object,
    is_main,
    local_slice,
    progress_bar,
)
from training.features import Batch, FeatureSet
from training.optimization import adamw, contrastive_loss, cosine, set_learning_rate
from training.pairs import CandidateTable
from training.settings import QuantizerSettings
from training.stage import publish, run_stage, seconds_per_step
from training.validation import hit_rates

WEIGHT_DECAY, BETAS, FINAL_LEARNING_RATE = 0.2, (0.9, 0.999), 1e-5  # of AdamW and its schedule, as published


class FusionAndQuantizer(nn.Module):
    """The two modules that are trained together."""

    def __init__(self, settings: QuantizerSettings):
        super().__init__()
        self.fusion = Fusion(settings.fusion)
        self.quantizer = ResidualQuantizer(settings.quantizer)


def train(arguments: Arguments) -> None:
    """Train on the features of the run."""
    settings, seed, device = arguments.settings.quantizer, arguments.settings.seed, arguments.device
    run = Run(arguments.run)
    collection = training_collection(arguments.collection, arguments.settings, run)
    candidates = CandidateTable.read(collection)
    data = FeatureSet.read(run, collection, candidates, "train", seed)
    val = FeatureSet.read(run, collection, candidates, "val", seed)
    fit(run, data, val, settings, seed, device)


def fit(run: Run, data: FeatureSet, val: FeatureSet, settings: QuantizerSettings, seed: int, device: str) -> None:
    """Train, publish both parts, write the fused features and the health report."""
    torch.manual_seed(seed)
    model = FusionAndQuantizer(settings).to(device)
    optimizer = adamw(model, settings.learning_rate, WEIGHT_DECAY, BETAS)
    checkpoints = Checkpoints(run.path, "quantizer", settings, seed, data.sources)
    first = checkpoints.resume(model, optimizer)
    if first == 0 and is_main():
        initialize_codebooks(model, data, settings, seed, device)
    broadcast_buffers(model)
    for epoch in range(first, settings.epochs):
        if checkpoints.should_stop(settings.patience):
            break
        rng, started, history = reseed(seed, epoch), time.perf_counter(), []
        model.train()
        batches = data.pairs.batches(
            rng, settings.batch, upsample_to=settings.upsample_to, drop_last=settings.drop_last, row_names=settings.rows
        )
        steps = len(batches)
        for step, queries in enumerate(progress_bar(batches, desc=f"quantizer epoch {epoch}", unit="batch")):
            final = FINAL_LEARNING_RATE / settings.learning_rate
            rate = cosine(epoch * steps + step, settings.epochs * steps, final=final)
            set_learning_rate(optimizer, settings.learning_rate * rate)
            losses = batch_losses(model, data, data.draw(queries, rng), settings, device)
            optimizer.zero_grad()
            total_loss(losses, settings).backward()
            average_gradients(model.parameters())
            optimizer.step()
            broadcast_buffers(model)
            history.append([losses[name].item() for name in ("cl", "rq", "mse")])
        contrastive, quantization, distance = np.mean(history, axis=0)
        pace = seconds_per_step(started, steps)
        model.eval()
        rates = broadcast_object(validate(model, val, settings, seed, device) if is_main() else None)
        seconds = time.perf_counter() - started
        print(
            f"quantizer epoch {epoch}  contrastive {contrastive:.3f}  quantization {quantization:.5f}  "
            f"distance {distance:.5f}  {_format_rates(rates)}{seconds:.0f} s, {pace}",
            flush=True,
        )
        if is_main():
            figures = {"contrastive": contrastive, "quantization": quantization, "distance": distance}
            record_epoch(run, "quantizer", epoch, **figures, **rates, seconds=seconds)
        checkpoints.save(model, optimizer, epoch, score=rates.get("val_hit_at_5_quantized", 0.0))
    if settings.keep_best:
        print(f"quantizer: keeping epoch {checkpoints.load_best(model)}, the best on validation")
    model.eval()
    if settings.half:
        round_to_half(model)  # as its readers will load it
    run = publish(run, "fusion", partial(model.fusion.save, half=settings.half), ("encoder",))
    run = publish(run, "quantizer", partial(model.quantizer.save, half=settings.half), ("encoder", "fusion"))
    if is_main():
        report(model, run, data, val, settings, seed, device)
    checkpoints.clear()


def validate(
    model: FusionAndQuantizer, val: FeatureSet, settings: QuantizerSettings, seed: int, device: str
) -> dict[str, float]:
    """Hit rates on validation queries of the rows that are trained: by fused features, and by quantized ones."""
    fused, quantized = hit_rates(model.fusion, model.quantizer, val, seed, device, row_names=settings.rows)
    return {"val_hit_at_5": fused, "val_hit_at_5_quantized": quantized}


def _format_rates(rates: dict[str, float]) -> str:
    """The hit rates of an epoch in the line that is printed; empty if it was not validated."""
    if not rates:
        return ""
    return f"val hit@5 {rates['val_hit_at_5']:.1%}, quantized {rates['val_hit_at_5_quantized']:.1%}  "


def report(
    model: FusionAndQuantizer,
    run: Run,
    data: FeatureSet,
    val: FeatureSet,
    settings: QuantizerSettings,
    seed: int,
    device: str,
) -> None:
    """Write the fused features and the health report."""
    for files in (data.query_files, val.query_files, data.candidate_files):
        files.fuse(model.fusion, run.digest("fusion"))
    modalities = data.candidates.modalities
    codes = quantize_all(data.candidate_files.fused(run.digest("fusion"))[:, 0], modalities, model.quantizer)
    health = code_health(codes, modalities, model.quantizer.config.code_sizes)
    health |= validate(model, val, settings, seed, device)
    health_report(health, version(run.path)).write(run.path / HEALTH)
    print(format_health(health))


@torch.no_grad()
def initialize_codebooks(
    model: FusionAndQuantizer, data: FeatureSet, settings: QuantizerSettings, seed: int, device: str
) -> None:
    """Start every codebook by k-means on fused queries and targets, before the fusion is trained."""
    rng = np.random.default_rng(seed)
    queries = np.flatnonzero(data.pairs.row_mask(settings.rows))
    batch = data.draw(rng.permutation(queries)[: settings.kmeans_vectors // 2], rng)
    z = torch.cat([model.fusion(features) for features in data.features(batch, device)])
    model.quantizer.initialize(z, batch.modality.repeat(2).to(device), seed, settings.kmeans_iterations)


def batch_losses(
    model: FusionAndQuantizer, data: FeatureSet, batch: Batch, settings: QuantizerSettings, device: str
) -> dict[str, Tensor]:
    """The three terms of Eq. 8, and the classifier's loss if the quantizer has one.

    Queries and targets are both quantized, and both move the codebooks. Each process fuses its slice of the batch;
    all of them quantize and compare the whole batch.
    """
    b = len(batch.queries)
    query, target = data.features(batch.part(local_slice(b)), device)
    z_query, z_target = all_gather(model.fusion(query), b), all_gather(model.fusion(target), b)
    positive_mask = torch.eye(b, dtype=torch.bool)
    if settings.mask_positives:
        positive_mask = torch.from_numpy(data.pairs.positive_mask(batch.queries, batch.positives))
    quantized = model.quantizer(torch.cat([z_query, z_target]), batch.modality.repeat(2).to(device))
    z_hat_query, z_hat_target = quantized.z.chunk(2)
    if not settings.mse_raw:
        z_hat_query, z_hat_target = F.normalize(z_hat_query, dim=-1), F.normalize(z_hat_target, dim=-1)
    size = model.quantizer.config.levels * model.quantizer.config.dim if settings.rq_sum else 1
    return {
        "cl": contrastive_loss(
            z_query, z_target, 1 / settings.temperature, positive_mask.to(device), settings.symmetric_loss
        ),
        "rq": quantized.loss * size,
        "mse": (z_hat_query - z_hat_target).square().sum(-1).mean()
        if settings.mse_raw
        else F.mse_loss(z_hat_query, z_hat_target),
        "modality": quantized.modality_loss,
    }


def total_loss(losses: dict[str, Tensor], settings: QuantizerSettings) -> Tensor:
    """Eq. 8 with the weights of the settings, and the classifier's loss."""
    return (
        settings.contrastive_weight * losses["cl"]
        + settings.rq_weight * losses["rq"]
        + settings.mse_weight * losses["mse"]
        + losses["modality"]
    )


if __name__ == "__main__":
    with exit_on_user_error():
        run_stage("quantizer", train, parse_arguments("training.quantizer", __doc__))
