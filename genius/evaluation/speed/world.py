"""What the benchmark searches: IDs, queries, vectors for dense search, and the decoder, of two kinds.

`uniform` has random IDs and a random decoder. `realistic` has clustered, long-tailed vectors, whose IDs are their
residual codes, and a decoder that reads them with the confidence that noisy queries allow (reader.py).

Everything large lies in a work folder, written aside and renamed: a second call finds it there. A small collection is
the beginning of a large one.

Shapes: n items, d dim, p native dim of realistic vectors, M levels, B bytes of a packed ID.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np
import torch
from tqdm import tqdm

from genius.errors import UserError
from genius.evaluation.speed.reader import confidence, fitted_sharpness, read_geometry
from genius.evaluation.speed.vectors import BLOCK, Clustered, Uniform, Vectors, blocks
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.trie.ids import pack, packed_bytes

SAMPLE = 8  # blocks that codebooks are learned from
ITERATIONS = 6  # of k-means: enough for a benchmark
VIEWS, SURE = 1024, 128  # noisy queries that the decoder's confidence is fitted to, and reported for


@dataclass(frozen=True)
class World:
    """One kind of IDs."""

    kind: str
    vectors: Vectors
    decoder: IDDecoder
    packed: np.ndarray  # (n, B) of all items, memory-mapped
    work: Path
    confidence: list[float] | None = None  # mean probability of the right code at each level, if there is one

    def embeddings(self, items: int) -> np.ndarray:
        """(items, d) fp16 of the first items, memory-mapped."""

        def fill(out: np.ndarray) -> None:
            for number, rows in _progress(blocks(items), items, f"{self.kind} vectors"):
                out[rows] = self.vectors.block(number)[: rows.stop - rows.start]

        return _kept(
            self.work / f"{self.kind}-{self.vectors.dim}-{items}.npy", (items, self.vectors.dim), np.float16, fill
        )


def uniform(items: int, config: DecoderConfig, work: Path, seed: int) -> World:
    """Random IDs, a random decoder, queries in random directions."""
    torch.manual_seed(seed)

    def fill(out: np.ndarray) -> None:
        for number, rows in _progress(blocks(items), items, "uniform IDs"):
            rng = np.random.default_rng((seed, number))
            codes = np.stack([rng.integers(size, size=BLOCK, dtype=np.int32) for size in config.code_sizes], axis=1)
            out[rows] = pack(codes[: rows.stop - rows.start], config.code_sizes)

    decoder, rng = IDDecoder(config).eval(), np.random.default_rng(seed)
    for codebook in decoder.codebooks:
        codebook.copy_(torch.from_numpy(rng.standard_normal(codebook.shape, dtype=np.float32) / config.dim**0.5))
    packed = _kept(work / f"uniform-ids-{items}-{seed}.npy", (items, packed_bytes(config.code_sizes)), np.uint8, fill)
    return World("uniform", Uniform(config.dim, seed), decoder, packed, work)


def realistic(items: int, config: DecoderConfig, work: Path, seed: int) -> World:
    """Residual codes of clustered, long-tailed vectors, and a decoder that reads them."""
    vectors = Clustered(
        config.dim, seed, native=24, depth=8, topics=1024, branches=64, decay=0.5, noise=0.03, duplicates=0.05
    )
    quantizer = _quantizer(vectors, config, work, seed)
    books = [codebook.numpy() for codebook in quantizer.codebooks]

    def fill(out: np.ndarray) -> None:
        for number, rows in _progress(blocks(items), items, "realistic IDs"):
            codes = _codes(*vectors.native_block(number), books)
            out[rows] = pack(codes[: rows.stop - rows.start], config.code_sizes)

    packed = _kept(work / f"realistic-ids-{items}-{seed}.npy", (items, packed_bytes(config.code_sizes)), np.uint8, fill)
    views, _, seen, modalities = vectors.native_queries(items, VIEWS, draw=0)
    codes = torch.from_numpy(_codes(seen, modalities, books)).long()
    decoder, lift = IDDecoder(config).eval(), torch.from_numpy(vectors.lift)
    for mine, codebook in zip(decoder.codebooks, quantizer.codebooks, strict=True):
        mine.copy_(codebook @ lift)
    read_geometry(
        decoder, quantizer.codebooks, lift, fitted_sharpness(quantizer.codebooks, torch.from_numpy(views), codes)
    )
    sure = confidence(decoder, torch.from_numpy(vectors.lifted(views[:SURE])), codes[:SURE])
    return World("realistic", vectors, decoder, packed, work, sure)


WORLDS: dict[str, Callable[[int, DecoderConfig, Path, int], World]] = {"uniform": uniform, "realistic": realistic}


def _quantizer(vectors: Clustered, config: DecoderConfig, work: Path, seed: int) -> ResidualQuantizer:
    folder = work / f"quantizer-{config.levels}x{config.codebook_size}-{seed}"
    if folder.exists():
        return ResidualQuantizer.load(folder)
    sample = [vectors.native_block(number) for number in range(SAMPLE)]
    quantizer = ResidualQuantizer(
        QuantizerConfig(dim=vectors.native, levels=config.levels, codebook_size=config.codebook_size)
    ).eval()
    quantizer.initialize(
        torch.from_numpy(np.concatenate([block for block, _ in sample])),
        torch.from_numpy(np.concatenate([modality for _, modality in sample])),
        seed,
        ITERATIONS,
    )
    aside = folder.with_suffix(".part")
    aside.mkdir(parents=True, exist_ok=True)
    quantizer.save(aside)
    os.replace(aside, folder)
    return quantizer


def _codes(vectors: np.ndarray, modality: np.ndarray, books: list[np.ndarray]) -> np.ndarray:
    """(n, p) and their modalities (n,) -> codes (n, M), each level the nearest codeword, the first forced."""
    codes, residual = [modality], vectors - books[0][modality]
    for book in books[1:]:
        code = faiss.knn(residual, book, 1)[1][:, 0]
        codes.append(code)
        residual = residual - book[code]
    return np.stack(codes, axis=1)


def _kept(file: Path, shape: tuple[int, int], dtype: type, fill: Callable[[np.ndarray], None]) -> np.ndarray:
    """An array in a file, filled if it is not there. Raises UserError if there is no room for it."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        size, free = math.prod(shape) * np.dtype(dtype).itemsize, shutil.disk_usage(file.parent).free
        if size > free:
            raise UserError(
                f"{file} takes {size / 1e9:.1f} GB and {free / 1e9:.1f} GB are free; name another folder "
                "with --work, fewer --items, or --systems without flat, HNSW and IVF-PQ"
            )
        aside = file.with_suffix(".part")
        out = np.lib.format.open_memmap(aside, mode="w+", dtype=dtype, shape=shape)
        fill(out)
        out.flush()
        os.replace(aside, file)
    return np.load(file, mmap_mode="c")


def _progress(parts, items: int, what: str):
    return tqdm(parts, desc=what, unit="block", total=-(-items // BLOCK), leave=False, disable=items < 100 * BLOCK)
