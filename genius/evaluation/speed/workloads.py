"""What is searched: IDs, a decoder, queries and vectors.

    uniform      random IDs, an untrained decoder of the paper's size, queries and vectors in random
                 directions
    realistic    the IDs of a run, its decoder and embeddings; a collection larger than the run's
                 adds items whose IDs begin like that of one item of the run and end like that of
                 another, and whose vectors are noisy copies of the first item's, so prefixes branch
                 as unevenly as those of the run
    GRACE's      structured and numeric IDs, by a decoder of the same size with random weights

A small collection is the beginning of a large one.

Shapes: n items, d dim, M levels, B bytes of a packed ID.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from genius.files import disk_errors_explained, write_array
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.trie.ids import pack, packed_bytes
from genius.trie.pool import Pool

ID_KINDS = ("uniform", "realistic")  # see above
BLOCK = 16_384  # vectors in memory at once
NOISE = 0.1  # length of what is added to the embedding of a copied item
BRANCHES = 30  # of GRACE's structured IDs, and items of a leaf


@dataclass(frozen=True)
class Workload:
    """IDs of one kind, and everything that is needed to search them."""

    kind: str
    decoder: IDDecoder
    packed: np.ndarray  # (n, B)
    # (count, round) -> queries; other ones in each round
    draw_queries: Callable[[int, int], EncodedQueries]
    vectors: Callable[[np.ndarray], Tensor]  # rows (b,) -> (b, d), normalized

    def with_random_decoder(
        self, codes: np.ndarray, code_sizes: tuple[int, ...], seed: int
    ) -> "Workload":
        """Other IDs, codes (n, M), and a decoder of the same size with random weights."""
        torch.manual_seed(seed)
        config = replace(
            self.decoder.config,
            levels=len(code_sizes),
            sizes=code_sizes,
            geometry=False,
            decoder_weight=1.0,
        )
        decoder = IDDecoder(config).eval().to(self.decoder.codebooks[0].device)
        return replace(self, decoder=decoder, packed=pack(codes, code_sizes))


@dataclass(frozen=True)
class Setup:
    """The first items of a workload, and how they are searched."""

    workload: Workload
    pool: Pool
    beams: int
    folder: Path  # for the embeddings, if a system needs them

    @classmethod
    def build(cls, workload: Workload, items: int, beams: int, folder: Path) -> "Setup":
        config, device = workload.decoder.config, workload.decoder.codebooks[0].device
        pool = Pool.build(workload.packed[:items], config.code_sizes, np.arange(items), device)
        return cls(workload, pool, beams, folder)

    @property
    def items(self) -> int:
        return len(self.pool.table)

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(items, d) fp16, memory-mapped. Raises UserError if they cannot be written."""
        dim = self.workload.vectors(np.arange(1)).shape[1]
        file = self.folder / "embeddings.npy"
        blocks = np.array_split(np.arange(self.items), -(-self.items // BLOCK))
        with disk_errors_explained(self.folder, "name another folder in TMPDIR, or fewer --items"):
            parts = (self.workload.vectors(rows).numpy() for rows in blocks)
            write_array(file, (self.items, dim), np.float16, parts)
        return np.load(file, mmap_mode="r")


def uniform(items: int, config: DecoderConfig, seed: int, device: torch.device) -> Workload:
    """Random IDs, an untrained decoder, random directions."""
    torch.manual_seed(seed)
    decoder = IDDecoder(config).eval()
    rng = np.random.default_rng(seed)
    for codebook in decoder.codebooks:
        codebook.copy_(torch.randn_like(codebook) / config.dim**0.5)
    codes = np.stack(
        [rng.integers(size, size=items, dtype=np.int32) for size in config.code_sizes], axis=1
    )

    def directions(count: int, *key: int) -> Tensor:
        rng = np.random.default_rng((seed, *key))
        return F.normalize(
            torch.from_numpy(rng.standard_normal((count, config.dim), dtype=np.float32))
        )

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

    rows (n,): of the index, whose IDs are taken; None: all.
    """
    index = engine.index
    rng = np.random.default_rng(seed)
    rows = np.arange(index.n) if rows is None else rows
    n = len(rows)
    sizes = index.code_sizes
    known = index.codes(rows).astype(np.int32)
    begins = np.concatenate([rng.permutation(n), rng.integers(n, size=max(items - n, 0))])[
        :items
    ].astype(np.int32)
    ends = np.concatenate([begins[:n], rng.integers(n, size=max(items - n, 0)).astype(np.int32)])
    kept = rng.integers(min(2, len(sizes) - 1), len(sizes), size=items)  # leading codes
    packed = np.empty((items, packed_bytes(sizes)), dtype=np.uint8)
    for first in range(0, items, BLOCK):
        part = slice(first, first + BLOCK)
        own = np.arange(len(sizes)) < kept[part, None]
        packed[part] = pack(np.where(own, known[begins[part]], known[ends[part]]), sizes)

    def vectors(chosen: np.ndarray) -> Tensor:
        exact = torch.from_numpy(
            np.asarray(index.embeddings[rows[begins[chosen]]], dtype=np.float32)
        )
        rng = np.random.default_rng((seed, 1, int(chosen[0])))
        noise = (
            torch.from_numpy(rng.standard_normal(exact.shape, dtype=np.float32))
            * NOISE
            / exact.shape[1] ** 0.5
        )
        return F.normalize(torch.where(torch.from_numpy(chosen < n)[:, None], exact, exact + noise))

    return Workload("realistic", engine.decoder, packed, sampled(queries, seed), vectors)


def sampled(queries: EncodedQueries, seed: int) -> Callable[[int, int], EncodedQueries]:
    """(count, round) -> some of these queries; other ones in each round."""

    def draw_queries(count: int, number: int) -> EncodedQueries:
        rng = np.random.default_rng((seed, 0, number))
        return queries.select(torch.from_numpy(rng.integers(len(queries.z), size=count)))

    return draw_queries


def structured_ids(n: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """GRACE's: (n, M) codes of a full tree, the last the number within its leaf; and the codes of
    each level.
    """
    levels = 1
    while BRANCHES**levels < n:
        levels += 1
    return digits(n, (BRANCHES,) * levels)


def numeric_ids(n: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """GRACE's: (n, M) decimal digits of 0 … n − 1, and the codes of each level."""
    return digits(n, (10,) * max(2, len(str(n - 1))))


def digits(n: int, bases: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """(n, M) the numbers 0 … n − 1 in these bases, the first the most significant; and the
    bases.
    """
    return np.stack(np.unravel_index(np.arange(n), bases), axis=1).astype(np.int32), bases
