"""What the benchmark searches: IDs, a decoder, queries and vectors, of two kinds.

`uniform`: random IDs, an untrained decoder of the paper's size, queries and vectors in random directions.
`realistic`: the IDs of a trained run, its decoder, its own test queries and embeddings. A collection larger than the
run's adds items whose IDs begin like the ID of one item of the run and end like that of another, and whose vectors
are noisy copies of the first item's. So prefixes branch as unevenly as those of the run.

A small collection is the beginning of a large one.

Shapes: n items, d dim, M levels, B bytes of a packed ID.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.errors import UserError
from genius.files import disk_errors_explained, write_array
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.trie.ids import pack
from genius.trie.pool import Pool

ID_KINDS = ("uniform", "realistic")  # see above
BLOCK = 16_384  # vectors in memory at once
NOISE = 0.1  # length of what is added to the embedding of a copied item


@dataclass(frozen=True)
class Workload:
    """IDs of one kind, and everything that is needed to search them."""

    kind: str
    decoder: IDDecoder
    packed: np.ndarray  # (n, B)
    draw_queries: Callable[[int, int], EncodedQueries]  # (count, round) -> queries; other ones in each round
    vectors: Callable[[np.ndarray], Tensor]  # rows (b,) -> (b, d), normalized

    @property
    def dim(self) -> int:
        return self.draw_queries(1, 0).embeddings.shape[1]


@dataclass(frozen=True)
class Setup:
    """The first items of a workload, and how they are searched."""

    workload: Workload
    pool: Pool
    beams: int
    decoder_weight: float
    decoder_dtype: str  # of the decoder in modes set and fast
    folder: Path  # for the embeddings, if a system needs them

    @property
    def items(self) -> int:
        return len(self.pool.table)

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(items, d) fp16, memory-mapped. Raises UserError if the disk has no room for them."""
        size, free = 2 * self.items * self.workload.dim, shutil.disk_usage(self.folder).free
        if size > free:
            raise UserError(
                f"the vectors of {self.items:,} items take {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free in "
                f"{self.folder}; name another folder with --work, or fewer --items"
            )
        file, blocks = self.folder / "embeddings.npy", np.array_split(np.arange(self.items), -(-self.items // BLOCK))
        with disk_errors_explained(self.folder):
            write_array(
                file,
                (self.items, self.workload.dim),
                np.float16,
                (self.workload.vectors(rows).numpy() for rows in blocks),
            )
        return np.load(file, mmap_mode="r")


def uniform(items: int, config: DecoderConfig, seed: int, device: torch.device) -> Workload:
    """Random IDs, an untrained decoder, random directions."""
    torch.manual_seed(seed)
    decoder, rng = IDDecoder(config).eval(), np.random.default_rng(seed)
    for codebook in decoder.codebooks:
        codebook.copy_(torch.randn_like(codebook) / config.dim**0.5)
    codes = np.stack([rng.integers(size, size=items, dtype=np.int32) for size in config.code_sizes], axis=1)

    def directions(count: int, *key: int) -> Tensor:
        rng = np.random.default_rng((seed, *key))
        return F.normalize(torch.from_numpy(rng.standard_normal((count, config.dim), dtype=np.float32)))

    def draw_queries(count: int, number: int) -> EncodedQueries:
        queries = directions(count, 0, number)
        return EncodedQueries(None, queries, queries.to(device))

    return Workload(
        "uniform",
        decoder.to(device),
        pack(codes, config.code_sizes),
        draw_queries,
        lambda rows: directions(len(rows), 1, int(rows[0])),
    )


def realistic(
    items: int, engine: Engine, queries: EncodedQueries, seed: int, rows: np.ndarray | None = None
) -> Workload:
    """IDs of the run, and recombined ones where it has too few. queries: those that are drawn from.

    rows: of the index, whose IDs are taken; None: all.
    """
    index, rng = engine.index, np.random.default_rng(seed)
    rows = np.arange(index.n) if rows is None else rows
    n, sizes, known = len(rows), index.code_sizes, index.codes(rows).astype(np.int32)
    begins = np.concatenate([rng.permutation(n), rng.integers(n, size=max(items - n, 0))])[:items]
    ends = np.concatenate([begins[:n], rng.integers(n, size=max(items - n, 0))])
    kept = rng.integers(min(2, len(sizes) - 1), len(sizes), size=items)  # leading codes
    codes = np.where(np.arange(len(sizes)) < kept[:, None], known[begins], known[ends])

    def draw_queries(count: int, number: int) -> EncodedQueries:
        rng = np.random.default_rng((seed, 0, number))
        return queries.select(torch.from_numpy(rng.integers(len(queries.z), size=count)))

    def vectors(chosen: np.ndarray) -> Tensor:
        exact = torch.from_numpy(np.asarray(index.embeddings[rows[begins[chosen]]], dtype=np.float32))
        rng = np.random.default_rng((seed, 1, int(chosen[0])))
        noise = torch.from_numpy(rng.standard_normal(exact.shape, dtype=np.float32)) * NOISE / exact.shape[1] ** 0.5
        return F.normalize(torch.where(torch.from_numpy(chosen < n)[:, None], exact, exact + noise))

    return Workload("realistic", engine.decoder, pack(codes, sizes), draw_queries, vectors)
