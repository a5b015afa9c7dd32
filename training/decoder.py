"""Train the ID decoder on cached fused features (Eq. 10, Eq. 11).

    python -m training.decoder COLLECTION RUN [--preset small|demo|paper|paper-text]

Where the preset asks for it, the epoch that is kept and the decoder's weight against the codes' geometry are
chosen on validation queries whose targets were no training targets: those show whether it generalises or only
remembers IDs.

Shapes: b batch, d dim, M levels, w beams.
"""

from __future__ import annotations

import dataclasses
import time
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.quantize import quantize_all
from genius.errors import UserError, exit_on_user_error
from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.run import Run
from genius.search.beam import beam_search
from genius.trie.ids import IDTable
from genius.trie.trie import Trie
from training.checkpoint import Checkpoints, reseed
from training.curves import record_epoch
from training.distributed import average_gradients, bar, is_main, mean, own_weight, share
from training.features import FeatureSet
from training.optimisation import cosine
from training.pairs import Candidates
from training.query_augmentation import MIXTURES
from training.settings import Arguments, DecoderSettings, parse_arguments
from training.stage import per_step, publish, run_stage

BEAMS = 20  # of the validation search
PER_ROW = 100  # validation queries of each (task, dataset) row


def train(arguments: Arguments) -> None:
    """Train, choose the epoch and the decoder's weight, publish."""
    settings, seed, device = arguments.settings.decoder, arguments.settings.seed, arguments.device
    run, collection = Run(arguments.run), Collection(arguments.collection)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(device)
    candidates, fusion = Candidates.read(collection), run.digest("fusion")
    data, val = (FeatureSet(run, collection, candidates, split, seed) for split in ("train", "val"))
    samples = Samples(data, quantizer, fusion, settings)
    held_out = Validation(val, samples, fusion, device, seed) if is_main() else None
    torch.manual_seed(seed)
    decoder = IDDecoder(settings.decoder)
    decoder.initialize(quantizer.cpu())
    decoder.to(device)
    parameters = [p for p in decoder.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, betas=settings.betas, eps=1e-6, weight_decay=settings.weight_decay
    )
    checkpoints = Checkpoints(run.path, "decoder", settings, seed, run.digest("quantizer"), data.pairs.digest)
    by_geometry = held_out.candidate_recall(decoder, 0.0) if is_main() else 0.0
    for epoch in range(checkpoints.resume(decoder, optimizer), settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        decoder.train()
        order = samples.epoch(rng)
        steps = -(-len(order) // settings.batch)
        for step in bar(range(steps), desc=f"decoder epoch {epoch}", unit="batch"):
            total = settings.epochs * steps
            rate = cosine(epoch * steps + step, total, min(0.5, settings.warmup_steps / total))
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            batch = order[step * settings.batch : (step + 1) * settings.batch]
            features, codes = samples.draw(batch, rng, device)
            with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=settings.bf16):
                logits = decoder(features, codes)
            loss = cross_entropy(logits, codes, settings.decoder.offsets) * own_weight(len(batch))
            optimizer.zero_grad()
            loss.backward()
            average_gradients(parameters)
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            losses.append(loss.item())
        pace, loss = per_step(started, steps), mean(np.mean(losses))
        kept = held_out.candidate_recall(decoder, 1.0) if is_main() else 0.0
        seconds = time.perf_counter() - started
        print(
            f"decoder epoch {epoch}  loss {loss:.3f}  unseen val targets among {BEAMS} beams: "
            f"decoder {kept:.1%}, geometry {by_geometry:.1%}  {seconds:.0f} s, {pace}",
            flush=True,
        )
        if is_main():
            record_epoch(
                run, "decoder", epoch, loss=loss, val_recall=kept, val_recall_by_geometry=by_geometry, seconds=seconds
            )
        checkpoints.save(decoder, optimizer, epoch, score=kept)
    if settings.keep_best:
        print(f"decoder: epoch {checkpoints.load_best(decoder)} is the best")
    if settings.half:
        round_to_half(decoder)
    if is_main():
        recalls = {weight: held_out.candidate_recall(decoder, weight) for weight in settings.weights}
        print(
            "unseen val targets among the beams, by decoder weight: "
            + "  ".join(f"{weight:g}: {recall:.1%}" for weight, recall in recalls.items())
        )
        decoder.config = dataclasses.replace(decoder.config, decoder_weight=max(recalls, key=recalls.get))
    publish(run, "decoder", partial(decoder.save, half=settings.half), ("quantizer",))
    checkpoints.clear()


class Samples:
    """What the decoder learns from: labelled pairs and, if asked, every candidate as its own query."""

    def __init__(self, data: FeatureSet, quantizer: ResidualQuantizer, fusion: str, settings: DecoderSettings):
        """fusion: its digest."""
        self.data, self.settings = data, settings
        self.queries, self.candidates = data.query_files.fused(fusion), data.candidate_files.fused(fusion)[:, 0]
        self.codes = quantize_all(self.candidates, data.candidates.modalities, quantizer)

    def epoch(self, rng: np.random.Generator) -> np.ndarray:
        """A shuffled epoch: query numbers, and −1 − row for a candidate that is its own query."""
        order = self.data.pairs.epoch(rng, self.settings.upsample_to)
        if self.settings.self_queries:
            order = np.concatenate([order, -1 - np.arange(len(self.candidates))])
        return rng.permutation(order)

    def draw(self, order: np.ndarray, rng: np.random.Generator, device: str) -> tuple[Tensor, Tensor]:
        """-> augmented features (b, d) and the codes (b, M) to generate, of this process's share of b samples."""

        def weights(width: int) -> Tensor:
            drawn = rng.beta(self.settings.alpha, self.settings.alpha, (len(order), width))
            return torch.from_numpy(drawn[part].astype(np.float32)).to(device)

        part = share(len(order))
        batch = self.data.draw(np.where(order < 0, 0, order), rng).part(part)
        own = order[part] < 0
        rows = np.where(own, -1 - order[part], batch.positives)
        target = torch.from_numpy(self.candidates[rows].astype(np.float32)).to(device)
        query = torch.from_numpy(self.queries[batch.queries, batch.phrasing].astype(np.float32)).to(device)
        features = MIXTURES[self.settings.augmentation](query, target, weights)
        features = torch.where(torch.from_numpy(own).to(device)[:, None], target, features)
        return features, torch.from_numpy(self.codes[rows].astype(np.int64)).to(device)


class Validation:
    """Validation queries none of whose targets was a training target, as many of each (task, dataset) row."""

    def __init__(self, data: FeatureSet, samples: Samples, fusion: str, device: str, seed: int):
        pairs, trained = data.pairs, np.unique(samples.data.pairs.positives)
        seen = np.logical_or.reduceat(np.isin(pairs.positives, trained), pairs.offsets[:-1])
        rng = np.random.default_rng(seed)
        rows = [
            rng.permutation(np.flatnonzero((pairs.rows == row) & ~seen))[:PER_ROW] for row in range(len(pairs.names))
        ]
        self.chosen = np.sort(np.concatenate(rows))
        if not len(self.chosen):
            raise UserError(
                "every validation query has a training target; give the collection a val split with items of its own"
            )
        self.pairs = pairs
        self.features = torch.from_numpy(data.query_files.fused(fusion)[self.chosen, 0].astype(np.float32)).to(device)
        table = IDTable.build(samples.codes, samples.settings.decoder.code_sizes)
        self.trie = Trie(table, device)
        self.id_of = np.empty(len(table.rows), dtype=np.int64)  # of each candidate row
        self.id_of[table.rows] = table.ids_of(np.arange(len(table)))

    @torch.inference_mode()
    def candidate_recall(self, decoder: IDDecoder, weight: float) -> float:
        """Share of queries with a positive among the generated IDs, averaged over (task, dataset) rows."""
        search = IncrementalDecoder(decoder.eval())
        found = np.concatenate(
            [
                beam_search(search, part, self.trie, BEAMS, mode="set", decoder_weight=weight).low.cpu().numpy()
                for part in self.features.split(256)
            ]
        )
        kept = np.array(
            [
                np.isin(self.id_of[self.pairs.positives[start:end]], ids).any()
                for ids, start, end in zip(
                    found, self.pairs.offsets[self.chosen], self.pairs.offsets[self.chosen + 1], strict=True
                )
            ]
        )
        rows = self.pairs.rows[self.chosen]
        return float(np.mean([kept[rows == row].mean() for row in np.unique(rows)]))


def cross_entropy(logits: Tensor, codes: Tensor, offsets: tuple[int, ...]) -> Tensor:
    """Eq. 10, averaged over levels: logits (b, M, V), codes (b, M)."""
    tokens = codes + torch.tensor(offsets, device=codes.device)
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


if __name__ == "__main__":
    with exit_on_user_error():
        run_stage("decoder", train, parse_arguments(__doc__))
