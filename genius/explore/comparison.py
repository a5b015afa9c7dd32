"""Search one query with several systems and compare their results and times.

Shapes: s systems, k results per system, u distinct items found, n items of the index, d embedding
dim.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import faiss
import numpy as np

from genius.errors import UserError
from genius.index.store import Index
from genius.schema import Modality, SearchOptions
from genius.search.checks import checked_options
from genius.search.dense import Progress, build_hnsw, flat_search, hnsw_bytes
from genius.search.engine import Engine
from genius.search.rerank import Similarity
from genius.search.retrieval import EncodedQueries

GENERATED = SearchOptions(mode="generate", order="score")


@dataclass(frozen=True)
class SearchSystem:
    """A search method that is compared."""

    name: str
    how: str  # one sentence for the page
    options: SearchOptions | None = None  # of a beam search; None: dense search


FLAT = SearchSystem(
    "faiss flat", "Dense search: compares the query with every item by their embeddings; exact."
)
HNSW = SearchSystem(
    "faiss HNSW", "Dense search along a graph of similar items; faster, but may miss some."
)
FUSED = SearchSystem(  # where the index keeps fused features
    "As on Search",
    "Generation and the scan find items; the similarity of their features before coding "
    "orders them.",
    SearchOptions(order="fused"),
)
SCAN = SearchSystem(  # where codes have codewords
    "Scan",
    "Compares the query with every ID by the codes’ vectors (geometry), without the decoder.",
    SearchOptions(mode="scan", order="score", decoder_weight=0.0),
)
SYSTEMS = (  # in the order shown
    SearchSystem(
        "Generation",
        "Writes IDs code by code (beam search); the scores of the IDs order their items.",
        GENERATED,
    ),
    SearchSystem(
        "Generation + re-rank",
        "Stops once its beams hold few more items than there are beams; similarity (of "
        "the embeddings) orders them.",
        SearchOptions(mode="generate", order="cosine"),
    ),
    SCAN,
    SearchSystem(
        "Decoder alone",
        "Writes IDs by the probabilities of the decoder only, as in the paper.",
        replace(GENERATED, decoder_weight=1.0),
    ),
    FLAT,
    HNSW,
)
EFFORT = 128  # faiss's efSearch
REPEATS = 3  # the median is reported
SLOW = 500  # milliseconds; a slower system runs only once
MAX_GRAPH_BYTES = 4 * 10**9  # any visitor can have the graph built: 1.2 million items of d = 768

# cosines and rows (1, k), and milliseconds by stage
Answer = tuple[np.ndarray, np.ndarray, dict[str, float]]


@dataclass(frozen=True)
class SystemResults:
    """The results of one system for one query."""

    system: SearchSystem
    rows: np.ndarray  # (≤ k,) of the index, best first
    cosines: np.ndarray  # (≤ k,) between the embeddings of query and item
    milliseconds: dict[str, float]  # by stage, without encoding, which all systems share
    weight: float | None = None  # of the decoder against geometry; None: a dense search

    @property
    def total(self) -> float:
        """In milliseconds."""
        return sum(self.milliseconds.values())


@dataclass(frozen=True)
class Agreement:
    """How far the systems agree on one query."""

    rows: np.ndarray  # (u,) all items found, ascending
    ranks: np.ndarray  # (s, u) 1 is best, 0: not found
    overlap: np.ndarray  # (s, s) share of results that two systems have in common
    shift: np.ndarray  # (s, s) mean difference of their ranks of common results; NaN without any

    @property
    def found_by_one(self) -> np.ndarray:
        """(s, u) bool: found only by this system."""
        is_found = self.ranks > 0
        return is_found & (is_found.sum(axis=0) == 1)


class Comparison:
    """Runs the systems on one engine. Thread-safe.

    The HNSW graph is built once per index, when first needed, from all embeddings in float32.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self._graph: faiss.IndexHNSWFlat | None = None
        # of the graph, which alone keeps no index alive
        self._graph_index: weakref.ref[Index] | None = None
        self._building = threading.Lock()

    @property
    def systems(self) -> tuple[SearchSystem, ...]:
        """In the order shown."""
        systems = (
            SYSTEMS if self.engine.index.fused is None else (*SYSTEMS[:2], FUSED, *SYSTEMS[2:])
        )
        return tuple(one for one in systems if self.engine.has_codewords or one is not SCAN)

    @property
    def built(self) -> bool:
        """Whether the HNSW graph of the current index is built."""
        known = self._graph_index  # read once: another visitor's `build` may forget it meanwhile
        return known is not None and known() is self.engine.index

    @property
    def hnsw_problem(self) -> str | None:
        """Why HNSW cannot be compared on the current index; None if it can."""
        size = hnsw_bytes(self.engine.index.n, self.engine.index.config.dim)
        if size <= MAX_GRAPH_BYTES:
            return None
        return (
            f"The HNSW graph of {self.engine.index.n:,} items would take {size / 1e9:.1f} GB of "
            f"this server's memory, more than the {MAX_GRAPH_BYTES / 1e9:.0f} GB that it spends on "
            "a comparison; compare without HNSW."
        )

    def build(self, progress: Progress = lambda items: None) -> faiss.IndexHNSWFlat:
        """Build the HNSW graph if necessary and return it. Concurrent callers wait for the same
        graph.

        Raises UserError if the graph would be too large, see `hnsw_problem`.
        """
        with self._building:
            if not self.built:
                # of an index before: there is no memory for two graphs
                self._graph = self._graph_index = None
                if self.hnsw_problem:
                    raise UserError(self.hnsw_problem)
                index = self.engine.index
                self._graph = build_hnsw(index.embeddings, progress)
                self._graph_index = weakref.ref(index)
            return self._graph

    def search(
        self,
        query: EncodedQueries,
        k: int,
        beams: int,
        modality: Modality | None = None,
        hnsw: bool = True,
        decoder_weight: float | None = None,
    ) -> Iterator[SystemResults]:
        """Yield the results of each system for one query.

        decoder_weight: against geometry, of the systems that name none; None: the run's. modality:
        restrict the results to it. hnsw: include HNSW, and build its graph if necessary. Raises
        UserError for an invalid k, beam size or weight, for a modality without items, and where
        `build` does.
        """
        checked = checked_options(
            SearchOptions(k=k, beams=beams, modality=modality, decoder_weight=decoder_weight)
        )
        usual = (
            self.engine.decoder.config.decoder_weight if decoder_weight is None else decoder_weight
        )
        index = self.engine.index
        embeddings = query.embeddings.float().cpu().numpy()
        rows = None if modality is None else np.flatnonzero(index.modalities == modality)
        walk = faiss.SearchParametersHNSW(
            efSearch=EFFORT, sel=None if rows is None else faiss.IDSelectorBatch(rows)
        )
        encoded = EncodedQueries.from_vectors(embeddings, query.z, self.engine.device)
        for system in self.systems:
            if system.options:
                fixed = system.options.decoder_weight
                weight = usual if fixed is None else fixed
                options = replace(
                    system.options,
                    k=checked.k,
                    beams=checked.beams,
                    modality=modality,
                    decoder_weight=weight,
                )
                yield replace(
                    _median(system, partial(self._generate, encoded, options)), weight=weight
                )
            elif system is FLAT:
                yield _median(
                    system,
                    partial(_timed, flat_search, index.embeddings, embeddings, checked.k, rows),
                )
            elif hnsw:
                yield _median(
                    system, partial(_timed, self.build().search, embeddings, checked.k, params=walk)
                )

    def _generate(self, encoded: EncodedQueries, options: SearchOptions) -> Answer:
        retrieved = self.engine.retrieve(encoded, options)
        by_embedding = Similarity(
            retrieved.snapshot.index.embeddings, encoded.embeddings.cpu().numpy()
        )
        return (
            retrieved.ranked.similarities(by_embedding),
            retrieved.ranked.rows,
            retrieved.milliseconds,
        )


def rank_agreement(by_system: Sequence[SystemResults]) -> Agreement:
    """Compare the results of the systems for one query."""
    rows = np.unique(np.concatenate([results.rows for results in by_system]))
    ranks = np.zeros((len(by_system), len(rows)), dtype=int)
    for ranks_of_system, results in zip(ranks, by_system, strict=True):
        ranks_of_system[np.searchsorted(rows, results.rows)] = np.arange(1, len(results.rows) + 1)
    present = (ranks > 0).astype(int)
    common = present @ present.T
    sizes = present.sum(axis=1)
    both = present[:, None] & present[None]  # (s, s, u)
    moved = (np.abs(ranks[:, None] - ranks[None]) * both).sum(axis=2)
    return Agreement(
        rows,
        ranks,
        common / np.maximum(np.maximum(sizes[:, None], sizes), 1),
        np.where(common > 0, moved / np.maximum(common, 1), np.nan),
    )


def _timed(
    search: Callable[..., tuple[np.ndarray, np.ndarray]], *args: object, **kwargs: object
) -> Answer:
    start = time.perf_counter()
    cosines, rows = search(*args, **kwargs)
    return cosines, rows, {"search": 1000 * (time.perf_counter() - start)}


def _median(system: SearchSystem, search: Callable[[], Answer]) -> SystemResults:
    """The results of a system with the median of its times."""
    cosines, rows, first = search()
    runs = [first]
    if sum(first.values()) < SLOW:
        runs += [search()[2] for _ in range(REPEATS - 1)]
    valid = rows[0] >= 0
    slower = sorted(runs, key=lambda spent: sum(spent.values()))
    return SystemResults(system, rows[0][valid], cosines[0][valid], slower[len(runs) // 2])
