"""faiss's indexes, as the measurements build and weigh them.

Shapes: n vectors, d dim.
"""

from __future__ import annotations

import faiss
import numpy as np

from genius.search.dense import add_all, build_ivf_pq

MAX_IN_MEMORY = 1_000_000  # vectors up to which an index keeps all of them in float32
MAX_TRAINING = 50_000  # vectors that IVF-PQ is trained on


def build_flat(embeddings: np.ndarray) -> faiss.Index:
    """Exact search of embeddings (n, d), in float32 or, of more than MAX_IN_MEMORY vectors, in half precision."""
    n, dim = embeddings.shape
    if n <= MAX_IN_MEMORY:
        return add_all(faiss.IndexFlatIP(dim), embeddings)
    half = faiss.ScalarQuantizer.QT_fp16
    return add_all(faiss.IndexScalarQuantizer(dim, half, faiss.METRIC_INNER_PRODUCT), embeddings)


def build_scaled_ivf_pq(
    embeddings: np.ndarray, max_training: int = MAX_TRAINING, dims_per_byte: int = 8
) -> faiss.IndexIVFPQ:
    """Of embeddings (n, d), with 4·√n lists if there are enough vectors to train them."""
    n, dim = embeddings.shape
    lists = max(1, min(int(4 * n**0.5), n // 39))
    return build_ivf_pq(embeddings, lists, code_bytes(dim, dims_per_byte), training=min(n, max_training))


def code_bytes(dim: int, dims_per_byte: int) -> int:
    """The bytes of a product-quantized vector: the most that divide its dim with so many dims for each, or more."""
    return max(size for size in range(1, max(dim // dims_per_byte, 1) + 1) if dim % size == 0)


def index_bytes(index: faiss.Index) -> int:
    """The size of an index as faiss writes it, counted block by block without a copy of it."""
    sizes: list[int] = []
    faiss.write_index(index, faiss.PyCallbackIOWriter(lambda block: sizes.append(len(block))))
    return sum(sizes)
