"""Fused vectors of many items with their IDs, for a comparison with indexes of the same vectors.

The first items are the run's. Each further one continues the quantized beginning of one item with what another item
leaves over after as many codes, and gets the ID that the run's quantizer gives to this vector. So the vectors cluster,
and prefixes branch, as unevenly as those of the run, with near-duplicates of every degree.

Shapes: n items, m of them the run's, d dim, M levels, t items of a block.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from genius.encoding.quantize import quantize_all
from genius.evaluation.speed.workloads import BLOCK
from genius.files import disk_errors_explained, write_array
from genius.models.quantizer import ResidualQuantizer
from genius.search.codewords import Codewords
from genius.trie.ids import pack
from genius.trie.pool import Pool


@dataclass(frozen=True)
class FusedPool:
    """n items: row i is vectors[i], with codes[i]."""

    vectors: np.ndarray  # (n, d) fp16, normalized, memory-mapped
    codes: np.ndarray  # (n, M)
    pool: Pool
    build_seconds: float  # of quantizing all vectors and building the pool


def make_pool(
    z: np.ndarray, codes: np.ndarray, quantizer: ResidualQuantizer, items: int, seed: int, folder: Path
) -> FusedPool:
    """items ≥ m. z (m, d) and codes (m, M): of the run's items. folder: for the file of vectors."""
    rng, levels = np.random.default_rng(seed), codes.shape[1]
    own = np.arange(len(z))
    begins = np.concatenate([own, rng.integers(len(z), size=items - len(z))])
    ends = np.concatenate([own, rng.integers(len(z), size=items - len(z))])
    kept = rng.integers(min(2, levels - 1), levels, size=items)  # codes of the first item
    file = folder / "vectors.npy"
    with disk_errors_explained(folder):
        blocks = _vectors(z, codes, Codewords(quantizer.codebooks), begins, ends, kept)
        write_array(file, (items, z.shape[1]), np.float16, blocks)
    vectors, start = np.load(file, mmap_mode="r"), time.perf_counter()
    of_all = quantize_all(vectors, codes[begins, 0], quantizer)
    of_all[own] = codes  # half precision moves a few vectors across a border
    sizes = quantizer.config.code_sizes
    pool = Pool.build(pack(of_all, sizes), sizes, device=quantizer.codebook_0.device)
    return FusedPool(vectors, of_all, pool, time.perf_counter() - start)


@torch.inference_mode()
def _vectors(
    z: np.ndarray, codes: np.ndarray, codewords: Codewords, begins: np.ndarray, ends: np.ndarray, kept: np.ndarray
) -> Iterator[np.ndarray]:
    """(t, d) of one block after the other: z of `ends`, its first `kept` codewords exchanged for those of `begins`."""
    numbers = codes.astype(np.int64) + codewords.offsets
    for first in range(0, len(begins), BLOCK):
        part = slice(first, first + BLOCK)
        both = torch.from_numpy(np.concatenate([numbers[begins[part]], numbers[ends[part]]], axis=1))  # (t, 2M)
        exchanged = torch.from_numpy((np.arange(codes.shape[1]) < kept[part, None]).astype(np.float32))
        change = F.embedding_bag(
            both, codewords.words.cpu(), mode="sum", per_sample_weights=torch.cat([exchanged, -exchanged], dim=1)
        )
        yield F.normalize(torch.from_numpy(z[ends[part]].astype(np.float32)) + change, dim=-1).numpy()
