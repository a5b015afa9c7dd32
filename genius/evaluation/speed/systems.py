"""The systems that are timed, by name, each built over a collection.

Shapes: b queries, d feature dim, w beams, M levels, n items, K results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import faiss
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, PrefixConstrainedLogitsProcessor

from genius.evaluation.speed.workloads import Setup
from genius.index.segments import Vectors
from genius.models.decoder import IDDecoder, codeword_scores
from genius.models.decoder_graphs import decoder_for_search
from genius.schema import SearchOptions
from genius.search.candidates import SCANNED, CandidateFinder
from genius.search.checks import ResolvedOptions
from genius.search.dense import add_all, build_hnsw, build_ivf_pq, flat_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.search.scan import Codewords, Scan, compiling
from genius.trie.pool import Pool

K = 50  # results; of a scan SCANNED, which are re-ranked
EF_SEARCH = (4, 8, 16, 32, 64, 128, 256)  # of HNSW
PROBES = (1, 2, 4, 8, 16, 32, 64, 128)  # inverted lists that IVF-PQ reads
MAX_IN_MEMORY = 1_000_000  # vectors up to which an index keeps all of them in float32
# Larger collections leave these out: they take long to build, and the embeddings of more items fill
# a disk.
MAX_ITEMS = {"HNSW": 100_000, "IVF-PQ": 5_600_000, "flat": 10_000_000}
# vectors that IVF-PQ is trained on; dims that it keeps in a byte
MAX_TRAINING, DIMS_PER_BYTE = 50_000, 8
CACHED_PREFIXES = 32_768  # more than 32 queries of 50 beams look up
DEAD_END = [0]  # after an invalid prefix, which a beam of probability 0 may be

# query number, tokens so far -> tokens that may follow
AllowedTokens = Callable[[int, Tensor], list[int]]


@dataclass(frozen=True)
class System:
    """A system over one collection, built."""

    # -> rows (b, ·), best first, padded with −1; of transformers, codes and scores
    search: Callable[[EncodedQueries], Any]
    bytes_per_item: float  # without the weights of models


@dataclass(frozen=True)
class GeometryLogits(LogitsProcessor):
    """Adds the geometry of the next level's codes, which `IDDecoder` adds to the logits of T5,
    before the softmax.
    """

    decoder: IDDecoder
    z: Tensor  # (b · w, d)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids (b · w, 1 + level), scores (b · w, V) log-probabilities -> those with
        geometry.
        """
        config, codebooks = self.decoder.config, self.decoder.codebooks
        level = input_ids.shape[1] - 1
        residual = self.z
        for token, offset, codebook in zip(input_ids.T[1:], config.offsets, codebooks):
            # clamp: dead ends
            residual = residual - codebook[(token - offset).clamp(0, len(codebook) - 1)]
        scaled = codeword_scores(residual, codebooks[level]) * self.decoder.log_scales[level].exp()
        start = config.offsets[level]
        end = start + len(codebooks[level])
        return (scores + F.pad(scaled, (start, config.vocabulary - end))).log_softmax(-1)


def trie_callback(pool: Pool, decoder: IDDecoder) -> AllowedTokens:
    """The tokens that may follow a prefix, from our trie; what follows the last prefixes is kept.

    The published code walks through nested dicts instead, which takes as long and about a hundred
    times the memory.
    """
    offsets = decoder.config.offsets

    @lru_cache(CACHED_PREFIXES)
    def following(node: int, level: int) -> dict[int, int]:
        """Token -> node."""
        if node < 0:  # one ID left: cheaper to read from the table
            return {int(pool.table.codes(np.array(~node))[level]) + offsets[level]: node}
        children = pool.trie.children(torch.tensor([node], device=pool.trie.device), level)
        return dict(
            zip((children.code + offsets[level]).tolist(), children.node.tolist(), strict=True)
        )

    def allowed(_: int, prefix: Tensor) -> list[int]:
        node: Any = pool.trie.root
        tokens = prefix.tolist()[1:]
        for level, token in enumerate(tokens):
            node = following(node, level).get(token)
            if node is None:
                return DEAD_END
        return list(following(node, len(tokens)))

    return allowed


def transformers_generate(setup: Setup) -> System:
    """The published search: `generate` of transformers, constrained by a Python callback per
    beam. It finds codes (b, w, M) and scores (b, w); codes of beams of probability 0 are
    meaningless.
    """
    decoder, pool, beams = setup.workload.decoder, setup.pool, setup.beams
    config, t5 = decoder.config, decoder.t5
    allowed = trie_callback(pool, decoder)

    @torch.inference_mode()
    def search(queries: EncodedQueries) -> tuple[Tensor, Tensor]:
        z = queries.z.to(t5.device)
        processors = LogitsProcessorList([PrefixConstrainedLogitsProcessor(allowed, beams)])
        if config.geometry:
            processors.insert(0, GeometryLogits(decoder, z.repeat_interleave(beams, dim=0)))
        prefix = decoder.project(z).unflatten(-1, (config.prefix, config.width))
        output = t5.generate(
            inputs_embeds=prefix,
            attention_mask=torch.ones(prefix.shape[:2], device=prefix.device),
            num_beams=beams,
            num_return_sequences=beams,
            max_new_tokens=config.levels,
            length_penalty=0.0,
            do_sample=False,
            use_cache=True,
            logits_processor=processors,
            return_dict_in_generate=True,
            output_scores=True,
        )
        codes = output.sequences[:, 1:].cpu() - torch.tensor(config.offsets)  # after the start
        scores = output.sequences_scores.cpu()
        return codes.view(len(z), beams, -1), scores.view(len(z), beams)

    return System(search, (pool.table.nbytes + pool.trie.nbytes) / setup.items)


def by_ids(mode: str, settle: bool, setup: Setup) -> System:
    """Our generation, alone or with a scan."""
    pool = setup.pool
    decoder = decoder_for_search(setup.workload.decoder)
    finder = CandidateFinder(decoder)
    order = "fused" if settle else "score"
    options = ResolvedOptions(beams=setup.beams, mode=mode, order=order)
    size = pool.table.nbytes + pool.trie.nbytes
    if mode == "both":
        size += finder.scan_of(pool).norms.nbytes  # built now, not when it is timed
        compiling(pool.table.code_sizes).result()

    def search(queries: EncodedQueries) -> np.ndarray:
        _, candidates = finder.find(queries.z, pool, options)
        # most candidates of a query
        rows = np.full((len(candidates.counts), candidates.counts.max()), -1)
        rows[candidates.query, candidates.generated_rank - 1] = candidates.row
        return rows

    return System(search, size / setup.items)


def scan(whole: bool, setup: Setup) -> System:
    """The nearest quantized vectors of all IDs, or of those below the nearest prefixes."""
    table = setup.pool.table
    scanning = Scan(setup.pool, Codewords(setup.workload.decoder.codebooks))
    compiling(table.code_sizes).result()
    scanned = scanning.best if whole else scanning.near

    def search(queries: EncodedQueries) -> np.ndarray:
        positions = scanned(queries.z, SCANNED).positions.cpu().numpy()
        return np.where(positions >= 0, table.rows[positions], -1)

    return System(search, (table.nbytes + scanning.norms.nbytes) / setup.items)


def flat(embeddings: Vectors) -> System:
    """Exact search of embeddings (n, d), in float32 or, of more than MAX_IN_MEMORY vectors,
    streamed from disk.
    """
    if len(embeddings) <= MAX_IN_MEMORY:
        index = faiss.IndexFlatIP(embeddings.shape[1])
        add_all(index, embeddings)
        return by_faiss(index, "", (0,))[0]
    size = 2.0 * embeddings.shape[1]
    return System(
        lambda queries: flat_search(embeddings, queries.embeddings.cpu().numpy(), K)[1], size
    )


def ivf_pq(embeddings: Vectors, values: tuple[int, ...]) -> list[System]:
    """One for each value of nprobe, of embeddings (n, d).

    It has 4·√n lists if there are enough vectors to train them.
    """
    n, dim = embeddings.shape
    lists = max(1, min(int(4 * n**0.5), n // 39))
    size = max(size for size in range(1, max(dim // DIMS_PER_BYTE, 1) + 1) if dim % size == 0)
    return by_faiss(build_ivf_pq(embeddings, lists, size, min(n, MAX_TRAINING)), "nprobe", values)


def by_faiss(index: faiss.Index, parameter: str, values: tuple[int, ...]) -> list[System]:
    """One index, searched with each value of a parameter."""
    blocks: list[int] = []  # its size as faiss writes it, without a copy of it
    faiss.write_index(index, faiss.PyCallbackIOWriter(lambda block: blocks.append(len(block))))
    tuned = index.hnsw if isinstance(index, faiss.IndexHNSW) else index

    def search(value: int, queries: EncodedQueries) -> np.ndarray:
        if parameter:
            setattr(tuned, parameter, value)
        return index.search(queries.embeddings.cpu().numpy(), K)[1]

    return [System(partial(search, value), sum(blocks) / index.ntotal) for value in values]


SYSTEMS: dict[str, Callable[[Setup], System]] = {  # name in reports -> builds it over a collection
    "transformers": transformers_generate,
    "generate": partial(by_ids, "generate", False),
    "settled": partial(by_ids, "generate", True),
    "scan": partial(scan, True),
    "prefixes": partial(scan, False),
    "both": partial(by_ids, "both", True),
    "flat": lambda setup: flat(setup.embeddings),
    "HNSW": lambda setup: by_faiss(build_hnsw(setup.embeddings), "efSearch", (64,))[0],
    "IVF-PQ": lambda setup: ivf_pq(setup.embeddings, (16,))[0],
}
DENSE = ("flat", "HNSW", "IVF-PQ")  # the others read IDs


def ids_of_run(engine: Engine) -> dict[str, System]:
    """The ways to find candidates as the run was tuned, and what orders them, over the whole
    index.
    """
    table = engine.pool.table.nbytes / engine.index.n
    trie = engine.pool.trie.nbytes / engine.index.n

    def by_options(mode: str, order: str) -> System:
        options = SearchOptions(k=K, mode=mode, order=order)
        size = table + trie * (options.mode != "scan") + 4 * (options.mode != "generate")
        # of the embedding, fp16 as stored
        size += 2 * engine.index.config.dim * (options.order != "score")
        return System(lambda queries: engine.retrieve(queries, options).ranked.rows, size)

    names = {
        "generate": ("score", "cosine"),
        "scan": ("score", "cosine", "fused"),
        "both": ("cosine", "fused"),
    }
    return {
        f"{mode}, {order}": by_options(mode, order)
        for mode, orders in names.items()
        for order in orders
        if order != "fused" or engine.index.fused is not None
    }


def dense_of_run(engine: Engine) -> dict[str, System]:
    """faiss's indexes of the run's embeddings, at several settings."""
    embeddings = engine.index.embeddings
    systems = {"flat": flat(embeddings)}
    if len(embeddings) <= MAX_IN_MEMORY:
        hnsw = by_faiss(build_hnsw(embeddings), "efSearch", EF_SEARCH)
        systems |= zip((f"HNSW, efSearch {value}" for value in EF_SEARCH), hnsw)
    return systems | dict(
        zip((f"IVF-PQ, nprobe {value}" for value in PROBES), ivf_pq(embeddings, PROBES))
    )
