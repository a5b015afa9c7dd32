"""From fused features to the candidates that are ranked, found in two ways.

    generate    the beam search of the decoder (beam.py): all items below its beams
    scan        the items whose quantized vectors are nearest (scan.py)
    both        the items of both, those that were generated first

Shapes: b queries, w beams, t candidates of all queries together, n items, d dim, c first codes.
"""

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from genius.models.incremental_decoder import IncrementalDecoder
from genius.runtime import Stopwatch
from genius.search.beam import Beams, beam_search
from genius.search.checks import ResolvedOptions
from genius.search.scan import Codewords, Scan
from genius.trie.ids import IDTable, expand_ranges
from genius.trie.pool import Pool

MAX_CANDIDATES = 10_000  # that a query generates; bounds memory where very many items share an ID
SCANNED = 200  # items of a scan, or as many as there are to be results
RULED_OUT = 0.05  # times the most probable kind: a less probable one is ruled out by a reader
# log-probability of a first code that is ruled out: after all others, whatever geometry says
IMPOSSIBLE = -1e4


@dataclass(frozen=True)
class Candidates:
    """The items that are ranked, ordered by query, then those that were generated, by beam, ID and
    row, then those that only the scan found, nearest first.
    """

    query: np.ndarray  # (t,)
    row: np.ndarray  # (t,) in the index
    id: np.ndarray  # (t,) number of its ID in the table
    generated_rank: np.ndarray  # (t,) 1 is first
    counts: np.ndarray  # (b,) candidates of each query

    @classmethod
    def at(
        cls, query: np.ndarray, position: np.ndarray, queries: int, table: IDTable
    ) -> "Candidates":
        """The items at these positions (t,) of the table; query (t,) ascending."""
        counts = np.bincount(query, minlength=queries)
        rows = table.rows[position].astype(np.int64)
        ids = table.ids_of(position)
        return cls(query, rows, ids, positions_in_lists(counts) + 1, counts)


class CandidateFinder:
    """Finds candidates with one decoder; only one thread at a time may use it."""

    def __init__(self, decoder: IncrementalDecoder):
        self.decoder = decoder
        self.codewords = Codewords(decoder.codebooks)
        self._scans: WeakKeyDictionary[Pool, Scan] = WeakKeyDictionary()

    def scan_of(self, pool: Pool) -> Scan:
        """The scan of a pool, which is kept as long as the pool."""
        if pool not in self._scans:
            self._scans[pool] = Scan(pool, self.codewords)
        return self._scans[pool]

    def find(
        self,
        z: Tensor,
        pool: Pool,
        options: ResolvedOptions,
        kind_log_probs: Tensor | None = None,
        stopwatch: Stopwatch | None = None,
    ) -> tuple[Beams | None, Candidates]:
        """The beams of z (b, d), unless it is only scanned, and the candidates among the items of
        the pool.

        kind_log_probs: (b, c) log-probabilities that a reader gives to the first codes; items of
        those that it rules out are no candidates. stopwatch: gets the stages "beam" and "scan".
        """
        watch = stopwatch or Stopwatch(z.device, len(z))
        found = None
        allowed = None
        if kind_log_probs is not None and not options.prefix:
            possible = possible_kinds(kind_log_probs, pool.trie.first_codes)
            kind_log_probs = kind_log_probs.masked_fill(~possible, IMPOSSIBLE)
            allowed = possible.cpu().numpy()
        query, position = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        if options.mode != "scan":
            with watch.stage("beam"):
                found = beam_search(
                    self.decoder,
                    z,
                    pool.trie.below(options.prefix),
                    options.beams,
                    decoder_weight=options.decoder_weight,
                    kind_log_probs=kind_log_probs,
                    settle=options.order != "score" and not options.trace,
                    trace=options.trace,
                )
                query, position = expand_beams(found)
                if allowed is not None:
                    fits = allowed[query, pool.table.codes(pool.table.ids_of(position))[:, 0]]
                    query, position = query[fits], position[fits]
        if options.mode != "generate":
            with watch.stage("scan"):
                scanned = self.scan_of(pool).best_or_near(
                    z, max(options.k, SCANNED), options.prefix, allowed
                )
                nearest = scanned.positions.cpu().numpy()
                owner, place = np.nonzero(nearest >= 0)
                added = nearest[owner, place]
                new = ~np.isin(owner * len(pool.table) + added, query * len(pool.table) + position)
                order = np.argsort(np.concatenate([query, owner[new]]), kind="stable")
                query = np.concatenate([query, owner[new]])[order]
                position = np.concatenate([position, added[new]])[order]
        return found, Candidates.at(query, position, len(z), pool.table)

    @torch.inference_mode()
    def first_codes(self, z: Tensor, kind_log_probs: Tensor | None = None) -> Tensor:
        """(b, c) log-probabilities of the first codes for z (b, d), normalized: one step of the
        decoder. kind_log_probs (b, c): of `find`.
        """
        first = self.decoder.step(self.decoder.start(z, 1), whole_vocabulary=False)
        return first if kind_log_probs is None else (first + kind_log_probs).log_softmax(-1)


def possible_kinds(kind_log_probs: Tensor, first_codes: Tensor) -> Tensor:
    """(b, c) bool: first codes that a reader does not rule out, from its log-probabilities (b, c).

    first_codes: those that items have, at most c; of these at least one is possible.
    """
    exists = torch.zeros(kind_log_probs.shape[1], dtype=torch.bool, device=kind_log_probs.device)
    exists[first_codes] = True
    known = kind_log_probs.masked_fill(~exists, -torch.inf)
    return known >= known.max(1, keepdim=True).values + math.log(RULED_OUT)


def expand_beams(beams: Beams) -> tuple[np.ndarray, np.ndarray]:
    """All items below the beams, best beam first, at most MAX_CANDIDATES for each query: (query,
    position in the table), (t,) each.
    """
    low, high = beams.low.cpu().numpy(), beams.high.cpu().numpy()  # (b, w)
    items = high - low
    room = np.maximum(MAX_CANDIDATES - (np.cumsum(items, axis=1) - items), 0)
    beam, position = expand_ranges(low.ravel(), high.ravel(), at_most=room.ravel())
    return beam // low.shape[1], position


def positions_in_lists(counts: np.ndarray) -> np.ndarray:
    """(b,) list lengths -> (t,) position of each element in its own list, from 0."""
    return expand_ranges(np.zeros_like(counts), counts)[1]
