"""One query, searched in several ways: what each finds, what they have in common, how long each takes.

Shapes: s systems, k results of each, u different items found, n items of the index, d embedding dim.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import faiss
import numpy as np
import torch

from genius.index.store import Index
from genius.schema import Modality, SearchOptions
from genius.search.checks import checked_options
from genius.search.dense import build_hnsw, flat_search
from genius.search.engine import EncodedQueries, Engine

EXACT = SearchOptions(mode="exact", rerank=False)


@dataclass(frozen=True)
class SearchSystem:
    """A way to search."""

    name: str
    how: str  # in a sentence
    options: SearchOptions | None = None  # of a beam search


FLAT = SearchSystem("faiss flat", "The embeddings of all items are compared with the query’s: exact.")
HNSW = SearchSystem("faiss HNSW", "A graph of near neighbours is walked from item to item: approximate.")
SYSTEMS = (  # in the order shown
    SearchSystem("Generation", "The decoder writes IDs by beam search; items come in the order of ID scores.", EXACT),
    SearchSystem("Generation + re-rank", "The same IDs, their items ordered by embedding.", SearchOptions(mode="set")),
    SearchSystem(
        "Geometry",
        "The same beam search by codeword distances alone, without the decoder.",
        replace(EXACT, decoder_weight=0.0),
    ),
    FLAT,
    HNSW,
)
EFFORT = 128  # faiss's efSearch
TURNS = 3  # of which the median counts
PATIENCE = 500  # milliseconds; a system that takes longer is asked once

Progress = Callable[[int], None]  # told how many items were read
Answer = tuple[np.ndarray, np.ndarray, dict[str, float]]  # cosines and rows (1, k), and milliseconds by stage


@dataclass(frozen=True)
class SystemResults:
    """What one system found for one query."""

    system: SearchSystem
    rows: np.ndarray  # (≤ k,) of the index, best first
    cosines: np.ndarray  # (≤ k,) between the embeddings of query and item
    milliseconds: dict[str, float]  # by stage; encoding, which all share, is not among them

    @property
    def total(self) -> float:
        return sum(self.milliseconds.values())


@dataclass(frozen=True)
class Agreement:
    """How far the systems agree on one query."""

    rows: np.ndarray  # (u,) all items found, ascending
    ranks: np.ndarray  # (s, u) 1 is best, 0: not found
    overlap: np.ndarray  # (s, s) share of the results that two have in common
    shift: np.ndarray  # (s, s) mean difference of the ranks of those; NaN if there are none

    @property
    def found_by_one(self) -> np.ndarray:
        """(s, u) bool: found by this system alone."""
        found = self.ranks > 0
        return found & (found.sum(axis=0) == 1)


class Comparison:
    """The systems over one engine; any number of threads may share it.

    The graph of HNSW is built when it is first needed, once for an index, from all its embeddings in float32:
    4 d + 256 bytes an item.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self._graph: faiss.IndexHNSWFlat | None = None
        self._of: Index | None = None  # what the graph was built over
        self._building = threading.Lock()

    @property
    def built(self) -> bool:
        """Whether the graph of HNSW is there."""
        return self._of is self.engine.index

    def build(self, progress: Progress = lambda items: None) -> faiss.IndexHNSWFlat:
        """The graph of HNSW; whoever asks while it is being built waits for it."""
        with self._building:
            if not self.built:
                index = self.engine.index
                self._graph = build_hnsw(_Watched(index.embeddings, progress))
                self._of = index
            return self._graph

    def search(
        self,
        embedding: np.ndarray,
        z: np.ndarray,
        k: int,
        beams: int,
        modality: Modality | None = None,
        hnsw: bool = True,
    ) -> Iterator[SystemResults]:
        """Every system in turn, for one query's vectors (d,).

        modality: find nothing else; hnsw: that system, too, after building its graph if need be. Raises UserError for
        a k or a beam size that cannot be, and for a modality of which there are no items.
        """
        asked = checked_options(SearchOptions(k=k, beams=beams, modality=modality))
        index, embeddings = self.engine.index, np.float32(embedding)[None]
        rows = None if modality is None else np.flatnonzero(index.modalities == modality)
        walk = faiss.SearchParametersHNSW(efSearch=EFFORT, sel=None if rows is None else faiss.IDSelectorBatch(rows))
        encoded = EncodedQueries(
            None,
            *(
                torch.as_tensor(vector, dtype=torch.float32, device=self.engine.device)[None]
                for vector in (embedding, z)
            ),
        )
        for system in SYSTEMS:
            if system.options:
                options = replace(system.options, k=asked.k, beams=asked.beams, modality=modality)
                yield _median(system, partial(self._generate, encoded, options))
            elif system is FLAT:
                yield _median(system, partial(_clocked, flat_search, index.embeddings, embeddings, asked.k, rows))
            elif hnsw:
                yield _median(system, partial(_clocked, self.build().search, embeddings, asked.k, params=walk))

    def _generate(self, encoded: EncodedQueries, options: SearchOptions) -> Answer:
        found = self.engine.retrieve(encoded, options)
        return found.ranked.cosines, found.ranked.rows, found.milliseconds


def agreement(found: Sequence[SystemResults]) -> Agreement:
    """Compare what the systems found for one query."""
    rows = np.unique(np.concatenate([one.rows for one in found]))
    ranks = np.zeros((len(found), len(rows)), dtype=int)
    for table, one in zip(ranks, found, strict=True):
        table[np.searchsorted(rows, one.rows)] = np.arange(1, len(one.rows) + 1)
    present = (ranks > 0).astype(int)
    common, sizes = present @ present.T, present.sum(axis=1)
    both = present[:, None] & present[None]  # (s, s, u)
    moved = (np.abs(ranks[:, None] - ranks[None]) * both).sum(axis=2)
    return Agreement(
        rows,
        ranks,
        common / np.maximum(np.maximum(sizes[:, None], sizes), 1),
        np.where(common > 0, moved / np.maximum(common, 1), np.nan),
    )


class _Watched:
    """Embeddings (n, d) that tell how many of them were read."""

    def __init__(self, embeddings: np.ndarray, progress: Progress):
        self.embeddings, self.progress, self.shape = embeddings, progress, embeddings.shape
        self.read = 0

    def __len__(self) -> int:
        return len(self.embeddings)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.read += len(rows)
        self.progress(self.read)
        return self.embeddings[rows]


def _clocked(search: Callable[..., tuple[np.ndarray, np.ndarray]], *given: object, **named: object) -> Answer:
    start = time.perf_counter()
    cosines, rows = search(*given, **named)
    return cosines, rows, {"search": 1000 * (time.perf_counter() - start)}


def _median(system: SearchSystem, search: Callable[[], Answer]) -> SystemResults:
    """What it finds, and the times of its middle turn."""
    cosines, rows, first = search()
    turns = [first]
    if sum(first.values()) < PATIENCE:
        turns += [search()[2] for _ in range(TURNS - 1)]
    there = rows[0] >= 0
    return SystemResults(
        system, rows[0][there], cosines[0][there], sorted(turns, key=lambda spent: sum(spent.values()))[len(turns) // 2]
    )
