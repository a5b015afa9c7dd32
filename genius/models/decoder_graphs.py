"""The decoder's steps of one query as CUDA graphs: recorded when they are first met, replayed
after.

A GPU computes a step of one query faster than Python launches its kernels. A graph launches them
all at once, on tensors that keep their places, so the state of one search lies where that of the
search before did: one query is searched after the other. Batches are computed without graphs.
Shapes are those of incremental_decoder.py.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import DecoderCache, IncrementalDecoder
from genius.reading import one_line

# each keeps its tensors, 6.6 MB of logits at the paper's size; a search of 9 levels has 10
MAX_GRAPHS = 64
CLOSE = 1e-3  # of log-probabilities; a replay runs the very kernels that were recorded
LOG = logging.getLogger(__name__)

Inputs = tuple[Any, ...]  # Tensors
# the state after it; the log-probabilities (Tensor) of a step, else None
Results = tuple[DecoderCache, Any]
# number of beams; of a step also whether of the whole vocabulary, and the widths of all levels
Key = tuple[int, ...]


class Graph(NamedTuple):
    """A recorded computation."""

    inputs: Inputs  # to be filled before a replay
    results: Results  # which a replay writes
    replay: Callable[[], None]


def decoder_for_search(decoder: IDDecoder) -> IncrementalDecoder:
    """The decoder as it is fastest on its device."""
    return (GraphedDecoder if next(decoder.parameters()).is_cuda else IncrementalDecoder)(decoder)


def record_kernels(
    compute: Callable[[], Results], device: torch.device
) -> tuple[Results, Callable[[], None]]:
    """Record the kernels of a computation without running them: its results, which a replay writes,
    and the replay.
    """
    graph = torch.cuda.CUDAGraph()
    # other threads may use the GPU meanwhile
    with torch.cuda.device(device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        results = compute()
    return results, graph.replay


class GraphedDecoder(IncrementalDecoder):
    """An IncrementalDecoder for a GPU, with the MAX_GRAPHS graphs that were used last. Without
    graphs, and with a warning, where they cannot be recorded."""

    def __init__(self, decoder: IDDecoder, record: Callable = record_kernels):
        """record: as `record_kernels`."""
        super().__init__(decoder)
        self._record, self._room = record, MAX_GRAPHS
        self._graphs: dict[Key, Graph] = {}  # the least recently used first
        # the one query that is searched with graphs
        self._current: tuple[DecoderCache, Key] | None = None

    def start(self, z: Tensor, beams: int) -> DecoderCache:
        """As `IncrementalDecoder.start`, of z (b, d)."""
        key = (beams,)
        self._current = None

        def compute(given: Inputs) -> Results:
            return IncrementalDecoder.start(self, given[0], beams), None

        found = self._run(key, (z,), compute) if len(z) == 1 else None
        if found is None:
            return super().start(z, beams)
        cache = _copied(found[0])
        self._current = cache, key
        return cache

    def step(
        self,
        cache: DecoderCache,
        parents: Tensor | None = None,
        codes: Tensor | None = None,
        whole_vocabulary: bool = True,
    ) -> Tensor:
        """As `IncrementalDecoder.step`: (r, k), of parents and codes (b, w)."""
        if self._current is None or cache is not self._current[0]:
            return super().step(cache, parents, codes, whole_vocabulary)
        inputs = () if parents is None or codes is None else (parents, codes)
        key = (*self._current[1], whole_vocabulary, inputs[0].shape[1] if inputs else 1)
        state = _copied(cache)

        def compute(given: Inputs) -> Results:
            after = _copied(state)
            before, last = given or (None, None)
            return after, IncrementalDecoder.step(self, after, before, last, whole_vocabulary)

        found = self._run(key, inputs, compute)
        if found is None:
            self._current = None
            return super().step(cache, parents, codes, whole_vocabulary)
        vars(cache).update(vars(_copied(found[0])))
        self._current = cache, key
        return found[1].clone()

    def _run(
        self, key: Key, inputs: Inputs, compute: Callable[[Inputs], Results]
    ) -> Results | None:
        """The results by a graph, recorded if it is new; None if it cannot be, or has no room."""
        if key not in self._graphs:
            if not self._make_room(key):
                return None
            try:
                self._graphs[key] = self._checked(inputs, compute)
            except RuntimeError as error:
                LOG.warning("Searching without CUDA graphs: %s", one_line(error))
                self._room = 0
                self._graphs.clear()
                return None
        graph = self._graphs[key] = self._graphs.pop(key)  # the last is the one that was used last
        for place, given in zip(graph.inputs, inputs, strict=True):
            place.copy_(given)
        graph.replay()
        return graph.results

    def _make_room(self, key: Key) -> bool:
        """Forget graphs for a new one, the least recently used first, with all that continue from
        its results, as these will lie elsewhere when it is recorded again. False if the graphs of
        the search itself need all the room."""
        while len(self._graphs) >= self._room:
            oldest = next((known for known in self._graphs if known != key[: len(known)]), None)
            if oldest is None:
                return False
            for known in [known for known in self._graphs if known[: len(oldest)] == oldest]:
                del self._graphs[known]
        return True

    def _checked(self, inputs: Inputs, compute: Callable[[Inputs], Results]) -> Graph:
        """A graph whose first replay gave what is computed without it. Raises RuntimeError if it
        cannot be recorded.
        """
        places = tuple(given.clone() for given in inputs)
        _, expected = compute(places)  # also makes ready what kernels need and recording forbids
        results, replay = self._record(partial(compute, places), self._embedding.device)
        replay()
        if expected is not None and not torch.allclose(
            results[1], expected, rtol=CLOSE, atol=CLOSE
        ):
            raise RuntimeError("a replayed graph computed something else")
        return Graph(places, results, replay)


def _copied(cache: DecoderCache) -> DecoderCache:
    """The same tensors; a step with one leaves the other as it is, but for the keys and values of
    the step.
    """
    return replace(cache, widths=[*cache.widths])
