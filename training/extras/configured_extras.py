"""What the shipped runs add to the encoder's training: factors, swapped instructions, synonyms (ours).

Shapes: b pairs of a batch, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from training.distributed import main_process_first
from training.encoder_inputs import InputLoader, Inputs
from training.extras.encoder_extras import OWN_INSTRUCTION, EncoderExtras
from training.extras.factor_heads import FactorHeads, Factors
from training.extras.instruction_swaps import InstructionSwaps
from training.extras.synonyms import Synonyms
from training.pairs import Pairs


class ConfiguredExtras(EncoderExtras):
    """The additions that `encoder.extras` asks for."""

    def __init__(self, collection: Collection, pairs: Pairs, loader: InputLoader, cache: Path):
        """pairs: the training queries. Raises UserError without the factors or the teacher that the settings need."""
        self.settings, self.loader, self.encoder = loader.settings.extras, loader, loader.encoder
        device = self.encoder.device
        self.swaps = InstructionSwaps(collection, pairs, self.settings.instruction_swap_prob)
        self.synonyms = Synonyms({})
        if self.settings.synonym_prob:
            with main_process_first():
                found = Synonyms.read(training_texts(pairs, loader), self.settings.teacher, cache, device)
            self.synonyms = found.updated(collection.synonyms())
        self.heads = None
        if self.settings.factor_weight or self.settings.modality_weight:
            targets = loader.positions(pairs.positives[pairs.offsets[:-1]])
            rows = set(pairs.rows.tolist())
            self.factors = Factors(collection, loader.items, targets, rows, bool(self.settings.factor_weight))
            self.heads = FactorHeads(self.encoder.dim, list(self.factors.sizes.values())).to(device)
            weights = dict.fromkeys(self.factors.sizes, self.settings.factor_weight / len(self.factors.sizes))
            weights["modality"] = self.settings.modality_weight or weights["modality"]
            self.weights = torch.tensor(list(weights.values()), device=device)

    def modules(self) -> dict[str, nn.Module]:
        return {"heads": self.heads} if self.heads else {}

    def instructions(
        self, instructions: list[str], queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[str], np.ndarray]:
        replaced = np.full(len(queries), OWN_INSTRUCTION)
        if self.settings.instruction_swap_prob:
            targets = np.array([self.loader.items[at].modality for at in self.loader.positions(positives)])
            replaced = self.swaps.draw(queries, targets, rng)
            others = self.swaps.phrasings_of(replaced, rng)
            instructions = [other or own for other, own in zip(others, instructions, strict=True)]
        if self.settings.instruction_word_dropout:
            dropout = self.settings.instruction_word_dropout
            instructions = [drop_words(instruction, dropout, rng) for instruction in instructions]
        return instructions, replaced

    def texts(self, texts: list[str], rng: np.random.Generator) -> list[str]:
        if not self.settings.synonym_prob:
            return texts
        return [self.synonyms.substitute(text, self.settings.synonym_prob, rng) for text in texts]

    def loss(self, queries: Inputs, targets: Inputs, query: Tensor, target: Tensor) -> Tensor | float:
        """The weighted cross-entropy of the factors of queries and targets."""
        if not self.heads:
            return 0.0
        labels = [
            self.factors.with_target(queries.rows, self.swaps.modalities(queries.instruction)),
            self.factors.candidates[self.loader.positions(targets.rows)],
        ]
        labels = torch.from_numpy(np.concatenate(labels)).to(self.encoder.device)
        return (self.weights * self.heads(torch.cat([query, target]), labels)).sum()


def training_texts(pairs: Pairs, loader: InputLoader) -> Iterator[str]:
    """Every text of the queries, their instructions and their positives."""
    yield from pairs.texts
    for phrasings in {id(shared): shared for shared in pairs.instructions}.values():
        yield from phrasings
    for position in loader.positions(np.unique(pairs.positives)):
        yield loader.items[position].text


def drop_words(text: str, probability: float, rng: np.random.Generator) -> str:
    """Leave out each word with this probability, so that no single word carries an instruction."""
    return " ".join(word for word in text.split() if rng.random() >= probability)
