"""Batches for locked-tower training: tower outputs that were computed before, in place of pixels and tokens.

Shapes: b queries or candidates, q queries, p phrasings, c candidates, v views of an image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.texts import normalize_text, query_text
from training.encoder_inputs import InputLoader, InputPlan
from training.extras.configured_extras import ConfiguredExtras
from training.extras.encoder_extras import OWN_INSTRUCTION
from training.image_augmentation import Crops, Part
from training.locked_encoder import LockedEncoder
from training.pairs import Pairs, draw_phrasings
from training.settings import EncoderSettings, ExtrasSettings
from training.tower_outputs import TowerOutputs, image_outputs, text_outputs


class CachedImages:
    """Stands in for decoded images: what is loaded of an image is its row in the tower outputs."""

    def __init__(self, paths: Sequence[str], outputs: TowerOutputs | None):
        self.row = {path: row for row, path in enumerate(paths)}
        self.outputs = outputs

    def ahead(self, parts: Iterable[Part], paths: Callable[[Part], list[str]]) -> Iterator[tuple[Part, Tensor]]:
        """Each part with the rows (b,) of its images."""
        for part in parts:
            yield part, torch.tensor([self.row[path] for path in paths(part)], dtype=torch.long)


class LockedLoader(InputLoader):
    """Loads outputs of the towers: `Inputs.pixels` are (local i, t) and `Inputs.tokens` (local t, u).

    After `unlock`, images or texts are loaded as usual, for a tower that is trained.
    """

    encoder: LockedEncoder

    def __init__(
        self,
        collection: Collection,
        splits: Sequence[Pairs],
        settings: EncoderSettings,
        encoder: LockedEncoder,
        folder: Path,
        seed: int,
        workers: int = 0,
        towers: tuple[bool, bool] = (True, True),
    ):
        """splits: the training queries, then those of validation, which are encoded with one phrasing.

        towers: whether the outputs of the image tower and of the text tower are wanted; without, `pixels.row` and
        `text_row` are empty. Computes the outputs that the folder lacks. Raises UserError if the collection has no
        images or no texts.
        """
        self.live_images = self.live_texts = False
        self._collection, self._splits, self._seed, self._wants_images = collection, splits, seed, towers[0]
        super().__init__(collection, splits, settings, encoder, folder, workers)
        if settings.extras != ExtrasSettings():
            self.extras = ConfiguredExtras(collection, splits[0], self, folder)
        numbers: dict[str, int] = {}  # of each distinct text

        def rows(texts: Iterable[str]) -> np.ndarray:
            normal = map(normalize_text, texts)
            return np.array([numbers.setdefault(text, len(numbers)) if text else -1 for text in normal], np.int32)

        rng = np.random.default_rng(seed)
        self._candidate_texts = rows(item.text for item in self.items)  # (c,) row in the outputs; −1: no text
        self._query_texts = []  # (q, p) of each split
        for pairs, phrasings in zip(splits, (settings.locked.phrasings, 1), strict=True):
            inputs = draw_phrasings(pairs, phrasings, rng)
            self._query_texts.append(rows(chain.from_iterable(texts for _, texts in inputs)).reshape(-1, phrasings))
        self._swaps = self._draw_swaps(splits[0], rows, rng)
        if not numbers:
            raise UserError(f"{collection.root} has no texts")
        # texts of similar length stand next to each other, so that little padding is encoded
        order = np.argsort([len(text) for text in numbers], kind="stable").astype(np.int32)
        place = np.append(np.argsort(order).astype(np.int32), np.int32(-1))  # the last one is that of −1
        self._candidate_texts = place[self._candidate_texts]
        self._query_texts = [place[table] for table in self._query_texts]
        self.text_row = dict(zip(numbers, place.tolist(), strict=False)) if towers[1] else {}
        self.texts = None
        if self.text_row:
            texts = sorted(self.text_row, key=self.text_row.get)
            self.texts = text_outputs(folder, encoder.encoder, texts, settings)

    def _draw_swaps(
        self, pairs: Pairs, rows: Callable[[Iterable[str]], np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """Replace the instructions of some training queries by those of other rows.

        -> (q, p) the number of the instruction that each phrasing has instead of its own, or OWN_INSTRUCTION.
        """
        table, queries = self._query_texts[0], np.arange(len(pairs))
        positives, no_instructions = pairs.draw_positives(queries, rng), [""] * len(pairs)
        swaps = np.full(table.shape, OWN_INSTRUCTION)
        for column in range(table.shape[1]):
            instructions, swaps[:, column] = self.extras.instructions(no_instructions, queries, positives, rng)
            swapped = np.flatnonzero(swaps[:, column] != OWN_INSTRUCTION)
            table[swapped, column] = rows(query_text(instructions[query], pairs.texts[query]) for query in swapped)
        return swaps

    def _open_images(self, collection: Collection, splits: Sequence[Pairs], cache: Path, workers: int) -> CachedImages:
        if not self._wants_images:
            return CachedImages([], None)
        paths = list(dict.fromkeys(self.image_paths(splits)))
        if not paths:
            raise UserError(
                f"{collection.root} has no images among its training queries and candidates, so an image tower has "
                "nothing to learn from; set encoder.locked.enabled to false, or add images"
            )
        outputs = image_outputs(cache, self.encoder.encoder, collection, paths, self.settings, self._seed, workers)
        return CachedImages(paths, outputs)

    def unlock(self, images: bool, texts: bool, cache: Path, workers: int) -> None:
        """Load images, texts, or both as usual from now on. Raises UserError for an image that cannot be opened."""
        self.live_images, self.live_texts = images, texts
        if images:
            self.pixels = super()._open_images(self._collection, self._splits, cache, workers)

    def _plan_queries(
        self, pairs: Pairs, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator, training: bool
    ) -> InputPlan:
        if self.live_texts:
            return super()._plan_queries(pairs, queries, positives, rng, training)
        (table,) = (table for split, table in zip(self._splits, self._query_texts, strict=True) if split is pairs)
        phrasing = rng.integers(table.shape[1], size=len(queries))
        swaps = self._swaps[queries, phrasing] if pairs is self._splits[0] else np.full(len(queries), OWN_INSTRUCTION)
        images = [pairs.images[query] for query in queries]
        return self._plan_cached(queries, swaps, images, table[queries, phrasing], rng, training)

    def _plan_candidates(self, rows: np.ndarray, rng: np.random.Generator, training: bool) -> InputPlan:
        if self.live_texts:
            return super()._plan_candidates(rows, rng, training)
        positions = self.positions(rows)
        images = [self.items[position].image for position in positions]
        instruction = np.full(len(rows), OWN_INSTRUCTION)
        return self._plan_cached(rows, instruction, images, self._candidate_texts[positions], rng, training)

    def _plan_cached(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        texts: np.ndarray,
        rng: np.random.Generator,
        training: bool,
    ) -> InputPlan:
        text_mask = texts >= 0
        return self._plan(rows, instruction, images, text_mask.tolist(), texts[text_mask], rng, training)

    def _crops(self, n: int, local: slice, rng: np.random.Generator) -> Crops | np.ndarray | None:
        """The number of the view that is taken of each image, or the crops of images that are loaded."""
        if self.live_images:
            return super()._crops(n, local, rng)
        return rng.integers(self.settings.locked.views, size=n)[local]

    def _pixels(self, plan: InputPlan, squares: Tensor) -> Tensor:
        if self.live_images:
            return super()._pixels(plan, squares)
        return self.pixels.outputs.rows(squares.numpy(), 0 if plan.crops is None else plan.crops)

    def _tokens(self, plan: InputPlan) -> Tensor:
        return super()._tokens(plan) if self.live_texts else self.texts.rows(plan.texts)
