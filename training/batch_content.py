"""Texts and images of queries and candidates, drawn, opened and made ready for the encoder.

In training images are augmented, words replaced by their neighbours and words of instructions left out, where the
settings say so. Every process draws the whole batch, opens and encodes its share of the images and of the texts.

Shapes: b things, i of them with an image, t with a text, d embedding dim, s image side, n tokens.
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
from training.distributed import gathered, main_first, share
from training.image_augmentation import MARGIN, Crops, OpenedPixels, PixelCache, Squares, augmented, normalised, resized
from training.instruction_swaps import Swaps
from training.pairs import Pairs
from training.settings import EncoderSettings
from training.vocabulary import Neighbours


@dataclass
class Things:
    """b queries or candidates, as they were drawn; the last three are this process's share."""

    rows: np.ndarray  # (b,) their numbers
    swapped: np.ndarray  # (b,) the instruction that takes the place of a query's own, -1: none, see swaps.py
    image_mask: list[bool]  # (b,)
    text_mask: list[bool]  # (b,)
    pictures: list[str]
    wordings: list[str]
    crops: Crops | None  # of the pictures; None: not augmented


@dataclass
class Inputs:
    """This process's share of what the encoder is given of b things."""

    rows: np.ndarray  # (b,) as in Things
    swapped: np.ndarray  # (b,)
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool
    pixels: Tensor  # (own of i, 3, s, s)
    tokens: Tensor  # (own of t, n)

    def features(self, encoder: Encoder) -> Features:
        """Of all b things, gathered from the processes, with gradients."""
        pictures, wordings = len(self.pixels), len(self.tokens)
        at = torch.arange(max(pictures, wordings))
        own = encoder(self.pixels, at < pictures, self.tokens, at < wordings)
        return Features(
            spread(own.image[:pictures], self.image_mask),
            spread(own.text[:wordings], self.text_mask),
            self.image_mask,
            self.text_mask,
        )


def spread(own: Tensor, mask: Tensor) -> Tensor:
    """This process's share of the rows where the mask is true -> (b, d), zero elsewhere."""
    n = int(mask.sum())
    out = own.new_zeros(len(mask), own.shape[1])
    if n:
        out[mask] = gathered(own, n)
    return out


class Content:
    """What the queries of some splits and the candidates that answer them hold."""

    def __init__(
        self,
        collection: Collection,
        splits: Sequence[Pairs],
        settings: EncoderSettings,
        encoder: Encoder,
        cache: Path,
        workers: int = 0,
    ):
        """splits: that of training first. Raises UserError for an image that cannot be opened."""
        self.settings, self.encoder = settings, encoder
        self.neighbours, self.swaps = Neighbours({}), Swaps(collection, splits[0], settings.swapped)
        self.needed = np.unique(np.concatenate([pairs.positives for pairs in splits]))
        wanted = np.isin(np.arange(self.needed[-1] + 1), self.needed)
        self.items = [item for item, here in zip(collection.all_candidates(), wanted, strict=False) if here]
        side = encoder.config.preprocess["size"]
        self.side = side if isinstance(side, int) else side[0]
        squares = Squares(
            collection, settings.image_cache or round(MARGIN * self.side), encoder.config.preprocess["resize_mode"]
        )
        if settings.image_cache:
            paths = [item.image for item in self.items if item.image]
            paths += [image for pairs in splits for image in pairs.images if image]
            with main_first():
                self.pixels = PixelCache(squares, paths, cache, workers)
        else:
            self.pixels = OpenedPixels(squares, workers)

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where the items of these candidate rows are."""
        return np.searchsorted(self.needed, rows)

    def texts(self, pairs: Pairs) -> Iterator[str]:
        """Every text of a split's queries, instructions and answers."""
        yield from pairs.texts
        for phrasings in {id(shared): shared for shared in pairs.instructions}.values():
            yield from phrasings
        for place in self.places(np.unique(pairs.positives)):
            yield self.items[place].text

    def pairs(
        self, pairs: Pairs, batches: Iterable[np.ndarray], rng: np.random.Generator, training: bool
    ) -> Iterator[tuple[Inputs, Inputs]]:
        """For each batch of queries: they, and a random positive of each."""

        def drawn() -> Iterator[tuple[Things, Things]]:
            for queries in batches:
                positives = pairs.draw_positives(queries, rng)
                yield (
                    self._queries(pairs, queries, positives, rng, training),
                    self._candidates(positives, rng, training),
                )

        return self._prepared(drawn())

    def candidates(self, batches: Iterable[np.ndarray]) -> Iterator[Inputs]:
        """Batches of candidate rows, as they are."""
        things = ((self._candidates(rows, None, training=False),) for rows in batches)
        return (inputs for (inputs,) in self._prepared(things))

    def _queries(
        self, pairs: Pairs, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator, training: bool
    ) -> Things:
        """Each with a random phrasing of its instruction or, in training, of one that takes its place."""
        swapped = np.full(len(queries), -1)
        instructions = [str(rng.choice(pairs.instructions[query])) for query in queries]
        if training and self.settings.swapped:
            targets = np.array([self.items[place].modality for place in self.places(positives)])
            swapped = self.swaps.draw(queries, targets, rng)
            instructions = [
                other or own for other, own in zip(self.swaps.instructions(swapped, rng), instructions, strict=True)
            ]
        if training and self.settings.dropped:
            instructions = [thinned(instruction, self.settings.dropped, rng) for instruction in instructions]
        texts = [
            query_text(instruction, pairs.texts[query])
            for instruction, query in zip(instructions, queries, strict=True)
        ]
        return self._things(queries, swapped, [pairs.images[query] for query in queries], texts, rng, training)

    def _candidates(self, rows: np.ndarray, rng: np.random.Generator | None, training: bool) -> Things:
        items = [self.items[place] for place in self.places(rows)]
        return self._things(
            rows, np.full(len(rows), -1), [item.image for item in items], [item.text for item in items], rng, training
        )

    def _things(
        self,
        rows: np.ndarray,
        swapped: np.ndarray,
        images: list[str | None],
        texts: list[str],
        rng: np.random.Generator | None,
        training: bool,
    ) -> Things:
        settings = self.settings
        if training and settings.substitution:
            texts = [self.neighbours.varied(text, settings.substitution, rng) for text in texts]
        pictures, wordings = ([path for path in images if path], [text for text in texts if normalize_text(text)])
        own, crops = share(len(pictures)), None
        if training and settings.augment:
            crops = Crops.draw(len(pictures), settings.crop, settings.mirror, rng).part(own)
        return Things(
            rows,
            swapped,
            [bool(path) for path in images],
            [bool(normalize_text(text)) for text in texts],
            pictures[own],
            wordings[share(len(wordings))],
            crops,
        )

    def _prepared(self, drawn: Iterable[Sequence[Things]]) -> Iterator[list[Inputs]]:
        def pictures(step: Sequence[Things]) -> list[str]:
            return [path for things in step for path in things.pictures]

        for step, raw in self.pixels.ahead(drawn, pictures):
            own = raw.split([len(things.pictures) for things in step])
            yield [self._inputs(things, pixels) for things, pixels in zip(step, own, strict=True)]

    def _inputs(self, things: Things, raw: Tensor) -> Inputs:
        device, seen = self.encoder.device, self.encoder.config.preprocess
        pixels, tokens = torch.zeros(0), torch.zeros(0, dtype=torch.long)
        if len(raw):
            raw = raw.to(device)
            raw = resized(raw, self.side) if things.crops is None else augmented(raw, things.crops, self.side)
            pixels = normalised(raw, seen["mean"], seen["std"]).contiguous(memory_format=torch.channels_last)
        if things.wordings:
            tokens = self.encoder.tokenize(things.wordings)
        return Inputs(
            things.rows,
            things.swapped,
            *(
                part.to(device)
                for part in (torch.tensor(things.image_mask), torch.tensor(things.text_mask), pixels, tokens)
            ),
        )


def thinned(text: str, probability: float, rng: np.random.Generator) -> str:
    """The text with each word left out with this probability: no single word may carry an instruction."""
    return " ".join(word for word in text.split() if rng.random() >= probability)
