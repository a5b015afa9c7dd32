"""Times the stages of a search."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# by stage, per query: the stage's time divided by the size of the batch
Milliseconds = dict[str, float]


class Stopwatch:
    """Times the stages of a search for a batch of queries."""

    def __init__(
        self, device: torch.device, queries: int, milliseconds: Milliseconds | None = None
    ):
        """milliseconds: of the stages before."""
        self.milliseconds = dict(milliseconds or {})
        self._device, self._queries = device, queries

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self.milliseconds[name] = (time.perf_counter() - start) * 1000 / self._queries
