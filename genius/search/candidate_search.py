"""From fused features to the candidates that are re-ranked: a beam search and, in mode fast, the shortlist below it.

Shapes: b queries, d dim of z, n items of the index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search, widen_until_certified
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates, expand_beams
from genius.search.codewords import Codewords
from genius.search.shortlist import PER_CANDIDATE, shortlist, shortlist_size
from genius.trie.pool import Pool
from genius.trie.trie import Trie


class CandidateSearch:
    """Finds candidates with one decoder, and scores the shortlist in the arithmetic of this decoder."""

    def __init__(self, decoder: IncrementalDecoder):
        self.decoder = decoder
        self.codewords = Codewords(decoder.codebooks, decoder.weights_dtype)

    def find_beams(
        self,
        z: Tensor,
        trie: Trie,
        beams: int,
        mode: str,
        budget: int,
        widen_to: int | None = None,
        certify: bool = False,
        **options: Any,
    ) -> Beams:
        """`beam_search` of z (b, d) with these options; in mode fast it stops at the shortlist for this budget.

        widen_to: search again with more beams, up to so many, until the result is certified; None: search once.
        """
        options |= {"mode": mode, "shortlist_size": shortlist_size(budget, trie.items)}
        options["shortlist_prefixes"] = PER_CANDIDATE * budget  # more take longer to choose, and find no more
        if widen_to is None:
            return beam_search(self.decoder, z, trie, beams, certify=certify, **options)
        return widen_until_certified(self.decoder, z, trie, beams, widen_to, **options)

    def find_candidates(
        self, beams: Beams, mode: str, pool: Pool, norms: np.ndarray, z: Tensor, budget: int
    ) -> Candidates:
        """The items below the beams that `find_beams` found or, in mode fast, the `budget` nearest of them.

        pool: the one that was searched. norms (n,): see `shortlist`.
        """
        if mode != "fast":
            return expand_beams(beams, pool.table)
        return shortlist(beams, pool, self.codewords, norms, z, budget)
