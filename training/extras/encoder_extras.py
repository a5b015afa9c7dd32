"""The hook by which an option adds to the encoder's training without standing in its loop.

Shapes: b pairs of a batch, d embedding dim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor, nn

if TYPE_CHECKING:
    from training.encoder_inputs import Inputs

OWN_INSTRUCTION = -1  # a query keeps the instruction of its row


class EncoderExtras:
    """Adds nothing; ConfiguredExtras adds what the settings ask for."""

    def modules(self) -> dict[str, nn.Module]:
        """Modules that are trained with the encoder and dropped afterwards, by name."""
        return {}

    def instructions(
        self, instructions: list[str], queries: np.ndarray, positives: np.ndarray, rng: np.random.Generator
    ) -> tuple[list[str], np.ndarray]:
        """The instructions to train with, and the number of each that replaces the query's own, or OWN_INSTRUCTION.

        A query with a replaced instruction has no known target and is left out of the contrastive loss.
        """
        return instructions, np.full(len(queries), OWN_INSTRUCTION)

    def texts(self, texts: list[str], rng: np.random.Generator) -> list[str]:
        """The texts to train with."""
        return texts

    def loss(self, queries: Inputs, targets: Inputs, query: Tensor, target: Tensor) -> Tensor | float:
        """A term that is added to the loss of a batch; query, target: its embeddings (b, d)."""
        return 0.0
