"""The stages of a search, each timed, on the thread that calls:

    encode -> fuse -> beam -> expand -> rerank -> fetch

Shapes: b queries, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from genius.schema import DECODER_DTYPES, Query, SearchResult, SearchTrace
from genius.search.candidates import CandidateSearch
from genius.search.checks import ResolvedOptions
from genius.search.image_feature_cache import ImageFeatureCache
from genius.search.rerank import RankedCandidates, RankerScorer, fetch_hits, generated_ids, rank_candidates
from genius.search.retrieval import EncodedQueries, Retrieval, Unranked
from genius.search.snapshots import Version
from genius.search.stopwatch import Stopwatch
from genius.texts import query_text
from genius.trie.pool import Pool


class Retriever:
    """The models of a run, ready for inference; only one thread at a time may use it.

    The options that it takes are resolved (checks.py).
    """

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

        Raises UserError for an unknown decoder_dtype.
        """
        if decoder_dtype not in DECODER_DTYPES:
            raise UserError(f"decoder_dtype must be one of {', '.join(DECODER_DTYPES)}, not {decoder_dtype!r}.")
        self.device, self.decoder_dtype, self._normalize = device, decoder_dtype, normalize
        self.encoder = encoder.to(device).eval()
        self.fusion = fusion.to(device).eval()
        self.quantizer = quantizer.to(device).eval()
        self.decoder = decoder.to(device).eval()
        self._image_features = ImageFeatureCache(self.encoder)
        self.searches = {
            dtype: CandidateSearch(IncrementalDecoder(self.decoder, getattr(torch, dtype)))
            for dtype in {"float32", decoder_dtype}
        }
        codewords = self.searches[decoder_dtype].codewords
        self._ranker_scorer = None if ranker is None else RankerScorer(ranker.to(device).eval(), codewords)

    def dtype_of(self, mode: str) -> str:
        """The arithmetic of the decoder in this mode: exact results need float32."""
        return "float32" if mode == "exact" else self.decoder_dtype

    @torch.inference_mode()
    def encode(self, queries: Sequence[Query]) -> EncodedQueries:
        """Encode and fuse b queries as one batch."""
        texts = [query_text(query.instruction, query.text) for query in queries]
        watch = Stopwatch(self.device, len(queries))
        with watch.stage("encode"):
            features = self._image_features.encode([query.image for query in queries], texts)
            embeddings = features.embedding()
        with watch.stage("fuse"):
            z = self.fusion(features)
        return EncodedQueries(features, embeddings, z, watch.milliseconds)

    @torch.inference_mode()
    def cache_images(self, images: Sequence[Image]) -> None:
        """Encode images that will probably be searched with."""
        self._image_features.encode(images, [""] * len(images))

    def forget_images(self) -> None:
        """The next search with a picture encodes it anew."""
        self._image_features.clear()

    def retrieve(self, encoded: EncodedQueries, options: ResolvedOptions, version: Version, pool: Pool) -> Retrieval:
        """From b encoded queries to ranked candidates of the pool, as arrays."""
        watch = Stopwatch(self.device, len(encoded.z), encoded.milliseconds)
        beams, candidates = self.searches[self.dtype_of(options.mode)].search(
            encoded.z,
            pool,
            version.norms,
            mode=options.mode,
            beams=options.beams,
            budget=options.budget,
            decoder_weight=options.decoder_weight,
            prefix=options.prefix,
            trace=options.trace,
            stopwatch=watch,
        )
        unranked = Unranked(encoded, version, pool, beams, candidates)
        with watch.stage("rerank"):
            ranked = self._rank(unranked, options)
        return Retrieval(encoded, version, pool, beams, candidates, ranked, watch.milliseconds)

    def reorder(self, retrieval: Retrieval, options: ResolvedOptions) -> Retrieval:
        """What `retrieve` returned, ranked as other options ask for."""
        watch = Stopwatch(self.device, len(retrieval.encoded.z), retrieval.milliseconds)
        with watch.stage("rerank"):
            ranked = self._rank(retrieval, options)
        return replace(retrieval, ranked=ranked, milliseconds=watch.milliseconds)

    def _rank(self, unranked: Unranked, options: ResolvedOptions) -> RankedCandidates:
        encoded, index, candidates, scores = unranked.encoded, unranked.version.index, unranked.candidates, None
        if options.ranking == "ranker":
            assert self._ranker_scorer is not None, "resolve_options refuses a missing ranker"
            parts = self._ranker_scorer.compute_parts(
                candidates,
                unranked.beams,
                unranked.pool.table,
                index.embeddings,
                index.modalities,
                encoded.embeddings,
                encoded.z,
                self._normalize,
            )
            scores = self._ranker_scorer.score(candidates, parts, index.modalities)
        queries = encoded.embeddings.cpu().numpy()
        return rank_candidates(
            candidates, index.embeddings, queries, options.k, options.rerank, self._normalize, scores
        )

    def results(self, encoded: EncodedQueries, options: ResolvedOptions, version: Version) -> list[SearchResult]:
        """Retrieve for b encoded queries, and fetch what a visitor sees."""
        query_codes = self.quantizer.encode(encoded.z).tolist()
        retrieval = self.retrieve(encoded, options, version, version.pool_of(options.modality))
        beams, table = retrieval.beams, retrieval.pool.table
        watch = Stopwatch(self.device, len(encoded.z), retrieval.milliseconds)
        with watch.stage("fetch"):
            hits_per_query = fetch_hits(version.index, retrieval.ranked, table)
            ids_per_query = generated_ids(beams.ends or beams, table)
        embeddings, z = encoded.embeddings.cpu().numpy(), encoded.z.cpu().numpy()
        first_codes = beams.first_log_probs.exp().cpu().numpy()
        certified = beams.certified(options.beams)
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
                mode=options.mode,
                ranking=options.ranking,
                dtype=self.dtype_of(options.mode),
                decoded=int(beams.scored[i]),
                certified=None if certified is None else bool(certified[i]),
                milliseconds=dict(watch.milliseconds),
                trace=SearchTrace(beams.trace[i]) if beams.trace else None,
            )
            for i in range(len(encoded.z))
        ]
