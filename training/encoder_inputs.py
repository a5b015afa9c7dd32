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
from genius.models.encoder import Encoder, Features, normalize_text, query_text
from genius.models.feature_fusion import FeatureFusionEncoder
from training.distributed import all_gather, local_slice, main_process_first
from training.encoder_extras import OWN_INSTRUCTION, EncoderExtras
from training.image_augmentation import MARGIN, Crops, OpenedPixels, PixelCache, Squares, augmented, normalized, resized
from training.pairs import Pairs
from training.settings import EncoderSettings


@dataclass
class Drawn:
    """b queries or candidates before loading; the last three fields are this process's slice."""

    rows: np.ndarray  # (b,) query numbers or candidate rows
    instruction: np.ndarray  # (b,) number of the instruction that replaces a query's own, or OWN_INSTRUCTION
    image_mask: list[bool]  # (b,)
    text_mask: list[bool]  # (b,)
    images: list[str]  # relative paths
    texts: list[str] | np.ndarray  # or rows of the text tower's outputs
    crops: Crops | np.ndarray | None  # of the images, or the numbers of their views; None: not augmented


@dataclass
class Inputs:
    """This process's slice of the encoder's inputs for b queries or candidates."""

    rows: np.ndarray  # (b,) as in Drawn
    instruction: np.ndarray  # (b,)
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool
    pixels: Tensor  # (local i, 3, s, s)
    tokens: Tensor  # (local t, n)

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
class WholeInputs(Inputs):
    """The images and texts of this process's slice of the b inputs, for an encoder that fuses them."""

    def embedding(self, encoder: FeatureFusionEncoder) -> Tensor:
        own, b = local_slice(len(self.rows)), len(self.rows)
        return all_gather(encoder(self.pixels, self.image_mask[own], self.tokens, self.text_mask[own]), b)


def gather_masked(local: Tensor, mask: Tensor) -> Tensor:
    """This process's slice of the rows where the mask is true -> all rows (b, d), zero where it is false."""
    n = int(mask.sum())
    out = local.new_zeros(len(mask), local.shape[1])
    if n:
        out[mask] = all_gather(local, n)
    return out


class InputLoader:
    """Loads the queries of several splits and their positives."""

    inputs = Inputs

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
        self.extras = EncoderExtras()
        self.needed = np.unique(np.concatenate([pairs.positives for pairs in splits]))
        is_needed = np.isin(np.arange(self.needed[-1] + 1), self.needed)
        self.items = [item for item, kept in zip(collection.all_candidates(), is_needed, strict=False) if kept]
        side = encoder.config.preprocess["size"]
        self.side = side if isinstance(side, int) else side[0]
        self.pixels = self._open_images(collection, splits, cache, workers)

    def _open_images(
        self, collection: Collection, splits: Sequence[Pairs], cache: Path, workers: int
    ) -> OpenedPixels | PixelCache:
        squares = Squares(
            collection,
            self.settings.image_cache or round(MARGIN * self.side),
            self.encoder.config.preprocess["resize_mode"],
        )
        if not self.settings.image_cache:
            return OpenedPixels(squares, workers)
        with main_process_first():
            return PixelCache(squares, self.image_paths(splits), cache, workers)

    def image_paths(self, splits: Sequence[Pairs]) -> list[str]:
        """The images of the candidates, then of the queries; an image may be there several times."""
        paths = [item.image for item in self.items if item.image]
        return paths + [image for pairs in splits for image in pairs.images if image]

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Candidate rows -> their positions in `items`."""
        return np.searchsorted(self.needed, rows)

    def pairs(
        self, pairs: Pairs, batches: Iterable[np.ndarray], rng: np.random.Generator, training: bool
    ) -> Iterator[tuple[Inputs, Inputs]]:
        """For each batch of query numbers: the queries, and a random positive of each."""

        def drawn() -> Iterator[tuple[Drawn, Drawn]]:
            for queries in batches:
                positives = pairs.draw_positives(queries, rng)
                yield (
                    self._queries(pairs, queries, positives, rng, training),
                    self._candidates(positives, rng, training),
                )

        return self._loaded(drawn())

    def candidates(self, batches: Iterable[np.ndarray]) -> Iterator[Inputs]:
        """Batches of candidate rows, without augmentation."""
        drawn = ((self._candidates(rows, None, training=False),) for rows in batches)
        return (inputs for (inputs,) in self._loaded(drawn))

    def _queries(
        self, pairs: Pairs, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator, training: bool
    ) -> Drawn:
        instructions = [str(rng.choice(pairs.instructions[query])) for query in queries]
        replaced = np.full(len(queries), OWN_INSTRUCTION)
        if training:
            instructions, replaced = self.extras.instructions(instructions, queries, positives, rng)
        texts = [
            query_text(instruction, pairs.texts[query])
            for instruction, query in zip(instructions, queries, strict=True)
        ]
        return self._drawn(queries, replaced, [pairs.images[query] for query in queries], texts, rng, training)

    def _candidates(self, rows: np.ndarray, rng: np.random.Generator | None, training: bool) -> Drawn:
        items = [self.items[position] for position in self.positions(rows)]
        images, texts = [item.image for item in items], [item.text for item in items]
        return self._drawn(rows, np.full(len(rows), OWN_INSTRUCTION), images, texts, rng, training)

    def _drawn(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        texts: list[str],
        rng: np.random.Generator | None,
        training: bool,
    ) -> Drawn:
        if training:
            texts = self.extras.texts(texts, rng)
        texts = [normalize_text(text) for text in texts]
        return self._local(
            rows, instruction, images, [bool(text) for text in texts], [text for text in texts if text], rng, training
        )

    def _local(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        text_mask: list[bool],
        texts: list[str] | np.ndarray,
        rng: np.random.Generator | None,
        training: bool,
    ) -> Drawn:
        """This process's slice of the images and of the texts, which are only those of the mask."""
        paths, image_mask = [path for path in images if path], [bool(path) for path in images]
        local = self._slice(image_mask)
        return Drawn(
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

    def _loaded(self, steps: Iterable[Sequence[Drawn]]) -> Iterator[list[Inputs]]:
        def paths(step: Sequence[Drawn]) -> list[str]:
            return [path for drawn in step for path in drawn.images]

        for step, raw in self.pixels.ahead(steps, paths):
            parts = raw.split([len(drawn.images) for drawn in step])
            yield [self._inputs(drawn, pixels) for drawn, pixels in zip(step, parts, strict=True)]

    def _inputs(self, drawn: Drawn, raw: Tensor) -> Inputs:
        device = self.encoder.device
        pixels, tokens = torch.zeros(0), torch.zeros(0, dtype=torch.long)
        if len(raw):
            pixels = self._pixels(drawn, raw)
        if len(drawn.texts):
            tokens = self._tokens(drawn)
        masks = torch.tensor(drawn.image_mask), torch.tensor(drawn.text_mask)
        return self.inputs(drawn.rows, drawn.instruction, *(part.to(device) for part in (*masks, pixels, tokens)))

    def _pixels(self, drawn: Drawn, raw: Tensor) -> Tensor:
        preprocess, raw = self.encoder.config.preprocess, raw.to(self.encoder.device)
        raw = resized(raw, self.side) if drawn.crops is None else augmented(raw, drawn.crops, self.side)
        pixels = normalized(raw, preprocess["mean"], preprocess["std"])
        return pixels.contiguous(memory_format=torch.channels_last)

    def _tokens(self, drawn: Drawn) -> Tensor:
        return self.encoder.tokenize(drawn.texts)


class WholeInputLoader(InputLoader):
    """Gives each process the image and the text of the same inputs."""

    inputs = WholeInputs

    def _slice(self, mask: list[bool]) -> slice:
        own = local_slice(len(mask))
        before = sum(mask[: own.start])
        return slice(before, before + sum(mask[own]))
