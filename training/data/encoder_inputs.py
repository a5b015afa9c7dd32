"""Batches of queries and candidates for the encoder: drawn, loaded, augmented, tokenized; some with
other instructions.

Every process draws the whole batch; it loads and encodes its slice of the images and of the texts.

Shapes: b queries or candidates, i of them with an image, t with a text, d embedding dim, s image
side, n tokens.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.image_loader import load_images
from genius.models.encoder import Encoder, Features
from genius.schema import Item, Modality
from genius.texts import normalize_text
from training.command_line import Arguments
from training.data.image_augmentation import MARGIN, Crops, PixelCache, Squares, augmented, resized
from training.data.pairs import CandidateTable, Pairs, candidates_at
from training.distributed import all_gather, local_slice, main_process_first
from training.settings import EncoderSettings

OWN_INSTRUCTION = -1  # a query keeps the instruction of its row


@dataclass
class Inputs:
    """This process's slice of the encoder's inputs for b queries or candidates."""

    rows: np.ndarray  # (b,) query numbers or candidate rows
    # (b,) number of the instruction that replaces a query's own, or OWN_INSTRUCTION
    instruction: np.ndarray
    image_mask: Tensor  # (b,) bool
    text_mask: Tensor  # (b,) bool
    pixels: Tensor  # (local i, 3, s, s), or the outputs of a locked tower
    tokens: Tensor  # (local t, n), or the outputs of a locked tower

    def embedding(self, encoder: nn.Module) -> Tensor:
        """Encode the slice and gather all b from the processes: (b, d) normalized embeddings, with
        gradients.
        """
        images, texts = len(self.pixels), len(self.tokens)
        position = torch.arange(max(images, texts))
        local = encoder(self.pixels, position < images, self.tokens, position < texts)
        of_images = gather_masked(local.image[:images], self.image_mask)
        of_texts = gather_masked(local.text[:texts], self.text_mask)
        return Features(of_images, of_texts, self.image_mask, self.text_mask).embedding()


@dataclass
class FeatureFusionInputs(Inputs):
    """The images and texts of this process's slice of the b inputs, for an encoder that fuses
    them.
    """

    def embedding(self, encoder: nn.Module) -> Tensor:
        """As `Inputs.embedding`: (b, d)."""
        b = len(self.rows)
        local = local_slice(b)
        return all_gather(
            encoder(self.pixels, self.image_mask[local], self.tokens, self.text_mask[local]), b
        )


class Unopened(NamedTuple):
    """Inputs that lack their images."""

    inputs: Inputs
    paths: list[str]  # (local i,) relative
    crops: Crops | None  # None: not augmented


def gather_masked(local: Tensor, mask: Tensor) -> Tensor:
    """This process's slice (local, d) of the rows where the mask (b,) is true -> all rows (b, d),
    zero where it is false.
    """
    n = int(mask.sum())
    out = local.new_zeros(len(mask), local.shape[1])
    if n:
        out[mask] = all_gather(local, n)
    return out


class InstructionSwaps(nn.Module):
    """Swapped instructions: the encoder learns to read what an instruction asks for (ours).

    Where the form of a query already shows what its row retrieves, the instruction is redundant. A
    query with another row's instruction has no known target, but the modality of its target is
    known: a linear classifier on the embeddings of queries and candidates, which is dropped after
    training, learns from it.

    Shapes: q queries, n candidates, k instructions.
    """

    def __init__(
        self,
        collection: Collection,
        pairs: Pairs,
        candidates: CandidateTable,
        settings: EncoderSettings,
        dim: int,
    ):
        """pairs: the training queries. dim: of the embeddings."""
        super().__init__()
        phrasings = collection.instructions()
        self.probability, self.weight = settings.instruction_swap_prob, settings.modality_weight
        # (k, 3) dataset, query modality, target modality
        self.keys = np.array(sorted(phrasings), dtype=np.int64)
        self.phrasings = [phrasings[key] for key in sorted(phrasings)]
        # (q,)
        self.query_modalities = np.array(list(map(Modality.of, pairs.texts, pairs.images)))
        self.candidate_modalities = candidates.modalities.astype(np.int64)  # (n,)
        # (q,)
        self.target_modalities = self.candidate_modalities[pairs.positives[pairs.offsets[:-1]]]
        self.classifier = nn.Linear(dim, len(Modality))

    def draw(
        self, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """(b,) the instruction that replaces the own one of each of the queries (b,); it asks for
        another modality than its positive, of the candidate rows (b,), has.

        OWN_INSTRUCTION where none is drawn, and where no instruction fits the query and asks for
        another modality.
        """
        fits_query = self.keys[:, 1] == self.query_modalities[queries, None]
        fits = fits_query & (self.keys[:, 2] != self.candidate_modalities[positives, None])
        drawn = np.where(fits, rng.random(fits.shape), -1.0).argmax(1)
        stays = (rng.random(len(queries)) >= self.probability) | ~fits.any(1)
        return np.where(stays, OWN_INSTRUCTION, drawn)

    def replaced(
        self, instructions: Sequence[str], drawn: np.ndarray, rng: np.random.Generator
    ) -> list[str]:
        """A random phrasing of each instruction that was drawn (b,); where none was, the
        instruction as it is.
        """
        return [
            instruction if key == OWN_INSTRUCTION else str(rng.choice(self.phrasings[key]))
            for instruction, key in zip(instructions, drawn, strict=True)
        ]

    def loss(self, queries: Inputs, targets: Inputs, query: Tensor, target: Tensor) -> Tensor:
        """The weighted cross-entropy () of the modality that a query asks for or a candidate has;
        their embeddings (b, d).
        """
        is_swapped = queries.instruction != OWN_INSTRUCTION
        asked = np.where(
            is_swapped, self.keys[queries.instruction, 2], self.target_modalities[queries.rows]
        )
        labels = np.concatenate([asked, self.candidate_modalities[targets.rows]])
        scores = self.classifier(torch.cat([query, target]) * math.sqrt(query.shape[1]))
        return self.weight * F.cross_entropy(scores, torch.from_numpy(labels).to(scores.device))


def needed_items(collection: Collection, splits: Sequence[Pairs]) -> tuple[np.ndarray, list[Item]]:
    """The rows (c,), ascending, of the candidates that are positives of some split, and these
    candidates.
    """
    rows = np.unique(np.concatenate([pairs.positives for pairs in splits]))
    return rows, candidates_at(collection, rows)


class InputLoader:
    """Loads the queries of several splits and their positives."""

    inputs_class = Inputs

    def __init__(
        self,
        collection: Collection,
        splits: Sequence[Pairs],
        arguments: Arguments,
        encoder: Encoder,
        swaps: InstructionSwaps | None,
    ):
        """Raises UserError for an image that cannot be opened."""
        self.settings = arguments.settings.encoder
        self.encoder = encoder
        self.swaps = swaps
        self.candidate_rows, self.items = needed_items(collection, splits)
        side = encoder.config.preprocess["size"]
        self.side = side if isinstance(side, int) else side[0]
        squares = Squares(
            collection, round(MARGIN * self.side), encoder.config.preprocess["resize_mode"]
        )
        self.open: Squares | PixelCache = squares
        self.workers = 0 if self.settings.cache_images else arguments.workers
        if self.settings.cache_images:
            paths = [item.image for item in self.items if item.image]
            paths += [image for pairs in splits for image in pairs.images if image]
            with main_process_first():
                self.open = PixelCache(squares, paths, arguments.run / "cache", arguments.workers)

    def load_pairs(
        self, pairs: Pairs, batches: Iterable[np.ndarray], rng: np.random.Generator, training: bool
    ) -> Iterator[tuple[Inputs, Inputs]]:
        """For each batch of query numbers (b,): the queries, and a random positive of each."""

        def unopened() -> Iterator[tuple[Unopened, Unopened]]:
            for queries in batches:
                positives = pairs.draw_positives(queries, rng)
                query = self._queries(pairs, queries, positives, rng, training)
                items = [self.items[at] for at in np.searchsorted(self.candidate_rows, positives)]
                images, texts = [item.image for item in items], [item.text for item in items]
                no_swaps = np.full(len(positives), OWN_INSTRUCTION)
                yield query, self._unopened(positives, no_swaps, images, texts, rng, training)

        opened = load_images(
            unopened(), lambda step: step[0].paths + step[1].paths, self.open, self.workers
        )
        for (query, target), squares, _ in opened:  # while the model computes
            images = len(query.paths)
            yield self._opened(query, squares[:images]), self._opened(target, squares[images:])

    def _queries(
        self,
        pairs: Pairs,
        queries: np.ndarray,
        positives: np.ndarray,
        rng: np.random.Generator,
        training: bool,
    ) -> Unopened:
        instructions = [str(rng.choice(pairs.instructions[query])) for query in queries]
        swaps = np.full(len(queries), OWN_INSTRUCTION)
        if training and self.swaps is not None:
            swaps = self.swaps.draw(queries, positives, rng)
            instructions = self.swaps.replaced(instructions, swaps, rng)
        images = [pairs.images[query] for query in queries]
        texts = [
            self.encoder.wording(phrasing, pairs.texts[query])[0]
            for phrasing, query in zip(instructions, queries, strict=True)
        ]
        return self._unopened(queries, swaps, images, texts, rng, training)

    def _unopened(
        self,
        rows: np.ndarray,
        instruction: np.ndarray,
        images: list[str | None],
        texts: list[str],
        rng: np.random.Generator,
        training: bool,
    ) -> Unopened:
        """This process's slice of the images and of the texts that are there."""
        texts = [normalize_text(text) for text in texts]
        image_mask = [bool(path) for path in images]
        text_mask = [bool(text) for text in texts]
        paths = [path for path in images if path]
        local = self._slice(image_mask)
        crops = None
        settings = self.settings
        if training and settings.augment:
            crops = Crops.draw(len(paths), settings.min_crop, settings.horizontal_flip, rng)
            crops = crops.part(local)
        local_texts = [text for text in texts if text][self._slice(text_mask)]
        tokens = self.encoder.tokenize(local_texts) if local_texts else torch.zeros(0).long()
        tensors = torch.tensor(image_mask), torch.tensor(text_mask), torch.zeros(0), tokens
        on_device = [tensor.to(self.encoder.device) for tensor in tensors]
        return Unopened(self.inputs_class(rows, instruction, *on_device), paths[local], crops)

    def _slice(self, mask: list[bool]) -> slice:
        """This process's slice of the images or texts that the mask (b,) says are there."""
        return local_slice(sum(mask))

    def _opened(self, unopened: Unopened, squares: Tensor) -> Inputs:
        """squares (local i, 3, c, c) uint8: the decoded images of stored side c."""
        inputs, crops = unopened.inputs, unopened.crops
        if len(squares):
            preprocess = self.encoder.config.preprocess
            squares = squares.float().to(self.encoder.device) / 255
            images = augmented(squares, crops, self.side) if crops else resized(squares, self.side)
            mean, std = (
                images.new_tensor(preprocess[name])[:, None, None] for name in ("mean", "std")
            )
            inputs.pixels = ((images - mean) / std).contiguous(memory_format=torch.channels_last)
        return inputs


class FeatureFusionLoader(InputLoader):
    """Gives each process the image and the text of the same inputs."""

    inputs_class = FeatureFusionInputs

    def _slice(self, mask: list[bool]) -> slice:
        local = local_slice(len(mask))
        before = sum(mask[: local.start])
        return slice(before, before + sum(mask[local]))
