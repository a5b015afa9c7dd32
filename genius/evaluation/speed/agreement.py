"""What the modes guarantee: agreement of exact search with `generate`, and certificates."""

from __future__ import annotations

from typing import Any

import torch

from genius.evaluation.speed.hf_generate import HFGenerate, trie_callback
from genius.evaluation.speed.workloads import Setup
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search

BATCH = 32
ROUND = 1_000_000  # of the queries: none that is timed


def agreement(setup: Setup, queries: int = 2) -> dict[str, Any]:
    """Exact search and `generate` on the same queries: share of common IDs, largest difference of their scores."""
    decoder, pool = setup.workload.decoder, setup.pool
    z = setup.workload.draw_queries(queries, ROUND).z
    codes, scores = HFGenerate(decoder, trie_callback(pool, decoder), setup.beams)(z)
    found = beam_search(IncrementalDecoder(decoder), z, pool.trie, setup.beams)
    differences, valid = [], found.high > found.low
    for query in range(queries):
        generated = dict(zip(map(tuple, codes[query].tolist()), scores[query].tolist()))
        exact_codes = pool.table.codes(found.low[query, valid[query]].cpu().numpy())
        for exact, score in zip(
            map(tuple, exact_codes.tolist()), found.scores[query, valid[query]].tolist(), strict=True
        ):
            if exact in generated:
                differences.append(abs(generated[exact] - score))
    return {
        "queries": queries,
        "common_ids": len(differences) / int(valid.sum()),
        "largest_difference": max(differences, default=0.0),
    }


def certified_shares(setup: Setup, queries: int = 64) -> dict[str, float]:
    """Shares of queries whose exact result is provably the best: the first ID, the first 10, all beams."""
    decoder, z = IncrementalDecoder(setup.workload.decoder), setup.workload.draw_queries(queries, ROUND).z
    found = [beam_search(decoder, part, setup.pool.trie, setup.beams) for part in z.split(BATCH)]
    return {
        str(best): float(torch.cat([part.certified(best) for part in found]).float().mean())
        for best in (1, 10, setup.beams)
    }
