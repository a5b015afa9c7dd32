"""What generating IDs is compared with: dense search over the embeddings, and over the quantized vectors.

`flat_search` is exact and streams, so it needs no second copy of the embeddings; HNSW and IVF-PQ are built
by faiss from the same embeddings. `quantized_search` scores every ID by the distance of its quantized vector:
what the IDs could find if nothing were lost in decoding.

Axes: n items, u unique IDs, b queries, d dim, k results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import faiss
import numpy as np
import torch
from torch import Tensor

from genius.index.ids import IDTable
from genius.search.beam import Beams

BLOCK = 16_384    # vectors in memory at once


def flat_search(embeddings: np.ndarray, queries: np.ndarray, k: int,
                rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest items by cosine, exactly: (cosines, rows), (b, k) each; −inf, −1 where there are fewer.

    embeddings (n, d) fp16, normalised, memory-mapped; queries (b, d) normalised; rows: search only these.
    Equal cosines are ordered by row.
    """
    rows = np.arange(len(embeddings)) if rows is None else np.unique(rows)
    blocks = ((part, embeddings[part]) for part in _parts(rows))
    return _scan(blocks, queries, k, faiss.METRIC_INNER_PRODUCT)


@torch.inference_mode()
def quantized_search(codebooks: Sequence[Tensor], table: IDTable, features: Tensor, k: int) -> Beams:
    """The k IDs whose quantized vectors are nearest to the features z (b, d), by scoring every ID.

    Their score is Σ (2⟨r, e⟩ − ‖e‖²) = ‖z‖² − ‖z − ẑ‖², as a beam search by geometry alone has it.
    """
    books = [codebook.float().cpu().numpy() for codebook in codebooks]
    z = features.float().cpu().numpy()
    blocks = ((part, sum(book[codes] for book, codes in zip(books, table.codes(part).T, strict=True)))
              for part in _parts(np.arange(len(table))))
    distances, ids = _scan(blocks, z, min(k, len(table)), faiss.METRIC_L2)
    first = (2 * z @ books[0].T - (books[0] ** 2).sum(1)).astype(np.float32)
    scores = torch.from_numpy((z ** 2).sum(1, keepdims=True) - distances)
    return Beams(torch.from_numpy(ids), scores, torch.full_like(scores, torch.nan),
                 torch.from_numpy(first).log_softmax(-1), trace=None)


def build_hnsw(embeddings: np.ndarray, links: int = 32, effort: int = 40) -> faiss.IndexHNSWFlat:
    """A navigable small-world graph; `effort` is efConstruction. Set `index.hnsw.efSearch` to search."""
    index = faiss.IndexHNSWFlat(embeddings.shape[1], links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = effort
    return _add_all(index, embeddings)


def build_ivf_pq(embeddings: np.ndarray, lists: int, code_bytes: int, training: int,
                 seed: int = 0) -> faiss.IndexIVFPQ:
    """Inverted lists of product-quantized vectors, trained on `training` of them.

    code_bytes must divide the dim. Set `index.nprobe` to search.
    """
    index = faiss.index_factory(embeddings.shape[1], f"IVF{lists},PQ{code_bytes}np",
                                faiss.METRIC_INNER_PRODUCT)    # np: not polysemous, slow and not used here
    sample = np.random.default_rng(seed).permutation(len(embeddings))[:training]
    index.train(_float32(embeddings[np.sort(sample)]))
    return _add_all(index, embeddings)


def _add_all(index: faiss.Index, embeddings: np.ndarray) -> faiss.Index:
    for part in _parts(np.arange(len(embeddings))):
        index.add(_float32(embeddings[part]))
    return index


def _scan(blocks: Iterable[tuple[np.ndarray, np.ndarray]], queries: np.ndarray, k: int,
          metric: int) -> tuple[np.ndarray, np.ndarray]:
    """k best of many blocks (numbers, vectors), best first: (values, numbers), (b, k) each."""
    sign = -1 if metric == faiss.METRIC_INNER_PRODUCT else 1       # so that small is good
    best = np.full((len(queries), k), np.inf, dtype=np.float32)
    numbers = np.full((len(queries), k), -1, dtype=np.int64)
    for part, vectors in blocks:
        values, places = faiss.knn(_float32(queries), _float32(vectors), min(k, len(part)), metric=metric)
        best = np.concatenate([best, sign * values], axis=1)
        numbers = np.concatenate([numbers, part[places]], axis=1)
        order = np.lexsort((numbers, best), axis=1)[:, :k]
        best, numbers = np.take_along_axis(best, order, 1), np.take_along_axis(numbers, order, 1)
    return sign * best, numbers


def _parts(numbers: np.ndarray) -> Iterator[np.ndarray]:
    return (numbers[first:first + BLOCK] for first in range(0, len(numbers), BLOCK))


def _float32(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors, dtype=np.float32)
