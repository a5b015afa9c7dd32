"""Search one pool for the queries of a benchmark row with the systems that the tables compare.

What is found is data frames with a line for each query and system: its `system`; `query`, its
number; `rank` of the first positive, see `first_hits`; what a search by IDs hands over before
re-ranking, by the names of CANDIDATES; and the milliseconds per query, by the names of STAGES. What
a system does not have is missing.

Shapes: q queries of a row, n items of the index.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from genius.evaluation.queries import in_batches, right_first_codes
from genius.metrics.hit_rate import Qrels, first_hits, found_queries
from genius.schema import SearchOptions
from genius.search.dense import flat_search
from genius.search.engine import Engine, batch_size
from genius.search.retrieval import EncodedQueries
from genius.trie.pool import Pool

K = 50  # results per query
SCAN_BATCH = 1024  # queries per pass over all vectors
CANDIDATES = (
    "recall",  # a positive is among them
    "items",  # their number
    "scored",  # beams whose continuations were scored, over all levels
    "first code",  # the most probable one is that of a positive
)
STAGES = ("encode", "fuse", "beam", "scan", "rerank")


@dataclass(frozen=True)
class SearchedPool:
    """A pool, ready to be searched for any row by some of the systems: all of them where none is
    named.

    "dense": exact search over the embeddings. The others are those of `id_systems`.
    """

    engine: Engine
    pool: Pool
    rows: np.ndarray  # (m,) its items, as rows of the index
    systems: Sequence[str] = ()

    def search(
        self, queries: EncodedQueries, qrels: Qrels, sizes: Sequence[int]
    ) -> Iterator[pd.DataFrame]:
        """What the systems find with each of these numbers of beams."""
        dense = [self.dense(queries, qrels)] if not self.systems or "dense" in self.systems else []
        for beams in sizes:
            of_ids = id_systems(beams, self.engine.index.fused is not None)
            chosen = {
                name: how
                for name, how in of_ids.items()
                if not self.systems or name in self.systems
            }
            yield pd.concat(
                [*dense, *search_by_ids(chosen, self.engine, self.pool, queries, qrels)],
                ignore_index=True,
            )

    def dense(self, queries: EncodedQueries, qrels: Qrels) -> pd.DataFrame:
        """What comparing a query with every item of the pool finds."""
        embeddings = queries.embeddings.cpu().numpy()
        found = []
        seconds = 0.0
        for start in range(0, len(embeddings), SCAN_BATCH):
            before = time.perf_counter()
            asked = embeddings[start : start + SCAN_BATCH]
            rows = flat_search(self.engine.index.embeddings, asked, K, self.rows)[1]
            seconds += time.perf_counter() - before
            found.append(first_hits(rows, qrels, start))
        ranks = np.concatenate(found)
        encode = queries.milliseconds["encode"]
        scan = 1000 * seconds / len(embeddings)
        return found_lines("dense", ranks, encode=encode, scan=scan)


def found_lines(system: str, ranks: np.ndarray, start: int = 0, **figures: object) -> pd.DataFrame:
    """A line for each query from number `start` on: its rank (q,), and figures of all queries or of
    each.
    """
    return pd.DataFrame(
        {"system": system, "query": np.arange(start, start + len(ranks)), "rank": ranks, **figures}
    )


def id_systems(beams: int, fused: bool = False) -> dict[str, SearchOptions]:
    """System -> its options: the scan, the beam search and both, in each order of their candidates.

    fused: also in the order of fused features.
    """
    systems: dict[str, SearchOptions] = {}
    for name, mode in (("scan", "scan"), ("beam", "generate"), ("both", "both")):
        options = SearchOptions(beams=beams, k=K, mode=mode, order="score")
        # whose candidates have no scores in common
        systems |= {} if mode == "both" else {name: options}
        systems[f"{name} + re-rank"] = replace(options, order="cosine")
        systems |= {f"{name} + fused": replace(options, order="fused")} if fused else {}
    return systems


def search_by_ids(
    systems: Mapping[str, SearchOptions],
    engine: Engine,
    pool: Pool,
    queries: EncodedQueries,
    qrels: Qrels,
) -> Iterator[pd.DataFrame]:
    """What searches by IDs with these options find, in the engine's own batch size.

    Systems that only order the same candidates in another way share one search; a beam search whose
    scores order its results goes on to whole IDs.
    """
    searches: dict[SearchOptions, dict[str, SearchOptions]] = defaultdict(dict)
    for name, options in systems.items():
        whole = options.mode == "generate" and options.order == "score"
        searches[replace(options, order="score" if whole else None)][name] = options
    right = right_first_codes(qrels, engine.index)
    for orders in searches.values():
        (first, options), *others = orders.items()
        start = 0
        for batch in in_batches(queries, batch_size(options.beams)):
            found = engine.retrieve(batch, options, pool)
            size = len(batch.z)
            candidates = found.candidates
            codes = found.first_log_probs.argmax(-1).cpu().numpy()
            handed_over = {
                "recall": found_queries(candidates.query, candidates.row, qrels, start, size),
                "items": candidates.counts,
                "scored": 0 if found.beams is None else found.beams.scored.cpu().numpy(),
                "first code": right[np.arange(start, start + size), codes],
            }
            for name, retrieval in {
                first: found,
                **{name: engine.reorder(found, how) for name, how in others},
            }.items():
                ranks = first_hits(retrieval.ranked.rows, qrels, start)
                yield found_lines(name, ranks, start, **handed_over, **retrieval.milliseconds)
            start += size
