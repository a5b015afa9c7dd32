"""Train the ID decoder on cached fused features (Eq. 10, Eq. 11).

    python -m training.decoder COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

Where the settings ask for it, the epoch and the decoder's weight against geometry are chosen on
validation queries none of whose targets was a training target: these show whether the decoder
generalizes or only remembers IDs. Where every validation query has a training target, they are
chosen on those, and the command says so.

Shapes: b batch, d dim, M levels, q queries.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.encoding.quantize import quantize_all
from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.run import Run
from genius.search.beam import beam_search
from genius.trie.ids import IDTable, expand_ranges
from genius.trie.trie import Trie
from training.checkpoint import Checkpoints, reseed
from training.command_line import Arguments
from training.data.pairs import split_batches, unseen_queries
from training.distributed import (
    is_main,
    local_slice,
    local_weight,
    mean_over_processes,
    progress_bar,
)
from training.settings import Augmentation, DecoderSettings
from training.stage import publish, seconds_per_step, stage_command
from training.stages.curves import record_epoch
from training.stages.features import FeatureSet, training_features
from training.stages.optimization import adamw, bf16_where_fast, cosine, descend

WEIGHT_DECAY, BETAS, CLIP_GRAD_NORM = 1e-4, (0.9, 0.98), 1.0  # as published
ALPHA = 2.0  # of Beta(α, α) in Eq. 11
BEAMS = 20  # of the validation search
PER_ROW = 100  # validation queries of each (task, dataset) row

DrawWeights = Callable[[int], Tensor]  # width -> (b, width) drawn from Beta(α, α)


@dataclass(frozen=True)
class TargetIDs:
    """The IDs that a decoder learns to generate, and from which fused features."""

    codes: np.ndarray  # (n, M) of every candidate
    # that made them; None: IDs without codewords, so geometry says nothing
    quantizer: ResidualQuantizer | None
    fusion_digest: str  # of the fusion whose fused features are the queries
    digest: str  # of all that the IDs depend on


def train(arguments: Arguments) -> None:
    """Train on the IDs of the run's quantizer, publish."""
    settings, seed, device = arguments.settings.decoder, arguments.settings.seed, arguments.device
    run = Run(arguments.run)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(device)
    fusion_digest = run.digest("fusion")
    data, val = training_features(arguments)
    codes = quantize_all(
        data.candidate_files.fused(fusion_digest)[:, 0], data.candidates.modalities, quantizer
    )
    targets = TargetIDs(codes, quantizer.cpu(), fusion_digest, run.digest("quantizer"))
    decoder, checkpoints = fit(run, data, val, targets, settings, seed, device)
    publish(run, "decoder", partial(decoder.save, half=settings.half), ("quantizer",))
    checkpoints.clear()


def fit(
    run: Run,
    data: FeatureSet,
    val: FeatureSet,
    targets: TargetIDs,
    settings: DecoderSettings,
    seed: int,
    device: str,
) -> tuple[IDDecoder, Checkpoints]:
    """Train a decoder, choose its epoch and its weight; -> it, and its checkpoints, to be cleared
    once it is stored.
    """
    samples = Samples(data, targets, settings, device)
    validation = (
        Validation(val, samples, targets.fusion_digest, device, seed) if is_main() else None
    )
    decoder = initial_decoder(targets, settings, seed).to(device)
    optimizer = adamw(decoder, settings.learning_rate, WEIGHT_DECAY, BETAS, settings.decay_all)
    checkpoints = Checkpoints(run.path, "decoder", settings, seed, targets.digest, data.sources)
    geometry_recall = None
    if validation and targets.quantizer is not None:
        geometry_recall = validation.candidate_recall(decoder, 0.0)
    for epoch in checkpoints.epochs(decoder, optimizer, settings.epochs, settings.patience):
        rng = reseed(seed, epoch)
        started = time.perf_counter()
        losses = []
        decoder.train()
        batches = split_batches(samples.epoch(rng), settings.batch, settings.drop_last)
        steps = len(batches)
        total = settings.epochs * steps
        # or else a short training would never reach the peak
        warmup = min(0.5, settings.warmup_steps / total)
        for step, batch in enumerate(
            progress_bar(batches, desc=f"decoder epoch {epoch}", unit="batch")
        ):
            rate = cosine(epoch * steps + step, total, warmup, from_zero=settings.warmup_from_zero)
            features, codes = samples.draw(batch, rng, device)
            with bf16_where_fast(device, settings.bf16):
                logits = decoder(features, codes)
            loss = cross_entropy(logits, codes, settings.decoder.offsets) * local_weight(len(batch))
            descend(optimizer, loss, settings.learning_rate * rate, decoder, CLIP_GRAD_NORM)
            losses.append(loss.item())
        pace = seconds_per_step(started, steps)
        figures = {"loss": mean_over_processes(float(np.mean(losses)))}
        if validation:
            figures["validation recall"] = validation.candidate_recall(decoder, 1.0)
            if geometry_recall is not None:
                figures["validation recall by geometry"] = geometry_recall
        record_epoch(run, "decoder", epoch, figures, started, pace)
        checkpoints.save(decoder, optimizer, epoch, score=figures.get("validation recall", 0.0))
    if settings.keep_best:
        print(f"decoder: keeping epoch {checkpoints.load_best(decoder)}, the best on validation")
    if settings.half:
        round_to_half(decoder)
    if validation:
        weight = choose_weight(decoder, validation, settings.decoder_weights)
        decoder.config = dataclasses.replace(decoder.config, decoder_weight=weight)
    return decoder, checkpoints


def initial_decoder(targets: TargetIDs, settings: DecoderSettings, seed: int) -> IDDecoder:
    torch.manual_seed(seed)
    decoder = IDDecoder(settings.decoder)
    if targets.quantizer is not None:
        decoder.initialize(targets.quantizer)
    return decoder


def choose_weight(decoder: IDDecoder, validation: "Validation", weights: Sequence[float]) -> float:
    """The weight of the decoder against geometry that has the highest recall on validation; the
    first of equal ones.
    """
    if len(weights) == 1:
        return weights[0]
    recalls = {weight: validation.candidate_recall(decoder, weight) for weight in weights}
    print(
        "recall by decoder weight: "
        + "  ".join(f"{weight:g}: {recall:.1%}" for weight, recall in recalls.items())
    )
    return max(recalls, key=recalls.__getitem__)


class Samples:
    """Training samples: pairs and, if the settings ask for it, every candidate as its own query."""

    def __init__(
        self, data: FeatureSet, targets: TargetIDs, settings: DecoderSettings, device: str
    ):
        self.data = data
        self.settings = settings
        self.codes = targets.codes
        self.queries = data.query_files.fused(targets.fusion_digest)
        self.candidates = data.candidate_files.fused(targets.fusion_digest)[:, 0]

    def epoch(self, rng: np.random.Generator) -> np.ndarray:
        """A shuffled epoch (·,): query numbers, and −1 − row for a candidate that is its own
        query.
        """
        settings = self.settings
        order = self.data.pairs.epoch(rng, settings.upsample_to, settings.rows)
        if settings.self_queries:
            order = np.concatenate([order, -1 - np.arange(len(self.candidates))])
        return rng.permutation(order)

    def draw(
        self, batch: np.ndarray, rng: np.random.Generator, device: str
    ) -> tuple[Tensor, Tensor]:
        """This process's slice of b samples, numbers (b,) of an epoch -> augmented features (b, d),
        the codes to learn (b, M).
        """
        local = local_slice(len(batch))

        def draw_weights(width: int) -> Tensor:
            weights = rng.beta(ALPHA, ALPHA, (len(batch), width))  # as in other processes
            return torch.from_numpy(weights[local].astype(np.float32)).to(device)

        pairs = self.data.draw(np.where(batch < 0, 0, batch), rng).part(local)
        is_self_query = batch[local] < 0
        rows = np.where(is_self_query, -1 - batch[local], pairs.positives)
        query, target, codes, unmixed = (
            torch.from_numpy(values).to(device)
            for values in (
                self.queries[pairs.queries, pairs.phrasing].astype(np.float32),
                self.candidates[rows].astype(np.float32),
                self.codes[rows].astype(np.int64),
                is_self_query[:, None],
            )
        )
        features = augmented(query, target, self.settings.augmentation, draw_weights)
        return torch.where(unmixed, target, features), codes


class Validation:
    """Validation queries none of whose targets was a training target, up to PER_ROW of each row
    that is trained.

    Where every target was one, as in a catalog that all queries ask, they are chosen among all
    queries.
    """

    def __init__(
        self, data: FeatureSet, samples: Samples, fusion_digest: str, device: str, seed: int
    ):
        row_names, pairs = samples.settings.rows, data.pairs
        training_targets = np.unique(samples.data.pairs.select_rows(row_names).positives)
        in_rows = pairs.row_mask(row_names)
        chosen = unseen_queries(pairs, training_targets, PER_ROW, seed)
        if not in_rows[chosen].any():
            print(
                "decoder: every validation query has a training target; validating on "
                "these, which may be remembered"
            )
            chosen = unseen_queries(pairs, np.empty(0, dtype=np.int64), PER_ROW, seed)
        self.chosen = chosen[in_rows[chosen]]
        self.pairs = pairs
        queries = data.query_files.fused(fusion_digest)[self.chosen, 0]
        self.features = torch.from_numpy(queries.astype(np.float32)).to(device)
        table = IDTable.build(samples.codes, samples.settings.decoder.code_sizes)
        self.trie = Trie(table, device)
        # ID number of each candidate row
        self.id_of_row = np.empty(len(table.rows), dtype=np.int64)
        self.id_of_row[table.rows] = table.ids_of(np.arange(len(table)))

    @torch.inference_mode()
    def candidate_recall(self, decoder: IDDecoder, decoder_weight: float) -> float:
        """Share of queries with a positive among the generated IDs, averaged over (task, dataset)
        rows.
        """
        incremental = IncrementalDecoder(decoder.eval())
        beams = [
            beam_search(incremental, part, self.trie, BEAMS, decoder_weight=decoder_weight)
            for part in self.features.split(256)
        ]
        # (q, BEAMS) ID numbers
        generated = np.concatenate([part.low.cpu().numpy() for part in beams])
        owner, place = expand_ranges(
            self.pairs.offsets[self.chosen], self.pairs.offsets[self.chosen + 1]
        )
        found = (generated[owner] == self.id_of_row[self.pairs.positives[place], None]).any(1)
        hit = np.bincount(owner[found], minlength=len(self.chosen)) > 0
        rows = self.pairs.rows[self.chosen]
        return float(np.mean([hit[rows == row].mean() for row in np.unique(rows)]))


def cross_entropy(logits: Tensor, codes: Tensor, offsets: tuple[int, ...]) -> Tensor:
    """Eq. 10, averaged over levels: logits (b, M, V), codes (b, M) -> ()."""
    tokens = codes + torch.tensor(offsets, device=codes.device)
    return F.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def augmented(
    query: Tensor, target: Tensor, how: Augmentation, draw_weights: DrawWeights
) -> Tensor:
    """Query augmentation (Eq. 11): query (b, d), target (b, d) -> (b, d). As published √s·query +
    √(1−s)·target with s per element, normalized; in the paper μ·query + (1−μ)·target with one μ per
    pair.
    """
    if how == "none":  # the ablation
        return query
    weights = draw_weights(1 if how == "scalar" else query.shape[1])
    if how == "scalar":
        return weights * query + (1 - weights) * target
    return F.normalize(weights.sqrt() * query + (1 - weights).sqrt() * target, dim=-1)


if __name__ == "__main__":
    stage_command("decoder", train, __doc__)
