"""Train the fusion module and the residual quantizer on cached features (Eq. 8).

    python -m training.quantizer COLLECTION RUN [--preset small|paper|paper-text]

Shapes: b pairs of a batch, d dim, M levels.
"""

from __future__ import annotations

import time

import faiss
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from genius.artifacts import Run, write_json
from genius.collections.mbeir import Collection
from genius.errors import reported
from genius.explore.health import code_health, summary
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from training.checkpoint import Checkpoints, reseed
from training.encoder import contrastive, cosine, decayed
from training.features import Batch, FeatureSet
from training.settings import Arguments, QuantizerSettings, parse_arguments
from training.stage import run_stage

SAMPLE = 2000    # validation queries of the line after each epoch


class Stage(nn.Module):
    """Fusion and quantizer, which are trained together."""

    def __init__(self, settings: QuantizerSettings):
        super().__init__()
        self.fusion = Fusion(settings.fusion)
        self.quantizer = ResidualQuantizer(settings.quantizer)


def train(arguments: Arguments) -> None:
    """Train, publish both parts, write the fused features and the health report."""
    settings, seed, device = arguments.settings.quantizer, arguments.settings.seed, arguments.device
    run, collection = Run(arguments.run), Collection(arguments.collection)
    data, held_out = (FeatureSet(run.path, collection, split) for split in ("train", "val"))
    torch.manual_seed(seed)
    stage = Stage(settings).to(device)
    optimizer = torch.optim.AdamW(decayed(stage, settings.weight_decay), lr=settings.learning_rate, eps=1e-6)
    checkpoints = Checkpoints(run.path, "quantizer", settings, seed, run.digest("encoder"), len(data.pairs))
    first = checkpoints.resume(stage, optimizer)
    if first == 0:
        initialise(stage, data, settings, seed, device)
    steps = sum(1 for _ in data.pairs.batches(np.random.default_rng(seed), settings.batch,
                                              upsample_to=settings.upsample_to))
    for epoch in range(first, settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        stage.train()
        batches = data.pairs.batches(rng, settings.batch, upsample_to=settings.upsample_to)
        for step, queries in enumerate(tqdm(batches, desc=f"quantizer epoch {epoch}", total=steps, unit="batch")):
            rate = cosine(epoch * steps + step, settings.epochs * steps, 0.0,
                          settings.final_learning_rate / settings.learning_rate)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            parts = batch_losses(stage, data, data.draw(queries, rng), settings, device)
            loss = (settings.contrastive_weight * parts["cl"] + settings.rq_weight * parts["rq"]
                    + settings.mse_weight * parts["mse"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append([parts[name].item() for name in ("cl", "rq", "mse")])
        contrast, quantization, distance = np.mean(losses, axis=0)
        plain, quantized = hit_rates(stage, held_out, seed, device)
        print(f"quantizer epoch {epoch}  contrastive {contrast:.3f}  quantization {quantization:.5f}  "
              f"distance {distance:.5f}  val hit@5 {plain:.1%}, quantized {quantized:.1%}  "
              f"{time.perf_counter() - started:.0f} s", flush=True)
        checkpoints.save(stage, optimizer, epoch, score=quantized)
    print(f"quantizer: epoch {checkpoints.load_best(stage)} is the best")
    stage.eval().cpu()
    run.publish("fusion", stage.fusion.save, ("encoder",))
    run.publish("quantizer", stage.quantizer.save, ("encoder", "fusion"))
    for files in (data.query_files, held_out.query_files, data.candidate_files):
        files.fuse(stage.fusion)
    _, codes = quantized_candidates(stage, data, "cpu")
    health = code_health(codes.numpy(), data.candidates.modalities, settings.quantizer.code_sizes)
    plain, quantized = hit_rates(stage, held_out, seed, "cpu")
    write_json(run.path / "reports" / "health.json",
               health | {"val_hit_at_5": plain, "val_hit_at_5_quantized": quantized})
    print(summary(health))
    checkpoints.clear()


@torch.no_grad()
def initialise(stage: Stage, data: FeatureSet, settings: QuantizerSettings, seed: int, device: str) -> None:
    """k-means start of every codebook on queries and targets, under the untrained fusion."""
    rng = np.random.default_rng(seed)
    batch = data.draw(rng.permutation(len(data.pairs))[:settings.initial_vectors // 2], rng)
    z = torch.cat([stage.fusion(features) for features in data.features(batch, device)])
    stage.quantizer.initialise(z, batch.modality.repeat(2).to(device), seed)


def batch_losses(stage: Stage, data: FeatureSet, batch: Batch, settings: QuantizerSettings,
                 device: str) -> dict[str, Tensor]:
    """The three terms of Eq. 8. Queries and targets are both quantized, and both move the codebooks."""
    z_query, z_target = (stage.fusion(features) for features in data.features(batch, device))
    answered = torch.eye(len(batch.queries), dtype=torch.bool)
    if settings.mask_positives:
        answered = torch.from_numpy(data.pairs.answered(batch.queries, batch.positives))
    quantized = stage.quantizer(torch.cat([z_query, z_target]), batch.modality.repeat(2).to(device))
    q, c = quantized.z.chunk(2)
    if not settings.mse_raw:
        q, c = F.normalize(q, dim=-1), F.normalize(c, dim=-1)
    size = stage.quantizer.config.levels * stage.quantizer.config.dim if settings.rq_sum else 1
    return {"cl": contrastive(z_query, z_target, 1 / settings.temperature, answered.to(device), settings.both_ways),
            "rq": quantized.loss * size,
            "mse": (q - c).square().sum(-1).mean() if settings.mse_raw else F.mse_loss(q, c)}


@torch.inference_mode()
def quantized_candidates(stage: Stage, data: FeatureSet, device: str, batch: int = 8192) -> tuple[Tensor, Tensor]:
    """(z (n, d), codes (n, M)) of every candidate, modality codes forced if the quantizer's are."""
    z, codes = [], []
    for start in range(0, len(data.candidates), batch):
        rows = slice(start, start + batch)
        modality = torch.from_numpy(data.candidates.modalities[rows]).long().to(device)
        z.append(stage.fusion(data.candidate_files.features(rows).to(device)))
        codes.append(stage.quantizer.encode(z[-1], modality))
    return torch.cat(z), torch.cat(codes)


@torch.inference_mode()
def hit_rates(stage: Stage, data: FeatureSet, seed: int, device: str) -> tuple[float, float]:
    """hit@5 of validation queries among all candidates: by z, and by exhaustive search over quantized vectors."""
    stage.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(data.pairs))[:SAMPLE])
    query = stage.fusion(data.query_files.features(sample).to(device)).cpu().numpy()
    z, codes = quantized_candidates(stage, data, device)
    rates = []
    for vectors in (z, stage.quantizer.decode(codes)):
        _, found = faiss.knn(query, vectors.cpu().numpy(), 5)
        hits = [data.pairs.answered(sample[at:at + 1], found[at]).any() for at in range(len(sample))]
        rates.append(float(np.mean(hits)))
    return rates[0], rates[1]


if __name__ == "__main__":
    with reported():
        run_stage("quantizer", train, parse_arguments(__doc__))
