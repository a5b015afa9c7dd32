"""Batches of queries and candidates for the encoder: drawn, loaded, augmented, tokenized.

Every process draws the whole batch; it loads and encodes its slice of the images and of the texts.

Shapes: b queries or candidates, i of them with an image, t with a text, d embedding dim, s image side, n tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from genius.collections.mbeir import Collection
from genius.models.encoder import Encoder, Features
from genius.models.feature_fusion import FeatureFusionEncoder
from genius.schema import Item
from genius.texts import normalize_text, query_text
from training.distributed import all_gather, local_slice, main_process_first
from training.image_augmentation import MARGIN, Crops, OpenedPixels, PixelCache, Squares, augmented, normalized, resized
from training.instruction_swaps import OWN_INSTRUCTION, InstructionSwaps
from training.pairs import Pairs
from training.settings import EncoderSettings


@dataclass
class InputPlan:
    """b queries or candidates before loading; the last three fields are this process's slice."""

    rows: np.ndarray  # (b,) query numbers or candidate rows
    instruction: np.ndarray  # (b,) number of the instruction that replaces a query's own, or OWN_INSTRUCTION
    image_mask: list[bool]  # (b,)
    text_mask: list[bool]  # (b,)
    images: list[str]  # relative paths
    texts: list[str]
    crops: Crops | None  # of the images; None: not augmented


@dataclass
class Inputs:
    """This process's slice of the encoder's inputs for b queries or candidates."""

    rows: np.ndarray  # (b,) as in InputPlan
    instruction: np.ndarray  # (b,)
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool
    pixels: Tensor  # (local i, 3, s, s), or the outputs of a locked tower
    tokens: Tensor  # (local t, n), or the outputs of a locked tower

    def features(self, encoder: Encoder) -> Features:
        """Encode the slice and gather the features of all b from the processes, with gradients."""
        images, texts = len(self.pixels), len(self.tokens)
        position = torch.arange(max(images, texts))
        local = encoder(self.pixels, position < images, self.tokens, position < texts)
        return Features(
            gather_masked(local.image[:images], self.image_mask),
            gather_masked(local.text[:texts], self.text_mask),
            self.image_mask,
            self.text_mask,
        )

    def embedding(self, encoder: Encoder) -> Tensor:
        """(b, d) normalized embeddings of all b, with gradients."""
        return self.features(encoder).embedding()


@dataclass
class FeatureFusionInputs(Inputs):
    """The images and texts of this process's slice of the b inputs, for an encoder that fuses them."""

    def embedding(self, encoder: FeatureFusionEncoder) -> Tensor:
        b = len(self.rows)
        local = local_slice(b)
        return all_gather(encoder(self.pixels, self.image_mask[local], self.tokens, self.text_mask[local]), b)


def gather_masked(local: Tensor, mask: Tensor) -> Tensor:
    """This process's slice of the rows where the mask is true -> all rows (b, d), zero where it is false."""
    n = int(mask.sum())
    out = local.new_zeros(len(mask), local.shape[1])
    if n:
        out[mask] = all_gather(local, n)
    return out


def needed_items(collection: Collection, splits: Sequence[Pairs]) -> tuple[np.ndarray, list[Item]]:
    """The rows (c,), ascending, of the candidates that are positives of some split, and these candidates."""
    rows = np.unique(np.concatenate([pairs.positives for pairs in splits]))
    is_needed = np.isin(np.arange(rows[-1] + 1), rows)
    return rows, [item for item, needed in zip(collection.all_candidates(), is_needed, strict=False) if needed]


class InputLoader:
    """Loads the queries of several splits and their positives."""

    inputs_class = Inputs

    def __init__(
        self,
        collection: Collection,
        splits: Sequence[Pairs],
        settings: EncoderSettings,
        encoder: Encoder,
        cache: Path,
        workers: int = 0,
    ):
        """Raises UserError for an image that cannot be opened."""
        self.settings, self.encoder = settings, encoder
        self.swaps: InstructionSwaps | None = None
        self.candidate_rows, self.items = needed_items(collection, splits)
        side = encoder.config.preprocess["size"]
        self.side = side if isinstance(side, int) else side[0]
        self.pixels = self._open_images(collection, splits, cache, workers)

    def _open_images(
        self, collection: Collection, splits: Sequence[Pairs], cache: Path, workers: int
    ) -> OpenedPixels | PixelCache:
        squares = Squares(collection, round(MARGIN * self.side), self.encoder.config.preprocess["resize_mode"])
        if not self.settings.cache_images:
            return OpenedPixels(squares, workers)
        with main_process_first():
            return PixelCache(squares, self.image_paths(splits), cache, workers)

    def image_paths(self, splits: Sequence[Pairs]) -> list[str]:
        """The images of the candidates, then of the queries; an image may be there several times."""
        paths = [item.image for item in self.items if item.image]
        return paths + [image for pairs in splits for image in pairs.images if image]

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Candidate rows -> their positions in `items`."""
        return np.searchsorted(self.candidate_rows, rows)

    def load_pairs(
        self, pairs: Pairs, batches: Iterable[np.ndarray], rng: np.random.Generator, training: bool
    ) -> Iterator[tuple[Inputs, Inputs]]:
        """For each batch of query numbers: the queries, and a random positive of each."""

        def plans() -> Iterator[tuple[InputPlan, InputPlan]]:
            for queries in batches:
                positives = pairs.draw_positives(queries, rng)
                yield (
                    self._plan_queries(pairs, queries, positives, rng, training),
                    self._plan_candidates(positives, rng, training),
                )

        return self._load(plans())

    def _plan_queries(
        self, pairs: Pairs, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator, training: bool
    ) -> InputPlan:
        instructions = [str(rng.choice(pairs.instructions[query])) for query in queries]
        drawn = np.full(len(queries), OWN_INSTRUCTION)
        if training and self.swaps is not None:
            drawn = self.swaps.draw(queries, rng)
            instructions = self.swaps.replaced(instructions, drawn, rng)
        texts = [
            query_text(phrasing, pairs.texts[query]) for phrasing, query in zip(instructions, queries, strict=True)
        ]
        return self._plan_texts(queries, drawn, [pairs.images[query] for query in queries], texts, rng, training)

    def _plan_candidates(self, rows: np.ndarray, rng: np.random.Generator, training: bool) -> InputPlan:
        items = [self.items[position] for position in self.positions(rows)]
        images, texts = [item.image for item in items], [item.text for item in items]
        return self._plan_texts(rows, np.full(len(rows), OWN_INSTRUCTION), images, texts, rng, training)

    def _plan_texts(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        texts: list[str],
        rng: np.random.Generator,
        training: bool,
    ) -> InputPlan:
        texts = [normalize_text(text) for text in texts]
        return self._plan(
            rows, instruction, images, [bool(text) for text in texts], [text for text in texts if text], rng, training
        )

    def _plan(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        text_mask: list[bool],
        texts: list[str],
        rng: np.random.Generator,
        training: bool,
    ) -> InputPlan:
        """This process's slice of the images and of the texts, which are only those of the mask."""
        paths, image_mask = [path for path in images if path], [bool(path) for path in images]
        local = self._slice(image_mask)
        return InputPlan(
            rows,
            instruction,
            image_mask,
            text_mask,
            paths[local],
            texts[self._slice(text_mask)],
            self._crops(len(paths), local, rng) if training else None,
        )

    def _slice(self, mask: list[bool]) -> slice:
        """This process's slice of the images or texts that the mask (b,) says are there."""
        return local_slice(sum(mask))

    def _crops(self, n: int, local: slice, rng: np.random.Generator) -> Crops | None:
        settings = self.settings
        if not settings.augment:
            return None
        return Crops.draw(n, settings.min_crop, settings.horizontal_flip, rng).part(local)

    def _load(self, steps: Iterable[Sequence[InputPlan]]) -> Iterator[list[Inputs]]:
        """The inputs of each plan of a step; images are opened while the model computes."""

        def paths(plans: Sequence[InputPlan]) -> list[str]:
            return [path for plan in plans for path in plan.images]

        for plans, squares in self.pixels.ahead(steps, paths):
            parts = squares.split([len(plan.images) for plan in plans])
            yield [self._inputs(plan, part) for plan, part in zip(plans, parts, strict=True)]

    def _inputs(self, plan: InputPlan, squares: Tensor) -> Inputs:
        device = self.encoder.device
        pixels, tokens = torch.zeros(0), torch.zeros(0, dtype=torch.long)
        if len(squares):
            pixels = self._pixels(plan, squares)
        if len(plan.texts):
            tokens = self._tokens(plan)
        masks = torch.tensor(plan.image_mask), torch.tensor(plan.text_mask)
        return self.inputs_class(plan.rows, plan.instruction, *(part.to(device) for part in (*masks, pixels, tokens)))

    def _pixels(self, plan: InputPlan, squares: Tensor) -> Tensor:
        """Decoded images (local i, 3, c, c) of stored side c -> pixels as the model expects them (local i, 3, s, s)."""
        preprocess, squares = self.encoder.config.preprocess, squares.to(self.encoder.device)
        images = resized(squares, self.side) if plan.crops is None else augmented(squares, plan.crops, self.side)
        pixels = normalized(images, preprocess["mean"], preprocess["std"])
        return pixels.contiguous(memory_format=torch.channels_last)

    def _tokens(self, plan: InputPlan) -> Tensor:
        return self.encoder.tokenize(plan.texts)


class FeatureFusionLoader(InputLoader):
    """Gives each process the image and the text of the same inputs."""

    inputs_class = FeatureFusionInputs

    def _slice(self, mask: list[bool]) -> slice:
        local = local_slice(len(mask))
        before = sum(mask[: local.start])
        return slice(before, before + sum(mask[local]))
