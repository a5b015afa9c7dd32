"""Baselines of searching by IDs: dense search over the embeddings.

`flat_search` is exact and streams, so it needs no second copy of the embeddings; HNSW and IVF-PQ
are built by faiss from the same embeddings.

Shapes: n items, b queries, d dim, k results.
"""

from collections.abc import Callable, Iterator

import faiss
import numpy as np

from genius.index.segments import Vectors

VECTORS_IN_MEMORY = 16_384  # at once
Progress = Callable[[int], None]  # called with the number of items that were added
# neighbors of a node of HNSW, M of its paper (Malkov and Yashunin 2018); twice as many on the
# lowest level
LINKS = 32


def flat_search(
    embeddings: Vectors, queries: np.ndarray, k: int, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest items by cosine, exactly: (cosines, rows), (b, k) each, padded with −inf and
    −1.

    embeddings (n, d) fp16, memory-mapped; queries (b, d); both normalized. rows (m,): search only
    these. Equal cosines are ordered by row, but which of several that equal the k-th one are found
    is left to faiss.
    """
    queries = _float32(queries)
    metric = faiss.METRIC_INNER_PRODUCT
    best = np.full((len(queries), k), -np.inf, dtype=np.float32)
    found = np.full((len(queries), k), -1, dtype=np.int64)
    for part in _parts(np.arange(len(embeddings)) if rows is None else np.unique(rows)):
        cosines, places = faiss.knn(
            queries, _float32(embeddings[part]), min(k, len(part)), metric=metric
        )
        best = np.concatenate([best, cosines], axis=1)
        found = np.concatenate([found, part[places]], axis=1)
        order = np.lexsort((found, -best), axis=1)[:, :k]
        best = np.take_along_axis(best, order, 1)
        found = np.take_along_axis(found, order, 1)
    return best, found


def build_hnsw(embeddings: Vectors, progress: Progress = lambda items: None) -> faiss.IndexHNSWFlat:
    """A hierarchical navigable small-world graph of embeddings (n, d). Set `index.hnsw.efSearch` to
    search.
    """
    index = faiss.IndexHNSWFlat(embeddings.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    add_all(index, embeddings, progress)
    return index


def hnsw_bytes(items: int, dim: int) -> int:
    """About the memory of the graph of `build_hnsw`, in bytes: of each item a vector in float32,
    and the links of the lowest level, to which the levels above add a few percent.
    """
    return items * (4 * dim + 4 * 2 * LINKS)


def build_ivf_pq(embeddings: Vectors, lists: int, code_bytes: int, training: int) -> faiss.Index:
    """Inverted lists of product-quantized vectors (n, d), trained on `training` of them, at least
    two.

    code_bytes must divide the dim; fewer than 256 vectors to train on give codes of fewer bits than
    a byte. Set `index.nprobe` to search.
    """
    # each value of a code is a centroid, which needs a vector
    bits = min(8, int(np.log2(training)))
    index = faiss.index_factory(
        embeddings.shape[1], f"IVF{lists},PQ{code_bytes}x{bits}np", faiss.METRIC_INNER_PRODUCT
    )  # np: no polysemous training, which is slow and unused here
    sample = np.random.default_rng(0).permutation(len(embeddings))[:training]
    index.train(_float32(embeddings[np.sort(sample)]))
    add_all(index, embeddings)
    return index


def add_all(
    index: faiss.Index, embeddings: Vectors, progress: Progress = lambda items: None
) -> None:
    """Add all embeddings (n, d) in float32, block by block."""
    for part in _parts(np.arange(len(embeddings))):
        index.add(_float32(embeddings[part]))
        progress(index.ntotal)


def _parts(numbers: np.ndarray) -> Iterator[np.ndarray]:
    return (
        numbers[first : first + VECTORS_IN_MEMORY]
        for first in range(0, len(numbers), VECTORS_IN_MEMORY)
    )


def _float32(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors, dtype=np.float32)
