"""Baselines of generating IDs: dense search over the embeddings, and over the quantized vectors.

`flat_search` is exact and streams, so it needs no second copy of the embeddings; HNSW and IVF-PQ are built by faiss
from the same embeddings. `quantized_search` scores every ID by the distance of its quantized vector: the result of a
beam search by geometry that discards nothing.

Axes: n items, u different IDs, b queries, d dim, k results, M levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import faiss
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.index.segments import Vectors
from genius.search.beam_state import Beams
from genius.search.codewords import Codewords
from genius.trie.ids import IDTable

BLOCK = 16_384  # vectors in memory at once
LINKS = 32  # neighbors of a node of HNSW, M of its paper (Malkov and Yashunin 2018); twice as many on the lowest level


def flat_search(
    embeddings: Vectors, queries: np.ndarray, k: int, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest items by cosine, exactly: (cosines, rows), (b, k) each, padded with −inf and −1.

    embeddings (n, d) fp16, memory-mapped; queries (b, d); both normalized. rows: search only these. Equal cosines are
    ordered by row, but which of several that equal the k-th one are found is left to faiss.
    """
    rows, queries = np.arange(len(embeddings)) if rows is None else np.unique(rows), _float32(queries)

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for part in _parts(rows):
            cosines, places = faiss.knn(
                queries, _float32(embeddings[part]), min(k, len(part)), metric=faiss.METRIC_INNER_PRODUCT
            )
            yield cosines, part[places]

    return _best(parts(), len(queries), k)


@torch.inference_mode()
def quantized_norms(codebooks: Sequence[Tensor], table: IDTable) -> Tensor:
    """‖ẑ‖² of the quantized vector of each ID, (u,) float32 on the codebooks' device; many searches can share it."""
    codewords = Codewords(codebooks)
    return torch.cat([codewords.sums(codewords.numbers(table, ids)).square().sum(1) for ids in _parts(table.ids)])


def norms_by_row(norms: Tensor, table: IDTable) -> np.ndarray:
    """‖ẑ‖² by row of the index (n,), of a table of all rows 0 … n − 1; norms (u,): see `quantized_norms`."""
    by_row = np.empty(len(table), dtype=np.float32)
    by_row[table.rows] = norms.cpu().numpy()[np.searchsorted(table.ids, table.ids_of(np.arange(len(table))))]
    return by_row


@torch.inference_mode()
def quantized_search(
    codebooks: Sequence[Tensor], table: IDTable, features: Tensor, k: int, norms: Tensor | None = None
) -> Beams:
    """The k IDs whose quantized vectors ẑ are nearest to the features z (b, d), by scoring every ID.

    Their score is Σ (2⟨r, e⟩ − ‖e‖²) = ‖z‖² − ‖z − ẑ‖² = 2⟨z, ẑ⟩ − ‖ẑ‖², as a beam search by geometry alone has
    it. 2⟨z, ẑ⟩ is a sum of M numbers from a table of 2⟨z, e⟩ for all codewords (asymmetric distance computation:
    Jégou et al. 2011, "Product quantization for nearest neighbor search"). ‖ẑ‖² is no such sum, for the codewords
    of a residual quantizer are not orthogonal: `norms`, as `quantized_norms` gives them, saves computing it.

    One thread, 10⁶ IDs of 9 codes, d = 768: 0.1 s for one query and 0.4 s for 32 together, where decoding every ID
    and comparing the vectors takes 8 and 12 s; the norms, which decode every ID once, take 4 s.
    """
    norms = quantized_norms(codebooks, table) if norms is None else norms
    codewords = Codewords(codebooks)
    products = codewords.products(features).T.contiguous()  # (all codes, b)

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for ids, norm in zip(_parts(table.ids), norms.split(BLOCK), strict=True):
            inner = F.embedding_bag(codewords.numbers(table, ids), products, mode="sum").T
            scores, places = (inner - norm).topk(min(k, len(ids)))
            yield scores.cpu().numpy(), ids[places.cpu().numpy()]

    best, ids = _best(parts(), len(features), min(k, table.distinct))
    low, scores = torch.from_numpy(ids), torch.from_numpy(best)
    return Beams(
        low,
        torch.from_numpy(ids + table.bucket_sizes(ids)),
        scores,
        torch.full_like(scores, torch.nan),
        depth=torch.full_like(low, len(codebooks)),
        first_log_probs=(products[: len(codebooks[0])].T - codebooks[0].float().square().sum(1)).log_softmax(-1),
        scored=torch.zeros(len(features), dtype=torch.long),
    )


def build_hnsw(embeddings: Vectors) -> faiss.IndexHNSWFlat:
    """A hierarchical navigable small-world graph. Set `index.hnsw.efSearch` to search."""
    index = faiss.IndexHNSWFlat(embeddings.shape[1], LINKS, faiss.METRIC_INNER_PRODUCT)
    add_all(index, embeddings)
    return index


def hnsw_bytes(items: int, dim: int) -> int:
    """About the memory of the graph of `build_hnsw`: of each item a vector in float32, and the links of the lowest
    level, to which the levels above add a few percent."""
    return items * (4 * dim + 4 * 2 * LINKS)


def build_ivf_pq(embeddings: Vectors, lists: int, code_bytes: int, training: int) -> faiss.Index:
    """Inverted lists of product-quantized vectors, trained on `training` of them, at least two.

    code_bytes must divide the dim; fewer than 256 vectors to train on give codes of fewer bits than a byte. Set
    `index.nprobe` to search.
    """
    bits = min(8, int(np.log2(training)))  # each value of a code is a centroid, which needs a vector
    index = faiss.index_factory(
        embeddings.shape[1], f"IVF{lists},PQ{code_bytes}x{bits}np", faiss.METRIC_INNER_PRODUCT
    )  # np: no polysemous training, which is slow and unused here
    sample = np.random.default_rng(0).permutation(len(embeddings))[:training]
    index.train(_float32(embeddings[np.sort(sample)]))
    add_all(index, embeddings)
    return index


def add_all(index: faiss.Index, embeddings: Vectors) -> None:
    """Add all embeddings (n, d) in float32, block by block."""
    for part in _parts(np.arange(len(embeddings))):
        index.add(_float32(embeddings[part]))


def _best(parts: Iterable[tuple[np.ndarray, np.ndarray]], queries: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k highest of several parts (values, numbers), (b, ·) each, as (b, k) each; equal values by number."""
    values = np.full((queries, k), -np.inf, dtype=np.float32)
    numbers = np.full((queries, k), -1, dtype=np.int64)
    for part_values, part_numbers in parts:
        values, numbers = np.concatenate([values, part_values], axis=1), np.concatenate([numbers, part_numbers], axis=1)
        order = np.lexsort((numbers, -values), axis=1)[:, :k]
        values, numbers = np.take_along_axis(values, order, 1), np.take_along_axis(numbers, order, 1)
    return values, numbers


def _parts(numbers: np.ndarray) -> Iterator[np.ndarray]:
    return (numbers[first : first + BLOCK] for first in range(0, len(numbers), BLOCK))


def _float32(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors, dtype=np.float32)
