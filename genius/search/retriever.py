"""The stages of a search, each timed, on the thread that calls:

    encode -> fuse -> beam -> expand -> rerank -> fetch

Shapes: b queries, d embedding dim.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from PIL.Image import Image

from genius.errors import UserError
from genius.models.decoder import IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.incremental_decoder import IncrementalDecoder
from genius.models.quantizer import ResidualQuantizer
from genius.models.ranker import Ranker
from genius.schema import DECODER_DTYPES, Query, SearchOptions, SearchResult, SearchTrace
from genius.search.beam_state import Beams
from genius.search.candidate_search import CandidateSearch
from genius.search.candidates import Candidates
from genius.search.checks import MAX_WIDENED_BEAMS
from genius.search.image_feature_cache import ImageFeatureCache
from genius.search.ranker_scorer import RankerScorer
from genius.search.rerank import RankedCandidates, fetch_hits, generated_ids, rank_candidates
from genius.search.retrieval import EncodedQueries, Milliseconds, Retrieval
from genius.search.snapshots import Version
from genius.texts import query_text
from genius.trie.pool import Pool


class Retriever:
    """The models of a run, ready for inference; only one thread at a time may use it."""

    def __init__(
        self,
        encoder: Encoder,
        fusion: Fusion,
        quantizer: ResidualQuantizer,
        decoder: IDDecoder,
        device: torch.device,
        decoder_dtype: str = "float32",
        ranker: Ranker | None = None,
        normalize: bool = False,
    ):
        """decoder_dtype, ranker: see Engine. normalize: re-rank by normalized embeddings, which the index may not hold.

        Raises UserError for an unknown decoder_dtype, and for int8 on a GPU.
        """
        if decoder_dtype not in DECODER_DTYPES:
            raise UserError(f"decoder_dtype must be one of {', '.join(DECODER_DTYPES)}, not {decoder_dtype!r}.")
        if decoder_dtype == "int8" and device.type != "cpu":
            raise UserError(f"The decoder computes in int8 on CPUs only; on {device} choose float32 or bfloat16.")
        self.device, self.decoder_dtype, self._normalize = device, decoder_dtype, normalize
        self.encoder, self.fusion, self.quantizer, self.decoder = (
            model.to(device).eval() for model in (encoder, fusion, quantizer, decoder)
        )
        self._image_features = ImageFeatureCache(self.encoder)
        self.searches = {
            dtype: CandidateSearch(IncrementalDecoder(self.decoder, getattr(torch, dtype)))
            for dtype in {"float32", decoder_dtype}
        }
        codewords = self.searches[decoder_dtype].codewords
        self._ranker_scorer = None if ranker is None else RankerScorer(ranker.to(device).eval(), codewords)

    def ranking_of(self, options: SearchOptions) -> str | None:
        """What results are ordered by with these options, one of RANKINGS; None: by ID score.

        Raises UserError if they ask for a ranker that the run does not have.
        """
        if options.ranking == "ranker" and self._ranker_scorer is None:
            raise UserError("This run has no ranker; choose cosine, or train one with python -m training.ranker.")
        if not options.rerank:
            return None
        return options.ranking or ("cosine" if self._ranker_scorer is None else "ranker")

    def mode_of(self, options: SearchOptions) -> str:
        """The mode that these options mean.

        A trace shows every level, so by default it comes from an exact search. A ranker finds more among the many
        candidates of mode fast; the cosine, which orders them as dense search does, among the few of mode set.
        """
        if options.mode or not options.rerank or options.trace:
            return options.mode or "exact"
        return "fast" if self.ranking_of(options) == "ranker" else "set"

    def dtype_of(self, options: SearchOptions) -> str:
        """The arithmetic of the decoder in a search with these options: what promises exact results needs float32."""
        precise = self.mode_of(options) == "exact" or options.certify or options.widen
        return "float32" if precise else self.decoder_dtype

    @torch.inference_mode()
    def encode(self, queries: Sequence[Query]) -> EncodedQueries:
        """Encode and fuse b queries as one batch."""
        texts, milliseconds = [query_text(query.instruction, query.text) for query in queries], {}
        with self._timed("encode", milliseconds, len(queries)):
            features = self._image_features.encode([query.image for query in queries], texts)
            embeddings = features.embedding()
        with self._timed("fuse", milliseconds, len(queries)):
            z = self.fusion(features)
        return EncodedQueries(features, embeddings, z, milliseconds)

    @torch.inference_mode()
    def cache_images(self, images: Sequence[Image]) -> None:
        """Encode images that will probably be searched with."""
        self._image_features.encode(images, [""] * len(images))

    def forget_images(self) -> None:
        """The next search with a picture encodes it anew."""
        self._image_features.clear()

    def retrieve(self, encoded: EncodedQueries, options: SearchOptions, version: Version, pool: Pool) -> Retrieval:
        """From b encoded queries to ranked candidates of the pool, as arrays."""
        milliseconds, count = dict(encoded.milliseconds), len(encoded.z)
        trie = pool.trie.below(options.prefix)
        weight = options.decoder_weight
        weight = self.decoder.config.decoder_weight if weight is None else weight
        mode = self.mode_of(options)
        search = self.searches[self.dtype_of(options)]
        with self._timed("beam", milliseconds, count):
            beams = search.find_beams(
                encoded.z,
                trie,
                options.beams,
                mode,
                options.budget,
                widen_to=MAX_WIDENED_BEAMS if options.widen else None,
                certify=options.certify or mode == "exact",
                decoder_weight=weight,
                trace=options.trace,
            )
        with self._timed("expand", milliseconds, count):
            candidates = search.find_candidates(beams, mode, pool, version.norms, encoded.z, options.budget)
        with self._timed("rerank", milliseconds, count):
            ranked = self._rank(beams, candidates, encoded, options, version, pool)
        return Retrieval(beams, candidates, ranked, milliseconds)

    def reorder(
        self, found: Retrieval, encoded: EncodedQueries, options: SearchOptions, version: Version, pool: Pool
    ) -> Retrieval:
        """What `retrieve` found, ranked as other options ask for."""
        milliseconds = dict(found.milliseconds)
        with self._timed("rerank", milliseconds, len(encoded.z)):
            ranked = self._rank(found.beams, found.candidates, encoded, options, version, pool)
        return replace(found, ranked=ranked, milliseconds=milliseconds)

    def _rank(
        self,
        beams: Beams,
        candidates: Candidates,
        encoded: EncodedQueries,
        options: SearchOptions,
        version: Version,
        pool: Pool,
    ) -> RankedCandidates:
        index, normalize, ranker_scores = version.index, self._normalize, None
        if self.ranking_of(options) == "ranker":
            parts = self._ranker_scorer.compute_parts(
                candidates,
                beams,
                pool.table,
                index.embeddings,
                index.modalities,
                encoded.embeddings,
                encoded.z,
                normalize,
            )
            ranker_scores = self._ranker_scorer.score(candidates, parts, index.modalities)
        queries = encoded.embeddings.cpu().numpy()
        return rank_candidates(
            candidates, index.embeddings, queries, options.k, options.rerank, normalize, ranker_scores
        )

    def results(self, encoded: EncodedQueries, options: SearchOptions, version: Version) -> list[SearchResult]:
        """Retrieve for b encoded queries, and fetch what a visitor sees."""
        mode = self.mode_of(options)
        query_codes = self.quantizer.encode(encoded.z).tolist()
        pool = version.pool_of(options.modality)
        table, retrieval = pool.table, self.retrieve(encoded, options, version, pool)
        milliseconds = dict(retrieval.milliseconds)
        with self._timed("fetch", milliseconds, len(encoded.z)):
            hits_per_query = fetch_hits(version.index, retrieval.ranked, table)
            ids_per_query = generated_ids(retrieval.beams.ends or retrieval.beams, table)
        embeddings, z = encoded.embeddings.cpu().numpy(), encoded.z.cpu().numpy()
        first_codes, certified = (
            retrieval.beams.first_log_probs.exp().cpu().numpy(),
            retrieval.beams.certified(options.beams),
        )
        return [
            SearchResult(
                hits=hits_per_query[i],
                generated=ids_per_query[i],
                embedding=embeddings[i],
                z=z[i],
                query_codes=tuple(query_codes[i]),
                first_code_probabilities=first_codes[i],
                modality_code=self.quantizer.config.modality_code,
                candidates=int(retrieval.candidates.counts[i]),
                mode=mode,
                ranking=self.ranking_of(options),
                dtype=self.dtype_of(options),
                decoded=int(retrieval.beams.scored[i]),
                certified=None if certified is None else bool(certified[i]),
                milliseconds=dict(milliseconds),
                trace=SearchTrace(retrieval.beams.trace[i]) if retrieval.beams.trace else None,
            )
            for i in range(len(encoded.z))
        ]

    @contextmanager
    def _timed(self, stage: str, milliseconds: Milliseconds, queries: int) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        milliseconds[stage] = (time.perf_counter() - start) * 1000 / queries
