"""Train the encoder: CLIP score fusion by contrastive learning (Eq. 2).

    python -m training.encoder COLLECTION RUN [--preset small|demo|paper|paper-text]

Shapes: b pairs of a batch, d embedding dim, s image side, n tokens.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import zip_longest
from pathlib import Path

import numpy as np
import open_clip
import torch
from open_clip.transform import PreprocessCfg
from torch import Tensor, nn
from tqdm import tqdm

from genius.artifacts import Run
from genius.collections.mbeir import Collection
from genius.errors import UserError, reported
from genius.models.encoder import Encoder, EncoderConfig, normalise_text, query_text
from genius.models.quantizer import kmeans
from genius.models.saving import round_to_half
from training.checkpoint import Checkpoints, reseed
from training.curves import record_epoch
from training.factors import FactorHeads, Factors
from training.optimisation import contrastive, cosine, decayed
from training.pairs import Candidates, Pairs
from training.pixels import PixelCache, augmented, normalised, resized
from training.settings import Arguments, EncoderSettings, parse_arguments
from training.stage import run_stage
from training.swaps import Swaps
from training.vocabulary import Neighbours

SAMPLE = 1500     # validation queries whose hit rate is printed after each epoch
BLOCK = 256       # things encoded together where nothing is learned
ROUNDS = 10       # of k-means over targets


def train(arguments: Arguments) -> None:
    """Train or adopt the encoder and publish it in the run."""
    settings, seed = arguments.settings.encoder, arguments.settings.seed
    run, collection = Run(arguments.run), Collection(arguments.collection)
    torch.manual_seed(seed)
    encoder = new_encoder(settings).to(arguments.device, memory_format=torch.channels_last)
    if settings.epochs:
        fit(encoder, collection, settings, seed, run)
    if settings.half:
        round_to_half(encoder)
    run.publish("encoder", partial(encoder.eval().cpu().save, half=settings.half))
    shutil.rmtree(run.path / "cache", ignore_errors=True)


def new_encoder(settings: EncoderSettings) -> Encoder:
    """A pretrained encoder, or one of the given architecture with random weights."""
    if settings.pretrained:
        return Encoder.from_open_clip(settings.architecture, settings.pretrained)
    architecture = settings.architecture
    if isinstance(architecture, str):
        architecture = open_clip.get_model_config(architecture)
        if architecture is None:
            raise UserError(f"open_clip has no architecture {settings.architecture!r}; it lists its own with: "
                            'python -c "import open_clip; print(open_clip.list_models())"')
    side = architecture["vision_cfg"]["image_size"]
    return Encoder(EncoderConfig(architecture, asdict(PreprocessCfg(size=side, resize_mode="squash"))))


def fit(encoder: Encoder, collection: Collection, settings: EncoderSettings, seed: int, run: Run) -> None:
    """Run the epochs, from the last checkpoint if there is one."""
    candidates = Candidates.read(collection)
    pairs, held_out = (Pairs.read(collection, split, candidates) for split in ("train", "val"))
    content = Content(collection, [pairs, held_out], settings,
                      encoder.config.preprocess["resize_mode"], run.path / "cache")
    if settings.substitution:
        content.neighbours = Neighbours.read(content.texts(pairs), settings.teacher, run.path / "cache",
                                             encoder.device).over(collection.synonyms())
    swaps = Swaps(collection, pairs, settings.swapped)
    learner = nn.ModuleDict({"encoder": encoder})
    if settings.factor_weight:
        factors = Factors(collection, content.items, content.places(pairs.positives[pairs.offsets[:-1]]))
        learner["heads"] = heads = FactorHeads(encoder.dim, list(factors.sizes.values())).to(encoder.device)
        weights = dict.fromkeys(factors.sizes, settings.factor_weight / len(factors.sizes))
        weights["modality"] = settings.modality_weight or weights["modality"]
        weights = torch.tensor(list(weights.values()), device=encoder.device)
    optimizer = torch.optim.AdamW(decayed(learner, settings.weight_decay), lr=settings.learning_rate,
                                  betas=settings.betas, eps=1e-6, fused=True)
    checkpoints = Checkpoints(run.path, "encoder", settings, seed, pairs.digest, candidates.digest)
    for epoch in range(checkpoints.resume(learner, optimizer), settings.epochs):
        rng, started, losses = reseed(seed, epoch), time.perf_counter(), []
        alike = LookAlikes.of(encoder, content, pairs, settings, rng) if settings.hard_groups and epoch else np.asarray
        batches = pairs.batches(rng, settings.batch, settings.group, settings.upsample_to, alike)
        encoder.train()
        steps = len(batches)
        for step, queries in enumerate(tqdm(batches, desc=f"encoder epoch {epoch}", unit="batch")):
            rate = cosine(epoch * steps + step, settings.epochs * steps, settings.warmup)
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * rate
            positives = pairs.draw_positives(queries, rng)
            asked = swaps.draw(queries, candidates.modalities[positives], rng)
            with torch.autocast(encoder.device.type, torch.bfloat16, enabled=settings.bf16):
                query = encoder(*content.queries(encoder, pairs, queries, rng, training=True,
                                                 swapped=swaps.instructions(asked, rng))).embedding()
                target = encoder(*content.candidates(encoder, positives, rng, training=True)).embedding()
            kept = np.flatnonzero(asked < 0)     # the others' answers are not known
            loss = contrastive(query[kept], target[kept], encoder.clip.logit_scale.exp(),
                               torch.from_numpy(pairs.answered(queries[kept], positives[kept])).to(encoder.device),
                               settings.both_ways)
            if settings.factor_weight:
                labels = [factors.asked_otherwise(queries, swaps.modalities(asked)),
                          factors.candidates[content.places(positives)]]
                labels = torch.from_numpy(np.concatenate(labels)).to(encoder.device)
                loss = loss + (weights * heads(torch.cat([query, target]), labels)).sum()
            optimizer.zero_grad()
            loss.backward()
            if settings.stabilised:
                nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            if settings.stabilised:
                with torch.no_grad():
                    encoder.clip.logit_scale.clamp_(max=math.log(100))
            losses.append(loss.item())
        loss, first, fifth = np.mean(losses), *validation(encoder, content, held_out, seed)
        seconds = time.perf_counter() - started
        print(f"encoder epoch {epoch}  loss {loss:.3f}  val hit@1 {first:.1%}  hit@5 {fifth:.1%}  {seconds:.0f} s",
              flush=True)
        record_epoch(run, "encoder", epoch, loss=loss, val_hit_at_1=first, val_hit_at_5=fifth, seconds=seconds)
        checkpoints.save(learner, optimizer, epoch)
    checkpoints.clear()


class Content:
    """Texts and decoded images of queries and of the candidates that answer them.

    In training images are augmented, words replaced by their neighbours and words of instructions left out,
    where the settings say so.
    """

    def __init__(self, collection: Collection, splits: Sequence[Pairs], settings: EncoderSettings,
                 resize_mode: str, cache: Path):
        self.settings, self.neighbours = settings, Neighbours({})
        needed = np.unique(np.concatenate([pairs.positives for pairs in splits]))
        self.position = {int(row): at for at, row in enumerate(needed)}
        self.items = [item for row, item in enumerate(collection.all_candidates()) if row in self.position]
        paths = [item.image for item in self.items if item.image]
        paths += [image for pairs in splits for image in pairs.images if image]
        self.pixels = PixelCache(collection, paths, settings.image_cache, resize_mode, cache)

    def places(self, rows: np.ndarray) -> list[int]:
        """Where the items of these candidate rows are."""
        return [self.position[int(row)] for row in rows]

    def texts(self, pairs: Pairs) -> Iterator[str]:
        """Every text of a split's queries, instructions and answers."""
        yield from pairs.texts
        for phrasings in {id(shared): shared for shared in pairs.instructions}.values():
            yield from phrasings
        for row in np.unique(pairs.positives):
            yield self.items[self.position[int(row)]].text

    def queries(self, encoder: Encoder, pairs: Pairs, queries: np.ndarray, rng: np.random.Generator,
                training: bool, swapped: Sequence[str | None] = ()) -> tuple[Tensor, ...]:
        """What Encoder.forward takes, for these queries, each with a random phrasing of its instruction.

        swapped: for each query the instruction that takes its place, None for those that keep theirs.
        """
        instructions = [str(rng.choice(pairs.instructions[query])) for query in queries]
        instructions = [other or own for other, own in zip_longest(swapped, instructions)]
        if training and self.settings.dropped:
            instructions = [thinned(instruction, self.settings.dropped, rng) for instruction in instructions]
        texts = [query_text(instruction, pairs.texts[query])
                 for instruction, query in zip(instructions, queries, strict=True)]
        return self._inputs(encoder, [pairs.images[query] for query in queries], texts, rng, training)

    def candidates(self, encoder: Encoder, rows: np.ndarray, rng: np.random.Generator,
                   training: bool) -> tuple[Tensor, ...]:
        """What Encoder.forward takes, for these candidates."""
        items = [self.items[place] for place in self.places(rows)]
        return self._inputs(encoder, [item.image for item in items], [item.text for item in items], rng, training)

    def _inputs(self, encoder: Encoder, images: list[str | None], texts: list[str], rng: np.random.Generator,
                training: bool) -> tuple:
        settings = self.settings
        image_mask = torch.tensor([image is not None for image in images])
        text_mask = torch.tensor([bool(normalise_text(text)) for text in texts])
        side, seen = encoder.config.preprocess["size"], encoder.config.preprocess
        pixels, tokens = torch.zeros(0), torch.zeros(0, dtype=torch.long)
        if image_mask.any():
            raw = self.pixels.read([image for image in images if image is not None])
            side = side if isinstance(side, int) else side[0]
            raw = (augmented(raw, side, settings.crop, settings.mirror) if training and settings.augment
                   else resized(raw, side))
            pixels = normalised(raw, seen["mean"], seen["std"])
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        if training and settings.substitution:
            texts = [self.neighbours.varied(text, settings.substitution, rng) for text in texts]
        if text_mask.any():
            tokens = encoder.tokenize([text for text in texts if normalise_text(text)])
        return tuple(part.to(encoder.device) for part in (pixels, image_mask, tokens, text_mask))


def thinned(text: str, probability: float, rng: np.random.Generator) -> str:
    """The text with each word left out with this probability: no single word may carry an instruction."""
    return " ".join(word for word in text.split() if rng.random() >= probability)


class LookAlikes:
    """Orders queries so that those whose targets the encoder finds alike stand together (ours).

    In random batches the plainest difference tells targets apart, and nothing else need be learned.
    """

    def __init__(self, vectors: np.ndarray, share: float, group: int, rng: np.random.Generator):
        """vectors (q, d): of a target of each query. share: of the queries that are ordered so, the others stay."""
        self._vectors, self._share, self._group, self._rng = vectors, share, group, rng

    @classmethod
    @torch.inference_mode()
    def of(cls, encoder: Encoder, content: Content, pairs: Pairs, settings: EncoderSettings,
           rng: np.random.Generator) -> LookAlikes:
        """By the embeddings of the targets as they are now: a state that no checkpoint need hold."""
        encoder.eval()
        targets, of_query = np.unique(pairs.positives[pairs.offsets[:-1]], return_inverse=True)
        parts = [encoder(*content.candidates(encoder, targets[start:start + BLOCK], rng, training=False)).embedding()
                 for start in range(0, len(targets), BLOCK)]
        return cls(torch.cat(parts).cpu().numpy()[of_query], settings.hard_groups, settings.group, rng)

    def __call__(self, queries: np.ndarray) -> np.ndarray:
        """The same queries, those of one cluster of targets next to each other."""
        hard, others = np.split(queries, [round(self._share * len(queries))])
        if len(hard) <= self._group:
            return queries
        vectors = torch.from_numpy(self._vectors[hard])
        centres = kmeans(vectors, -(-len(hard) // self._group), ROUNDS, int(self._rng.integers(2**31)))
        cluster = torch.cdist(vectors, centres).argmin(1).numpy()
        place = self._rng.permutation(len(centres))
        return np.concatenate([hard[np.lexsort((self._rng.random(len(hard)), place[cluster]))], others])


@torch.inference_mode()
def validation(encoder: Encoder, content: Content, pairs: Pairs, seed: int) -> tuple[float, float]:
    """Hit rates at 1 and at 5 on a fixed sample of validation queries, among the targets of that sample."""
    encoder.eval()
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    positives = pairs.draw_positives(sample, rng)
    query, target = [], []
    for start in range(0, len(sample), BLOCK):
        part = slice(start, start + BLOCK)
        query.append(encoder(*content.queries(encoder, pairs, sample[part], rng, training=False)).embedding())
        target.append(encoder(*content.candidates(encoder, positives[part], rng, training=False)).embedding())
    similarity = (torch.cat(query) @ torch.cat(target).T).cpu()
    answered = torch.from_numpy(pairs.answered(sample, positives))
    best = torch.where(answered, similarity, -torch.inf).amax(1, keepdim=True)
    rank = ((similarity > best) & ~answered).sum(1)
    return (rank < 1).float().mean().item(), (rank < 5).float().mean().item()


if __name__ == "__main__":
    with reported():
        run_stage("encoder", train, parse_arguments(__doc__))
