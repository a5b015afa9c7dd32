"""Swapped instructions: the encoder learns to read what an instruction asks for (ours).

Where the form of a query already shows what its row retrieves, the instruction is redundant. A query with another
row's instruction has no known target, but the modality of its target is known: a linear classifier on the embeddings of
queries and candidates, which is dropped after training, learns from it.

Shapes: b pairs of a batch, q queries, n candidates, k instructions, d embedding dim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.schema import Modality
from training.pairs import CandidateTable, Pairs
from training.settings import EncoderSettings

if TYPE_CHECKING:
    from training.encoder_inputs import Inputs

OWN_INSTRUCTION = -1  # a query keeps the instruction of its row


class InstructionSwaps(nn.Module):
    """Draws the instructions that replace a query's own, and classifies the modality of the target."""

    def __init__(
        self, collection: Collection, pairs: Pairs, candidates: CandidateTable, settings: EncoderSettings, dim: int
    ):
        """pairs: the training queries. dim: of the embeddings."""
        super().__init__()
        phrasings = collection.instructions()
        self.probability, self.weight = settings.instruction_swap_prob, settings.modality_weight
        self.keys = np.array(sorted(phrasings), dtype=np.int64)  # (k, 3) dataset, query modality, target modality
        self.phrasings = [phrasings[key] for key in sorted(phrasings)]
        self.query_modalities = np.array(
            [Modality.of(text, image) for text, image in zip(pairs.texts, pairs.images, strict=True)], dtype=np.int64
        )  # (q,)
        self.candidate_modalities = candidates.modalities.astype(np.int64)  # (n,)
        self.target_modalities = self.candidate_modalities[pairs.positives[pairs.offsets[:-1]]]  # (q,)
        self.classifier = nn.Linear(dim, len(Modality))

    def draw(self, queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(b,) the instruction that replaces each query's own; it asks for another modality than its positive has.

        OWN_INSTRUCTION where none is drawn, and where no instruction fits the query and asks for another modality.
        """
        fits_query = self.keys[:, 1] == self.query_modalities[queries, None]
        fits = fits_query & (self.keys[:, 2] != self.candidate_modalities[positives, None])
        drawn = np.where(fits, rng.random(fits.shape), -1.0).argmax(1)
        stays = (rng.random(len(queries)) >= self.probability) | ~fits.any(1)
        return np.where(stays, OWN_INSTRUCTION, drawn)

    def replaced(self, instructions: Sequence[str], drawn: np.ndarray, rng: np.random.Generator) -> list[str]:
        """A random phrasing of each drawn instruction; where none was drawn, the instruction as it is."""
        return [
            instruction if key == OWN_INSTRUCTION else str(rng.choice(self.phrasings[key]))
            for instruction, key in zip(instructions, drawn, strict=True)
        ]

    def loss(self, queries: Inputs, targets: Inputs, query: Tensor, target: Tensor) -> Tensor:
        """The weighted cross-entropy of the modality that a query asks for or a candidate has; embeddings (b, d)."""
        is_swapped = queries.instruction != OWN_INSTRUCTION
        labels = np.concatenate(
            [
                np.where(is_swapped, self.keys[queries.instruction, 2], self.target_modalities[queries.rows]),
                self.candidate_modalities[targets.rows],
            ]
        )
        scores = self.classifier(torch.cat([query, target]) * math.sqrt(query.shape[1]))
        return self.weight * F.cross_entropy(scores, torch.from_numpy(labels).to(scores.device))
