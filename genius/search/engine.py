"""The engine: queries in, results out, with every stage timed.

    encode -> fuse -> beam -> expand -> rerank -> fetch

Shapes: b queries, d embedding dim.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from genius.errors import UserError
from genius.index.store import Index
from genius.index.versions import load_index
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder, Features, query_text
from genius.models.fusion import Fusion
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.runtime import bf16_pays, keep_freed_memory, usable_device
from genius.schema import Modality, Query, SearchOptions, SearchResult, SearchTrace
from genius.search.batching import Batcher
from genius.search.beam import beam_search, widened_search
from genius.search.beam_state import Beams
from genius.search.checks import MAX_BEAMS, MAX_BUDGET, check_query, checked_k, checked_options
from genius.search.dense import flat_search
from genius.search.ood_detector import OODDetector
from genius.search.rerank import MAX_CANDIDATES, Candidates, Ranked, expand, rank
from genius.search.results import generated_of, hits_of
from genius.search.snapshots import Version, Versions
from genius.trie.pool import Pool

BEAMS_TOGETHER = 1600  # beams that are decoded together bound memory: 32 queries with 50 beams
MOST_TOGETHER = 64  # queries, however few their beams

Milliseconds = dict[str, float]  # by stage; of one query: its share of its batch


@dataclass(frozen=True)
class EncodedQueries:
    """What the models say of b queries."""

    features: Features | None  # None: the vectors were not encoded, but blended, say
    embeddings: Tensor  # (b, d) for dense search and re-ranking
    z: Tensor  # (b, d) fused: what the decoder is given
    milliseconds: Milliseconds = field(default_factory=dict)

    @classmethod
    def of_vectors(cls, embeddings: np.ndarray, z: np.ndarray) -> EncodedQueries:
        """Of vectors (b, d) each, as results carry them."""
        return cls(None, *(torch.as_tensor(vectors, dtype=torch.float32) for vectors in (embeddings, z)))

    def of(self, chosen: Tensor) -> EncodedQueries:
        """Some of them; chosen (c,) numbers."""
        return EncodedQueries(
            self.features and self.features.select(chosen), self.embeddings[chosen], self.z[chosen], self.milliseconds
        )


@dataclass(frozen=True)
class Retrieved:
    """The arrays behind the results of b queries; evaluation reads these."""

    beams: Beams
    candidates: Candidates
    ranked: Ranked
    milliseconds: Milliseconds


@dataclass(frozen=True)
class Asked:
    """What queries have in common that are answered together."""

    options: SearchOptions
    version: Version  # of the index


class Engine:
    """A run, ready to search; any number of threads may share it.

    It owns its device. `search` hands queries to one thread, which decodes together what waits at the same time
    (batching.py), so the memory of all searches is that of one batch: with 50 beams and T5-small about 20 MB a
    query (8.7 MB of keys and values, 1.6 MB of logits and activations, up to 10 MB of continuations), 32 queries
    at once.
    """

    def __init__(
        self,
        encoder: Encoder,
        fusion: Fusion,
        quantizer: ResidualQuantizer,
        decoder: IDDecoder,
        index: Index,
        device: torch.device | str = "cpu",
        ood_detector: OODDetector | None = None,
        run: Run | None = None,
    ):
        """run: as it was read when the parts were loaded; without it the engine takes up no newer index."""
        self.device = torch.device(device)
        self.encoder, self.fusion, self.quantizer, self.decoder = (
            model.to(self.device).eval() for model in (encoder, fusion, quantizer, decoder)
        )
        self.ood_detector, self._versions = ood_detector, Versions(index, self.device, run)
        self._decoder = IncrementalDecoder(self.decoder)
        self._fast = IncrementalDecoder(self.decoder, torch.bfloat16) if bf16_pays(self.device) else self._decoder
        self._models = threading.Lock()  # `encode` and `retrieve` may be called on any thread, too
        self._batcher = Batcher()

    @classmethod
    def load(cls, run: Path | str, device: str | None = None) -> Engine:
        """Open a run; device None takes a GPU if there is one.

        Raises UserError if a part is missing, damaged or belongs to other parts.
        """
        keep_freed_memory()
        chosen, opened = usable_device(device), Run(run)
        folder = opened.folder
        parts = (
            Encoder.load(folder("encoder")),
            Fusion.load(folder("fusion")),
            ResidualQuantizer.load(folder("quantizer")),
            IDDecoder.load(folder("decoder")),
            load_index(opened),
        )
        encoder, fusion, quantizer, decoder, index = parts
        _agree(
            run,
            "embedding size",
            encoder=encoder.dim,
            fusion=fusion.config.dim,
            quantizer=quantizer.config.dim,
            decoder=decoder.config.dim,
            index=index.config.dim,
        )
        _agree(
            run,
            "code sizes",
            quantizer=quantizer.config.code_sizes,
            decoder=decoder.config.code_sizes,
            index=index.code_sizes,
        )
        return cls(*parts, chosen, OODDetector.load(index.folder), opened)

    @property
    def index(self) -> Index:
        """The version that is searched: the newest that was taken up, but inside `snapshot` always the same."""
        return self._versions.current.index

    @property
    def pool(self) -> Pool:
        """All items of the index."""
        return self._versions.current.pool

    def reload(self) -> bool:
        """Search the newest index of the run from now on; whether there was a newer one.

        Searches at work end as they began. Raises UserError for an index that cannot be read, and goes on with the
        one at hand.
        """
        return self._versions.reload()

    def snapshot(self) -> AbstractContextManager[None]:
        """Inside the block its caller sees one version of the index; rows mean the same items throughout."""
        return self._versions.held()

    @torch.inference_mode()
    def encode(self, queries: Sequence[Query]) -> EncodedQueries:
        """Encode and fuse b queries, at least one; the caller chooses b."""
        texts, spent = [query_text(query.instruction, query.text) for query in queries], {}
        with self._models:
            with self._timed("encode", spent, len(queries)):
                features = self.encoder.encode([query.image for query in queries], texts)
                embeddings = features.embedding()
            with self._timed("fuse", spent, len(queries)):
                z = self.fusion(features)
        return EncodedQueries(features, embeddings, z, spent)

    def far(self, query: Query) -> bool | None:
        """Whether the query's picture looks unlike those of the index; None: it has none, or the run cannot say."""
        return None if query.image is None or self.ood_detector is None else self.ood_detector.far(query.image)

    def search(self, queries: Sequence[Query], options: SearchOptions | None = None) -> list[SearchResult]:
        """Answer each query, together with those that other threads ask at the same time.

        Raises UserError for a query or an option that cannot be.
        """
        asked = self._asked(options)
        for query in queries:
            check_query(query)
        return self._batcher.run(self._search, queries, asked, queries_together(asked.options.beams))

    def search_encoded(self, encoded: EncodedQueries, options: SearchOptions | None = None) -> list[SearchResult]:
        """As `search`, for queries of which the vectors are known. Raises UserError for an option that cannot be."""
        asked, alone = self._asked(options), torch.arange(len(encoded.z)).split(1)
        return self._batcher.run(
            self._search_encoded, [encoded.of(query) for query in alone], asked, queries_together(asked.options.beams)
        )

    def pool_of(self, modality: Modality | None) -> Pool:
        """What a search may find: all items, or those of one modality, collected when first asked for.

        Raises UserError if there are none.
        """
        return self._versions.current.pool_of(modality)

    def retrieve(self, encoded: EncodedQueries, options: SearchOptions, pool: Pool | None = None) -> Retrieved:
        """The part of a search after encoding, for b queries at once, as arrays; `search` goes this way too.

        pool: what may be found, its trie on this device; by default what the options leave of the index.
        """
        version, spent, count = self._versions.current, dict(encoded.milliseconds), len(encoded.z)
        pool = pool or version.pool_of(options.modality)
        weight = options.decoder_weight
        weight = self.decoder.config.decoder_weight if weight is None else weight
        mode = mode_of(options)
        decoder = self._fast if mode == "fast" else self._decoder
        how = {"mode": mode, "decoder_weight": weight, "budget": options.budget, "trace": options.trace}
        with self._models, self._timed("beam", spent, count):
            if options.widen:
                beams = widened_search(decoder, encoded.z, pool.trie, options.beams, MAX_BEAMS, **how)
            else:
                beams = beam_search(
                    decoder, encoded.z, pool.trie, options.beams, **how, certify=options.certify or mode == "exact"
                )
        with self._timed("expand", spent, count):
            candidates = expand(beams, pool.table, MAX_BUDGET if mode == "fast" else MAX_CANDIDATES)
        with self._timed("rerank", spent, count):
            ranked = rank(
                candidates, version.index.embeddings, encoded.embeddings.cpu().numpy(), options.k, options.rerank
            )
        return Retrieved(beams, candidates, ranked, spent)

    def dense(self, queries: Sequence[Query], k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest items by embedding, exactly: (cosines, rows), (b, k) each; see `flat_search`."""
        k = checked_k(k)
        for query in queries:
            check_query(query)
        return flat_search(self.index.embeddings, self.encode(queries).embeddings.cpu().numpy(), k)

    def _asked(self, options: SearchOptions | None) -> Asked:
        """Raises UserError for what cannot be. What the options leave of the index is then at hand."""
        asked = Asked(checked_options(options or SearchOptions()), self._versions.current)
        asked.version.pool_of(asked.options.modality)
        return asked

    def _search(self, queries: Sequence[Query], asked: Asked) -> list[SearchResult]:
        with self._versions.held(asked.version):
            return self._answers(self.encode(queries), queries, asked.options)

    def _search_encoded(self, alone: Sequence[EncodedQueries], asked: Asked) -> list[SearchResult]:
        embeddings, z = (
            torch.cat(vectors).to(self.device)
            for vectors in ([query.embeddings for query in alone], [query.z for query in alone])
        )
        with self._versions.held(asked.version):
            return self._answers(EncodedQueries(None, embeddings, z), [Query()] * len(alone), asked.options)

    def _answers(self, encoded: EncodedQueries, queries: Sequence[Query], options: SearchOptions) -> list[SearchResult]:
        with self._models:
            query_codes = self.quantizer.encode(encoded.z).tolist()
        table, found = self.pool_of(options.modality).table, self.retrieve(encoded, options)
        spent = dict(found.milliseconds)
        with self._timed("fetch", spent, len(queries)):
            hits, generated = hits_of(self.index, found.ranked, table), generated_of(found.beams, table)
            far = [self.far(query) for query in queries]
        embeddings, z = encoded.embeddings.cpu().numpy(), encoded.z.cpu().numpy()
        modality, certified = found.beams.first.exp().cpu().numpy(), found.beams.certified(options.beams)
        return [
            SearchResult(
                hits=hits[i],
                generated=generated[i],
                embedding=embeddings[i],
                z=z[i],
                query_codes=tuple(query_codes[i]),
                modality_probabilities=modality[i],
                candidates=int(found.candidates.counts[i]),
                mode=mode_of(options),
                decoded=int(found.beams.rows[i]),
                certified=None if certified is None else bool(certified[i]),
                far=far[i],
                milliseconds=dict(spent),
                trace=SearchTrace(found.beams.trace[i]) if found.beams.trace else None,
            )
            for i in range(len(queries))
        ]

    @contextmanager
    def _timed(self, stage: str, spent: Milliseconds, queries: int) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        spent[stage] = (time.perf_counter() - start) * 1000 / queries


def queries_together(beams: int) -> int:
    """How many queries one batch holds."""
    return min(max(BEAMS_TOGETHER // beams, 1), MOST_TOGETHER)


def mode_of(options: SearchOptions) -> str:
    """The mode that a search by these options takes. A trace shows every level, so it is of an exact search."""
    return options.mode or ("set" if options.rerank and not options.trace else "exact")


def _agree(run: Path | str, what: str, **parts: object) -> None:
    if len(set(parts.values())) > 1:
        raise UserError(
            f"the parts of {run} have different {what} "
            f"({', '.join(f'{name} {value}' for name, value in parts.items())}); "
            f"train it again: python -m training COLLECTION {run}"
        )
