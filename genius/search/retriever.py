"""The stages of a search, each timed, on the thread of the engine:

    read -> encode -> fuse -> beam and scan -> rerank -> fetch -> explain

The image tower is most of the work of a query with a picture. A picture that is asked about again,
with another instruction or another text, or with several instructions at once, passes it once.
Instructions that an encoder reads apart are few, so each passes the text tower once. Only the
features are kept.

Shapes: b queries, d embedding dim, t IDs, M levels, k codes of a level.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import torch
from PIL.Image import Image
from torch import Tensor

from genius.index.store import Index
from genius.models.absent import NoCodewords, NoEncoder
from genius.models.decoder import IDDecoder
from genius.models.decoder_graphs import decoder_for_search
from genius.models.encoder import Encoder, Features
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.runtime import Stopwatch
from genius.schema import Modality, Query, Reading, SearchResult
from genius.search.candidates import CandidateFinder, Candidates
from genius.search.checks import ResolvedOptions
from genius.search.request_reader import RequestReader, kind_log_probs
from genius.search.rerank import (
    RankedCandidates,
    Similarity,
    fetch_hits,
    generated_ids,
    rank_candidates,
    shows_left_out,
)
from genius.search.retrieval import EncodedQueries, Retrieval
from genius.search.snapshots import Snapshot
from genius.search.versions import FURTHER, one_of_each
from genius.trie.pool import Pool

TOGETHER = 64  # IDs that are scored in one pass of the decoder
CAPACITY = 256  # images that are remembered; one vector each


class FeatureCache:
    """An encoder with least-recently-used caches of the features of images and of instructions.

    Not safe to share between threads: the engine's models run on one.
    """

    def __init__(self, encoder: Encoder | NoEncoder, capacity: int = CAPACITY):
        self.encoder, self.capacity = encoder, capacity
        # digest of a picture, or an instruction -> (d,), the last used last
        self._images: OrderedDict[bytes, Tensor] = OrderedDict()
        self._instructions: OrderedDict[str, Tensor] = OrderedDict()

    def encode(
        self, images: Sequence[Image | None], texts: Sequence[str], instructions: Sequence[str]
    ) -> Features:
        """As `Encoder.encode`, for b queries; what is not in the caches passes a tower once."""
        worded = [self.encoder.wording(*query) for query in zip(instructions, texts, strict=True)]
        features = self._with_images(images, [text for text, _ in worded])
        if self.encoder.config.apart:
            features.instruction = self._of_instructions([instruction for _, instruction in worded])
        return features

    def _of_instructions(self, instructions: Sequence[str]) -> Tensor:
        """(b, d), zero where there is none."""
        new = list(
            dict.fromkeys(given for given in instructions if given not in self._instructions)
        )
        if new:
            encoded = self.encoder.encode([None] * len(new), new).text
            self._instructions |= zip(new, encoded.unbind(), strict=True)
        found = torch.stack([self._instructions[given] for given in instructions])
        for given in instructions:
            self._instructions.move_to_end(given)
        while len(self._instructions) > self.capacity:
            self._instructions.popitem(last=False)
        return found

    def _with_images(self, images: Sequence[Image | None], texts: Sequence[str]) -> Features:
        digests = {at: _digest(image) for at, image in enumerate(images) if image is not None}
        first = {
            digest: at for at, digest in reversed(digests.items()) if digest not in self._images
        }
        missing = [image if at in first.values() else None for at, image in enumerate(images)]
        features = self.encoder.encode(missing, texts)
        for digest, at in first.items():
            self._images[digest] = features.image[at].clone()
        for at, digest in digests.items():
            self._images.move_to_end(digest)
            features.image[at] = self._images[digest]
            features.image_mask[at] = True
        while len(self._images) > self.capacity:
            self._images.popitem(last=False)
        return features

    def clear(self) -> None:
        """Forget every picture."""
        self._images.clear()


def _digest(image: Image) -> bytes:
    """The same for the same pixels."""
    return hashlib.blake2b(
        image.tobytes(), digest_size=16, salt=repr(image.size).encode()[:16]
    ).digest()


class Retriever:
    """The models of a run, ready for inference; only one thread at a time may use it.

    The options that it takes are resolved (checks.py).
    """

    def __init__(
        self,
        encoder: Encoder | NoEncoder,
        fusion: Fusion,
        quantizer: ResidualQuantizer | NoCodewords,
        decoder: IDDecoder,
        device: torch.device,
        normalize: bool = False,
        request_reader: RequestReader | None = None,
    ):
        """request_reader: None: an instruction and a text are one sentence. normalize: re-rank by
        normalized embeddings, which the index may not hold.
        """
        self.device, self._normalize = device, normalize
        self.encoder = encoder.to(device).eval()
        self.fusion = fusion.to(device).eval()
        self.quantizer = quantizer.to(device).eval()
        self.decoder = decoder.to(device).eval()
        self.cache = FeatureCache(self.encoder)
        self.finder = CandidateFinder(decoder_for_search(self.decoder))
        self._request_reader = request_reader

    @torch.inference_mode()
    def encode(
        self, queries: Sequence[Query], kinds: Collection[Modality] = tuple(Modality)
    ) -> EncodedQueries:
        """Read, encode and fuse b queries as one batch. kinds: that results can have."""
        watch = Stopwatch(self.device, len(queries))
        readings = left_out = None
        asked = [(query.instruction, query.text) for query in queries]
        if self._request_reader is not None:
            with watch.stage("read"):
                understood = self._request_reader.understand(queries, kinds)
                asked = [(request.instruction, request.text) for request in understood]
                readings = [request.reading for request in understood]
                left_out = self._left_out(readings)
        with watch.stage("encode"):
            images = [query.image if isinstance(query.image, Image) else None for query in queries]
            instructions, texts = zip(*asked, strict=True)
            features = self.cache.encode(images, texts, instructions)
            embeddings = features.embedding()
        with watch.stage("fuse"):
            z = self.fusion(features)
        return EncodedQueries(features, embeddings, z, watch.milliseconds, readings, left_out)

    @property
    def first_code_is_modality(self) -> bool:
        """Whether the first code of every ID is its modality, as published."""
        return self.quantizer.config.modality_code == "forced"

    def _left_out(self, readings: Sequence[Reading | None]) -> Tensor | None:
        """(b, d) embeddings of what words leave out, 0 where that is nothing; None: nothing is."""
        left_out = [reading.left_out if reading else "" for reading in readings]
        if self._request_reader is None or not any(left_out):
            return None
        photo = self._request_reader.instruction(Modality.TEXT, "photo")
        texts = [text and self.encoder.wording(photo, text)[0] for text in left_out]
        return self.encoder.encode([None] * len(readings), texts).embedding()

    def retrieve(
        self, encoded: EncodedQueries, options: ResolvedOptions, snapshot: Snapshot, pool: Pool
    ) -> Retrieval:
        """From b encoded queries to ranked candidates of the pool, as arrays."""
        watch = Stopwatch(self.device, len(encoded.z), encoded.milliseconds)
        asked = None
        if encoded.readings and self.first_code_is_modality:
            asked = torch.from_numpy(kind_log_probs(encoded.readings)).to(self.device)
        beams, candidates = self.finder.find(encoded.z, pool, options, asked, watch)
        with watch.stage("rerank"):
            first = (
                self.finder.first_codes(encoded.z, asked)
                if beams is None
                else beams.first_log_probs
            )
            ranked = self._rank(encoded, snapshot, candidates, options)
        return Retrieval(
            encoded, snapshot, pool, beams, candidates, first, ranked, watch.milliseconds
        )

    def reorder(self, retrieval: Retrieval, options: ResolvedOptions) -> Retrieval:
        """What `retrieve` returned, ranked as other options ask for."""
        watch = Stopwatch(self.device, len(retrieval.encoded.z), retrieval.milliseconds)
        with watch.stage("rerank"):
            ranked = self._rank(
                retrieval.encoded, retrieval.snapshot, retrieval.candidates, options
            )
        return replace(retrieval, ranked=ranked, milliseconds=watch.milliseconds)

    def _rank(
        self,
        encoded: EncodedQueries,
        snapshot: Snapshot,
        candidates: Candidates,
        options: ResolvedOptions,
    ) -> RankedCandidates:
        index = snapshot.index
        unwanted = None
        if encoded.left_out is not None:
            left_out = encoded.left_out.cpu().numpy()
            unwanted = shows_left_out(
                candidates, index.embeddings, index.modalities, left_out, snapshot.spreads
            )
        by = self._by_embedding(encoded, index) if options.order == "cosine" else None
        if options.order == "fused":
            by = self._by_fused(encoded, index)
        return rank_candidates(candidates, options.k, by, unwanted)

    def _by_embedding(self, encoded: EncodedQueries, index: Index) -> Similarity:
        return Similarity(index.embeddings, encoded.embeddings.cpu().numpy(), self._normalize)

    def _by_fused(self, encoded: EncodedQueries, index: Index) -> Similarity | None:
        """None: the index has no fused features."""
        return None if index.fused is None else Similarity(index.fused, encoded.z.cpu().numpy())

    @torch.inference_mode()
    def code_log_probs(self, z: Tensor, codes: np.ndarray) -> list[Tensor]:
        """Log-probabilities of all codes of each level after those before, of IDs that are given.

        z (t, d), codes (t, M) -> M times (t, k), in one pass of the decoder ("teacher forcing").
        """
        given = torch.from_numpy(codes).to(self.device)
        parts = [
            self.decoder.code_log_probs(*part)
            for part in zip(z.split(TOGETHER), given.split(TOGETHER))
        ]
        return [torch.cat(level) for level in zip(*parts, strict=True)]

    def results(
        self, encoded: EncodedQueries, options: ResolvedOptions, snapshot: Snapshot
    ) -> list[SearchResult]:
        """Retrieve for b encoded queries, and fetch what a visitor sees."""
        query_codes = self.quantizer.encode(encoded.z).tolist()
        wide = replace(options, k=options.k + FURTHER)
        retrieval = self.retrieve(encoded, wide, snapshot, snapshot.pool_of(options))
        beams, table = retrieval.beams, retrieval.pool.table
        watch = Stopwatch(self.device, len(encoded.z), retrieval.milliseconds)
        with watch.stage("fetch"):
            ranked = retrieval.ranked
            at, things = one_of_each(snapshot.index, ranked, options.k)
        with watch.stage("explain"):
            query, rows, codes = at[0], ranked.rows[at], table.codes(ranked.ids[at])
            steps = self.code_log_probs(encoded.z[torch.from_numpy(query).to(self.device)], codes)
            own = [
                step.cpu().numpy()[np.arange(len(codes)), code]
                for step, code in zip(steps, codes.T)
            ]
            cosines = self._by_embedding(encoded, snapshot.index).of(rows, query)
            by_fused = self._by_fused(encoded, snapshot.index)
            fused = by_fused.of(rows, query) if by_fused else None
            hits_per_query = fetch_hits(
                ranked, at, things, codes, np.stack(own, axis=1), cosines, fused
            )
            ids_per_query = generated_ids(beams, table) if beams else [[]] * len(encoded.z)
        embeddings, z = encoded.embeddings.cpu().numpy(), encoded.z.cpu().numpy()
        image_lengths = (
            encoded.features.image.norm(dim=-1).tolist() if encoded.features else [0.0] * len(z)
        )
        first_codes = retrieval.first_log_probs.exp().cpu().numpy()
        if self.quantizer.config.modality_code in ("forced", "classifier"):
            # a kind that the index lacks cannot be meant
            first_codes = first_codes * np.isin(
                np.arange(first_codes.shape[1]), snapshot.pool.trie.first_codes.cpu()
            )
            first_codes /= first_codes.sum(1, keepdims=True).clip(np.finfo(np.float32).tiny)
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
                order=options.order,
                decoded=int(beams.scored[i]) if beams else 0,
                image_length=image_lengths[i],
                reading=encoded.readings[i] if encoded.readings else None,
                milliseconds=dict(watch.milliseconds),
                trace=(beams.trace[i] if beams and beams.trace else []) if options.trace else None,
                thumbnail=snapshot.index.thumbnail,
            )
            for i in range(len(encoded.z))
        ]
