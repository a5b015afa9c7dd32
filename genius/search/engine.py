"""The engine: a run that any number of threads may search.

All models run on one thread (batching.py), which takes the stages of a search (retriever.py).

Shapes: b queries, d embedding dim.
"""

import logging
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import torch
from PIL.Image import Image

from genius.errors import UserError
from genius.hub import local_run
from genius.index.store import Index, load_index
from genius.models.absent import NoCodewords, NoEncoder, load_encoder, load_quantizer
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.models.reader import Reader
from genius.reading import one_line
from genius.run import Run
from genius.runtime import usable_device
from genius.schema import UNREAD, Item, Query, SearchOptions, SearchResult
from genius.search.batching import engine_thread
from genius.search.checks import (
    ResolvedOptions,
    checked_k,
    checked_options,
    checked_queries,
    resolve_options,
    rows_below,
    with_picture,
)
from genius.search.dense import flat_search
from genius.search.match import MatchWords
from genius.search.request_reader import RequestReader
from genius.search.retrieval import EncodedQueries, Retrieval
from genius.search.retriever import Retriever
from genius.search.scan import compiling
from genius.search.snapshots import Snapshot, Snapshots
from genius.trie.ids import fields, read_level
from genius.trie.pool import Pool

BATCH_BEAMS = 1600  # beams of a batch, which bound its memory: 32 queries with 50 beams
MAX_BATCH = 64  # queries, however few their beams
POLL_SECONDS = 2.0  # between two looks at the run's manifest


@dataclass(frozen=True)
class BatchOptions:
    """What the queries of one batch have in common."""

    options: ResolvedOptions
    snapshot: Snapshot  # of the index


class Engine:
    """A run, ready to search; any number of threads may share it.

    The models of all engines run on one thread, which decodes together the queries of a run that
    wait at the same time (batching.py). So the memory of all searches is that of one batch: with 50
    beams and T5-small about 20 MB per query (8.7 MB of keys and values, 1.6 MB of logits and
    activations, up to 10 MB of continuations), 32 queries at once.
    """

    retriever_type: type[Retriever] = Retriever  # another one where parts of a search run elsewhere

    def __init__(
        self,
        encoder: Encoder | NoEncoder,
        fusion: Fusion,
        quantizer: ResidualQuantizer | NoCodewords,
        decoder: IDDecoder,
        index: Index,
        device: torch.device | str = "cpu",
        run: Run | None = None,
        reader: Reader | None = None,
    ):
        """run: as it was read when the parts were loaded; without it no newer index is found. Where
        its manifest says "normalize_embeddings", as for published weights, re-ranking normalizes
        the stored embeddings again, as the published code does.

        reader: reads what queries ask for; without one an instruction and a text are one sentence
        for the encoder.
        """
        self.device = torch.device(device)
        self.run = run
        normalize = run is not None and run.manifest.get("normalize_embeddings", False)
        request_reader = None
        if reader is not None and isinstance(encoder, Encoder):
            request_reader = RequestReader(reader, encoder.to(self.device), index.instructions)
        self.has_reader = request_reader is not None
        self.retriever = self.retriever_type(
            encoder, fusion, quantizer, decoder, self.device, normalize, request_reader
        )
        self.encoder, self.fusion = encoder, fusion
        self.quantizer, self.decoder = quantizer, decoder
        self.match_words = MatchWords(run)
        self.snapshots = Snapshots(index, self.device, run)
        self.batcher = engine_thread()

    @classmethod
    def load(cls, run: Path | str, device: str | None = None) -> Self:
        """Open a run: a folder, or hf://USER/NAME on the Hugging Face hub. device None: a GPU if
        there is one.

        Raises UserError if a part is missing, damaged or belongs to other parts.
        """
        # OpenMP's threads end with it; batching.py says why they should
        with ThreadPoolExecutor(1, "load") as loader:
            return loader.submit(cls._load, run, device).result()

    @classmethod
    def _load(cls, run: Path | str, device: str | None) -> Self:
        chosen = usable_device(device)
        opened = Run(local_run(run))
        folder = opened.folder
        quantizer = load_quantizer(folder("quantizer"))
        if chosen.type == "cpu" and not isinstance(quantizer, NoCodewords):
            compiling(quantizer.config.code_sizes)  # while the models load
        encoder = load_encoder(folder("encoder")).for_inference()
        fusion = Fusion.load(folder("fusion"))
        decoder = IDDecoder.load(folder("decoder"))
        index = load_index(opened)
        reader = Reader.load(folder("reader")) if opened.has("reader") else None
        parts: dict[str, Any] = {
            "fusion": fusion,
            "quantizer": quantizer,
            "decoder": decoder,
            "index": index,
        }
        dims = {"encoder": encoder.dim} | {name: part.config.dim for name, part in parts.items()}
        _require_equal(run, "embedding size", dims)
        with_codes = ("quantizer", "decoder", "index")
        _require_equal(
            run, "code sizes", {name: parts[name].config.code_sizes for name in with_codes}
        )
        first = read_level(index.packed, fields(index.code_sizes)[0])
        engine = cls(encoder, fusion, quantizer, decoder, index, chosen, opened, reader)
        if engine.first_code_is_modality and (first != index.modalities).any():
            raise UserError(
                f"an item of {run} has the ID of another modality; build the index again"
            )
        engine._check(run)
        return engine

    def _check(self, run: Path | str) -> None:
        """Search once: finite weights may still compute what is not finite. Raises UserError."""
        try:
            batch = BatchOptions(self.resolved(SearchOptions(1, 1)), self.snapshots.current)
            if self.has_encoder:
                (result,) = self._answer([Query(text="a")], batch)
            else:
                (result,) = self._answer_encoded([self.vectors_of(0)], batch)
            scores = [number for hit in result.hits for number in (*hit.log_probs, hit.cosine)]
            scores += [found.score for found in result.generated]
            sound = bool(result.hits) and bool(
                np.isfinite(np.concatenate([result.z, result.embedding, scores])).all()
            )
        except (RuntimeError, ValueError, IndexError, ArithmeticError) as error:
            raise UserError(
                f"the parts of {run} do not work together ({one_line(error)}); train it again"
            ) from error
        if not sound:
            raise UserError(
                f"the parts of {run} compute numbers that are not finite; train it again"
            )

    @property
    def index(self) -> Index:
        """Of the newest snapshot that was loaded, or of the one that is held."""
        return self.snapshots.current.index

    @property
    def pool(self) -> Pool:
        """All items of the index."""
        return self.snapshots.current.pool

    @property
    def has_encoder(self) -> bool:
        """Whether words and pictures can be searched with; otherwise only items can, by
        `vectors_of` them.
        """
        return not isinstance(self.encoder, NoEncoder)

    @property
    def has_codewords(self) -> bool:
        """Whether codes stand for vectors, so that IDs can be scanned and compared by geometry."""
        return not isinstance(self.quantizer, NoCodewords)

    @torch.inference_mode()
    def vectors_of(self, row: int) -> EncodedQueries:
        """An item of a run without an encoder as a query: its embedding, which is its fused
        feature, too.
        """
        vector = np.asarray(self.index.embeddings[row : row + 1], dtype=np.float32)
        return EncodedQueries.from_vectors(vector, vector)

    @property
    def first_code_is_modality(self) -> bool:
        """Whether the first code of every ID is its modality, as published; otherwise the quantizer
        learned it.
        """
        return self.retriever.first_code_is_modality

    def resolved(self, options: SearchOptions) -> ResolvedOptions:
        """The options as this run means them. Raises UserError if they ask for what it does not
        have.
        """
        resolved = resolve_options(
            options, self.index.fused is not None, self.decoder.config.decoder_weight
        )
        if self.has_codewords:
            return resolved
        if resolved.mode == "scan":
            raise UserError(NoCodewords.sentence)
        return replace(resolved, mode="generate", decoder_weight=1.0)

    def follow(self, every: float = POLL_SECONDS) -> None:
        """Look for a newer index in the background at this interval, in seconds, while the engine
        lives.

        An error is logged once, and tried again.
        """
        threading.Thread(
            target=_follow, args=(weakref.ref(self), every), name="reload", daemon=True
        ).start()

    def items(self, *codes: int) -> list[Item]:
        """The items whose IDs begin with these codes. Raises UserError if there is none."""
        return self.index.items(rows_below(codes, self.pool.table))

    def encode(self, queries: Sequence[Query]) -> EncodedQueries:
        """Encode and fuse b queries as one batch. Raises UserError if there is none."""
        if not queries:
            raise UserError("There is no query to encode; give at least one.")
        opened = [with_picture(query) for query in queries]
        return self.batcher.call(self.retriever.encode, opened, self.snapshots.current.kinds)

    def cache_image(self, image: Image) -> None:
        """Encode an image that will probably be searched with, so that the search need not wait for
        the image tower.
        """
        self.encode([Query(image=image, reading=UNREAD)])

    def forget_images(self) -> None:
        """Encode the next pictures anew, also those of earlier searches, so that times measured
        then are true.
        """
        self.batcher.call(self.retriever.cache.clear)

    @overload
    def search(
        self, queries: str | Query, options: SearchOptions | None = None
    ) -> SearchResult: ...
    @overload
    def search(
        self, queries: Sequence[Query], options: SearchOptions | None = None
    ) -> list[SearchResult]: ...
    def search(
        self, queries: str | Query | Sequence[Query], options: SearchOptions | None = None
    ) -> SearchResult | list[SearchResult]:
        """Answer one query, or each of several in batches with those of other threads. A text alone
        is a query, too.

        Raises UserError for an invalid query or option.
        """
        if isinstance(queries, str):
            queries = Query(queries)
        if isinstance(queries, Query):
            return self.search([queries], options)[0]
        batch = self._batch_options(options)
        queries = checked_queries(queries)
        results = self.batcher.run(self._answer, queries, batch, batch_size(batch.options.beams))
        if batch.options.prefix or batch.options.added:
            return results  # of some items, which are far from what the others would have been
        return [
            replace(result, match=self.match_words.word(query, result))
            for query, result in zip(queries, results, strict=True)
        ]

    def search_encoded(
        self, encoded: EncodedQueries, options: SearchOptions | None = None
    ) -> list[SearchResult]:
        """As `search`, for queries whose vectors are known. Raises UserError for an invalid
        option.
        """
        batch = self._batch_options(options)
        queries = [encoded.select(row) for row in torch.arange(len(encoded.z)).split(1)]
        return self.batcher.run(
            self._answer_encoded, queries, batch, batch_size(batch.options.beams)
        )

    def retrieve(
        self, encoded: EncodedQueries, options: SearchOptions, pool: Pool | None = None
    ) -> Retrieval:
        """The part of a search after encoding, for b queries as one batch, as arrays; `search` uses
        it too.

        pool: the candidates, with their trie on this device; None: those of the index that the
        options allow.
        """
        resolved = self.resolved(options)
        snapshot = self.snapshots.current
        # here, so that only its callers wait while it is collected
        pool = pool or snapshot.pool_of(options)
        return self.batcher.call(self.retriever.retrieve, encoded, resolved, snapshot, pool)

    def reorder(self, retrieval: Retrieval, options: SearchOptions) -> Retrieval:
        """What `retrieve` returned, in the order that other options ask for, without another
        search.

        options: those of the search, but for `order` and `k`.
        """
        return self.batcher.call(self.retriever.reorder, retrieval, self.resolved(options))

    def code_log_probs(self, z: np.ndarray, codes: Sequence[int]) -> list[np.ndarray]:
        """Log-probabilities of all codes of each level (k,) after those before, of one ID (M,) for
        one query z (d,).
        """
        given = torch.as_tensor(z, dtype=torch.float32, device=self.device)[None], np.array([codes])
        return [
            level[0].cpu().numpy()
            for level in self.batcher.call(self.retriever.code_log_probs, *given)
        ]

    def dense(self, queries: Sequence[Query], k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest items by embedding, exactly: (cosines, rows), (b, k) each; see
        `flat_search`.
        """
        k = checked_k(k)
        queries = checked_queries(queries)
        return flat_search(self.index.embeddings, self.encode(queries).embeddings.cpu().numpy(), k)

    def _batch_options(self, options: SearchOptions | None) -> BatchOptions:
        """Check the options and build the pool that they need. Raises UserError for an invalid
        option.
        """
        batch = BatchOptions(
            self.resolved(checked_options(options or SearchOptions())), self.snapshots.current
        )
        rows_below(batch.options.prefix, batch.snapshot.pool_of(batch.options).table)
        return batch

    def _answer(self, queries: Sequence[Query], batch: BatchOptions) -> list[SearchResult]:
        kinds = (
            batch.snapshot.kinds if batch.options.modality is None else (batch.options.modality,)
        )
        return self.retriever.results(
            self.retriever.encode(queries, kinds), batch.options, batch.snapshot
        )

    def _answer_encoded(
        self, queries: Sequence[EncodedQueries], batch: BatchOptions
    ) -> list[SearchResult]:
        encoded = EncodedQueries.join(queries, self.device)
        return self.retriever.results(encoded, batch.options, batch.snapshot)


def batch_size(beams: int) -> int:
    """How many queries with this beam size are decoded together."""
    return min(max(BATCH_BEAMS // beams, 1), MAX_BATCH)


def _follow(reference: weakref.ref[Engine], every: float) -> None:
    last_error = ""
    while (engine := reference()) is not None:
        try:
            engine.snapshots.reload()
        except Exception as error:
            if str(error) != last_error:
                logging.getLogger(__name__).warning("the newest index was not loaded: %s", error)
            last_error = str(error)
        del engine
        time.sleep(every)


def _require_equal(run: Path | str, what: str, parts: Mapping[str, object]) -> None:
    if len(set(parts.values())) > 1:
        raise UserError(
            f"the parts of {run} disagree about the {what} "
            f"({', '.join(f'{name} {value}' for name, value in parts.items())}); "
            f"train it again: python -m training COLLECTION {run}"
        )
