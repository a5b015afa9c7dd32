"""A running average of the weights that are trained, which often finds more than the last weights do (ours).

Polyak and Juditsky, 1992; exponential, as in EMA models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage(nn.Module):
    """The averages are buffers, so that they are part of a checkpoint.

    The weight of the past grows with the number of steps up to `decay`: the random start is soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float):
        """Averages the parameters of the model that are trained; decay: of one step, 0 for no average at all."""
        super().__init__()
        self.decay = decay
        self._weights = [weight for weight in model.parameters() if weight.requires_grad] if decay else []
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        for number, weight in enumerate(self._weights):
            self.register_buffer(f"average_{number}", weight.detach().clone())

    @property
    def _averages(self) -> list[Tensor]:
        return [self.get_buffer(f"average_{number}") for number in range(len(self._weights))]

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights after a step."""
        self.steps += 1
        share = max(1 - self.decay, 1 / int(self.steps))
        for average, weight in zip(self._averages, self._weights, strict=True):
            average.lerp_(weight, share)

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """The model has the averages within."""
        last = [weight.detach().clone() for weight in self._weights]
        self.apply_averages()
        try:
            yield
        finally:
            self._set(last)

    def apply_averages(self) -> None:
        """The model has the averages from now on."""
        self._set(self._averages)

    @torch.no_grad()
    def _set(self, values: list[Tensor]) -> None:
        for weight, value in zip(self._weights, values, strict=True):
            weight.copy_(value)
