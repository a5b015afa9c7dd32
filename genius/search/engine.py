"""The engine: a run that any number of threads may search.

All models run on one thread (batching.py), which takes the stages of a search (retriever.py). A query's picture is then
judged on the caller's thread (stage "judge"): whether it looks like those of the index.

Shapes: b queries, d embedding dim.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from PIL.Image import Image

from genius.errors import UserError
from genius.index.store import Index
from genius.index.versions import load_index
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.models.ranker import Ranker
from genius.reading import one_line
from genius.run import Run
from genius.runtime import usable_device
from genius.schema import Modality, Query, SearchOptions, SearchResult
from genius.search.batching import ANYONE, Batcher, Caller
from genius.search.checks import check_prefix, check_query, checked_k, checked_options
from genius.search.dense import flat_search
from genius.search.ood_detector import OODDetector
from genius.search.retrieval import EncodedQueries, Retrieval
from genius.search.retriever import Retriever
from genius.search.snapshots import Version, Versions
from genius.trie.ids import fields, read_level
from genius.trie.pool import Pool

BATCH_BEAMS = 1600  # beams of a batch, which bound its memory: 32 queries with 50 beams
MAX_BATCH = 64  # queries, however few their beams
POLL_SECONDS = 2.0  # between two looks at the run's manifest

T = TypeVar("T")


@dataclass(frozen=True)
class BatchOptions:
    """What the queries of one batch have in common."""

    options: SearchOptions
    version: Version  # of the index


class Engine:
    """A run, ready to search; any number of threads may share it.

    Models run on one thread, which decodes together the queries that wait at the same time (batching.py). So the
    memory of all searches is that of one batch: with 50 beams and T5-small about 20 MB per query (8.7 MB of keys and
    values, 1.6 MB of logits and activations, up to 10 MB of continuations), 32 queries at once.
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
        decoder_dtype: str = "float32",
        ranker: Ranker | None = None,
    ):
        """run: as it was read when the parts were loaded; without it `reload` finds no newer index. Where its manifest
        says "normalize_embeddings", as for published weights, re-ranking normalizes the stored embeddings again, as the
        published code does.

        decoder_dtype: arithmetic of the decoder in modes set and fast, one of DECODER_DTYPES; exact and certified
        searches compute in float32. Raises UserError for an unknown one, and for int8 on a GPU.

        ranker: orders candidates unless a search asks for the published order by cosine.
        """
        self.device, self.ood_detector, self.run = torch.device(device), ood_detector, run
        normalize = run is not None and run.manifest.get("normalize_embeddings", False)
        self.retriever = Retriever(encoder, fusion, quantizer, decoder, self.device, decoder_dtype, ranker, normalize)
        self.encoder, self.fusion = self.retriever.encoder, self.retriever.fusion
        self.quantizer, self.decoder = self.retriever.quantizer, self.retriever.decoder
        self.decoder_dtype = decoder_dtype
        self.has_ranker = ranker is not None  # which then orders results unless a search asks for another order
        self._versions = Versions(index, self.device, run)
        self._batcher = Batcher()

    @classmethod
    def load(cls, run: Path | str, device: str | None = None, decoder_dtype: str = "float32") -> Engine:
        """Open a run. device None: a GPU if there is one. decoder_dtype: see `__init__`.

        Raises UserError if a part is missing, damaged or belongs to other parts.
        """
        chosen, opened = usable_device(device), Run(run)
        folder = opened.folder
        parts = (
            Encoder.load(folder("encoder")).for_inference(),
            Fusion.load(folder("fusion")),
            ResidualQuantizer.load(folder("quantizer")),
            IDDecoder.load(folder("decoder")),
            load_index(opened),
        )
        encoder, fusion, quantizer, decoder, index = parts
        ranker = Ranker.load(folder("ranker")) if opened.has("ranker") else None
        _require_equal(
            run,
            "embedding size",
            encoder=encoder.dim,
            fusion=fusion.config.dim,
            quantizer=quantizer.config.dim,
            decoder=decoder.config.dim,
            index=index.config.dim,
            **({} if ranker is None else {"ranker": ranker.config.dim}),
        )
        _require_equal(
            run,
            "code sizes",
            quantizer=quantizer.config.code_sizes,
            decoder=decoder.config.code_sizes,
            index=index.code_sizes,
        )
        first = read_level(index.packed, fields(index.code_sizes)[0])
        if quantizer.config.modality_code == "forced" and (first != index.modalities).any():
            raise UserError(f"an item of {run} has the ID of another modality; build the index again")
        engine = cls(*parts, chosen, OODDetector.load(index.folder), opened, decoder_dtype, ranker)
        engine._check(run)
        return engine

    def _check(self, run: Path | str) -> None:
        """Search once by each decoder: finite weights may still compute what is not finite. Raises UserError."""
        checked = [SearchOptions(1, 1)]
        if self.decoder_dtype != "float32":
            checked.append(SearchOptions(1, 1, mode="exact"))  # which computes in float32
        try:
            results = [
                result
                for options in checked
                for result in self._search([Query(text="a")], BatchOptions(options, self._versions.current))
            ]
            numbers = [
                values
                for result in results
                for values in (
                    result.z,
                    result.embedding,
                    [hit.score for hit in result.hits],
                    [hit.cosine for hit in result.hits],
                )
            ]
            sound = all(result.hits for result in results) and all(np.isfinite(values).all() for values in numbers)
        except (RuntimeError, ValueError, IndexError, ArithmeticError) as error:
            raise UserError(f"the parts of {run} do not work together ({one_line(error)}); train it again") from error
        if not sound:
            raise UserError(f"the parts of {run} compute numbers that are not finite; train it again")

    @property
    def index(self) -> Index:
        """The newest version that was loaded; inside `snapshot` always the same."""
        return self._versions.current.index

    @property
    def pool(self) -> Pool:
        """All items of the index."""
        return self._versions.current.pool

    def pool_of(self, modality: Modality | None) -> Pool:
        """All items of the index, or those of one modality, collected on first use.

        Raises UserError if there are none.
        """
        return self._versions.current.pool_of(modality)

    @property
    def first_code_is_modality(self) -> bool:
        """Whether the first code of every ID is its modality, as published; otherwise the quantizer learned it."""
        return self.quantizer.config.modality_code == "forced"

    def ranking_of(self, options: SearchOptions) -> str | None:
        """What results are ordered by with these options, one of RANKINGS; None: by ID score.

        Raises UserError if they ask for a ranker that the run does not have.
        """
        return self.retriever.ranking_of(options)

    def mode_of(self, options: SearchOptions) -> str:
        """The mode that these options mean."""
        return self.retriever.mode_of(options)

    def reload(self) -> bool:
        """Search the newest index of the run from now on; returns whether there was a newer one.

        Searches that have started finish on the old one. Raises UserError for an index that cannot be read, and keeps
        the current one.
        """
        return self._versions.reload()

    def snapshot(self) -> AbstractContextManager[None]:
        """Inside the block its caller sees one version of the index; rows mean the same items throughout."""
        return self._versions.snapshot()

    def follow(self, every: float = POLL_SECONDS) -> None:
        """Call `reload` in the background at this interval, in seconds, while the engine lives.

        An error is logged once, and tried again.
        """
        threading.Thread(target=_follow, args=(weakref.ref(self), every), name="reload", daemon=True).start()

    def run_on_engine_thread(self, function: Callable[[], T]) -> T:
        """function() on the thread that runs the models, between two batches of searches; keep it short."""
        return self._batcher.call(function)

    def encode(self, queries: Sequence[Query]) -> EncodedQueries:
        """Encode and fuse b queries, at least one, as one batch."""
        return self._batcher.call(partial(self.retriever.encode, queries))

    def cache_image(self, image: Image, caller: Caller = ANYONE) -> None:
        """Encode an image that will probably be searched with, so that the search need not wait for the image tower.

        Raises concurrent.futures.CancelledError if the caller left before.
        """
        self._batcher.run(self._cache_images, [image], None, 1, caller)

    def forget_images(self) -> None:
        """Encode the next pictures anew, also those of earlier searches, so that times measured then are true."""
        self._batcher.call(self.retriever.forget_images)

    def is_out_of_distribution(self, query: Query) -> bool | None:
        """Whether the query's image looks unlike those of the index; None without an image or a detector."""
        if query.image is None or self.ood_detector is None:
            return None
        return self.ood_detector.is_out_of_distribution(query.image)

    def search(
        self, queries: Sequence[Query], options: SearchOptions | None = None, caller: Caller = ANYONE
    ) -> list[SearchResult]:
        """Answer each query, in batches with those of other threads.

        Raises UserError for an invalid query or option, and concurrent.futures.CancelledError if the caller has left
        before its last query was answered.
        """
        batch = self._batch_options(options)
        for query in queries:
            check_query(query)
        results = self._batcher.run(self._search, queries, batch, batch_size(batch.options.beams), caller)
        return [self._judged(query, result) for query, result in zip(queries, results, strict=True)]

    def search_encoded(
        self, encoded: EncodedQueries, options: SearchOptions | None = None, caller: Caller = ANYONE
    ) -> list[SearchResult]:
        """As `search`, for queries whose vectors are known. Raises UserError for an invalid option."""
        batch = self._batch_options(options)
        queries = [encoded.select(row) for row in torch.arange(len(encoded.z)).split(1)]
        return self._batcher.run(self._search_encoded, queries, batch, batch_size(batch.options.beams), caller)

    def retrieve(self, encoded: EncodedQueries, options: SearchOptions, pool: Pool | None = None) -> Retrieval:
        """The part of a search after encoding, for b queries as one batch, as arrays; `search` uses it too.

        pool: the candidates, with their trie on this device; None: those of the index that the options allow.
        """
        version = self._versions.current
        pool = pool or version.pool_of(options.modality)
        return self._batcher.call(partial(self.retriever.retrieve, encoded, options, version, pool))

    def reorder(
        self, found: Retrieval, encoded: EncodedQueries, options: SearchOptions, pool: Pool | None = None
    ) -> Retrieval:
        """What `retrieve` found, in the order that other options ask for, without another search.

        options: those of the search, but for `rerank`, `ranking` and `k`.
        """
        version = self._versions.current
        pool = pool or version.pool_of(options.modality)
        return self._batcher.call(partial(self.retriever.reorder, found, encoded, options, version, pool))

    def dense(self, queries: Sequence[Query], k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest items by embedding, exactly: (cosines, rows), (b, k) each; see `flat_search`."""
        k = checked_k(k)
        for query in queries:
            check_query(query)
        return flat_search(self.index.embeddings, self.encode(queries).embeddings.cpu().numpy(), k)

    def _batch_options(self, options: SearchOptions | None) -> BatchOptions:
        """Check the options and build the pool that they need. Raises UserError for an invalid option."""
        batch = BatchOptions(checked_options(options or SearchOptions()), self._versions.current)
        self.ranking_of(batch.options)
        check_prefix(batch.options.prefix, batch.version.pool_of(batch.options.modality).table)
        return batch

    def _search(self, queries: Sequence[Query], batch: BatchOptions) -> list[SearchResult]:
        return self.retriever.results(self.retriever.encode(queries), batch.options, batch.version)

    def _search_encoded(self, queries: Sequence[EncodedQueries], batch: BatchOptions) -> list[SearchResult]:
        embeddings, z = (
            torch.cat(vectors).to(self.device)
            for vectors in ([query.embeddings for query in queries], [query.z for query in queries])
        )
        return self.retriever.results(EncodedQueries(None, embeddings, z), batch.options, batch.version)

    def _cache_images(self, images: Sequence[Image], _: None) -> list[None]:
        self.retriever.cache_images(images)
        return [None] * len(images)

    def _judged(self, query: Query, result: SearchResult) -> SearchResult:
        """The result with a word on the query's picture, if it has one and the run has a detector."""
        start = time.perf_counter()
        judgment = self.is_out_of_distribution(query)
        if judgment is None:
            return result
        spent = (time.perf_counter() - start) * 1000
        return replace(result, out_of_distribution=judgment, milliseconds=result.milliseconds | {"judge": spent})


def batch_size(beams: int) -> int:
    """How many queries with this beam size are decoded together."""
    return min(max(BATCH_BEAMS // beams, 1), MAX_BATCH)


def _follow(reference: weakref.ref[Engine], every: float) -> None:
    last_error = ""
    while (engine := reference()) is not None:
        try:
            engine.reload()
        except Exception as error:
            if str(error) != last_error:
                logging.getLogger(__name__).warning("the newest index was not loaded: %s", error)
            last_error = str(error)
        del engine
        time.sleep(every)


def _require_equal(run: Path | str, what: str, **parts: object) -> None:
    if len(set(parts.values())) > 1:
        raise UserError(
            f"the parts of {run} disagree about the {what} "
            f"({', '.join(f'{name} {value}' for name, value in parts.items())}); "
            f"train it again: python -m training COLLECTION {run}"
        )
