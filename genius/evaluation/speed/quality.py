"""What the modes find, beside what they cost: hit rates of realistic queries, certificates, agreement with `generate`.

Shapes: q queries, b queries of a batch, n items, d dim.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from genius.evaluation.speed.published import Generate, read_pool
from genius.evaluation.speed.world import World
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.search.checks import MAX_BUDGET
from genius.search.rerank import MAX_CANDIDATES, expand, rank
from genius.trie.pool import Pool

TOGETHER, CUT = 32, 5
DRAW = 1_000_000  # of queries: none that a timing round draws


def agreement(world: World, pool: Pool, beams: int, queries: int = 2) -> dict[str, Any]:
    """Exact search and `generate` on the same queries: shares of common IDs, the largest difference of scores."""
    features = torch.from_numpy(world.vectors.queries(len(pool.table), queries, DRAW)[0]).to(pool.trie.device)
    codes, scores = Generate(world.decoder, read_pool(pool, world.decoder), beams)(features)
    found = beam_search(IncrementalDecoder(world.decoder), features, pool.trie, beams)
    common, difference = [], 0.0
    for query in range(queries):
        theirs = dict(zip(map(tuple, codes[query].tolist()), scores[query].tolist(), strict=True))
        mine = dict(
            zip(
                map(tuple, pool.table.codes(found.low[query].cpu().numpy()).tolist()),
                found.scores[query].tolist(),
                strict=True,
            )
        )
        both = theirs.keys() & mine.keys()
        common.append(len(both) / len(mine))
        difference = max([difference, *(abs(theirs[codes] - mine[codes]) for codes in both)])
    return {"queries": queries, "common_ids": float(np.mean(common)), "largest_difference": difference}


def certificates(world: World, pool: Pool, beams: int, queries: int = 64) -> dict[str, float]:
    """Rates of queries whose exact result is provably the best: of all beams, of the first 10, of the first."""
    decoder, features = IncrementalDecoder(world.decoder), world.vectors.queries(len(pool.table), queries, DRAW)[0]
    found = [
        beam_search(decoder, part.to(pool.trie.device), pool.trie, beams, certify=True)
        for part in torch.from_numpy(features).split(TOGETHER)
    ]
    return {
        str(best): float(torch.cat([part.certified(best) for part in found]).float().mean()) for best in (1, 10, beams)
    }


def hit_rates(world: World, pool: Pool, beams: int, weight: float, queries: int = 256) -> dict[str, Any]:
    """By mode: queries whose item is among the candidates, and among the first CUT after re-ranking."""
    items, decoder = len(pool.table), IncrementalDecoder(world.decoder)
    embeddings, rates = world.embeddings(items), {}
    for name, mode, how in (
        ("exact", "exact", weight),
        ("set", "set", weight),
        ("fast", "fast", weight),
        ("geometry", "set", 0.0),
        ("geometry, fast", "fast", 0.0),
    ):
        kept, hits, considered, rows = [], [], [], []
        for draw in range(queries // TOGETHER):
            asked, sought = world.vectors.queries(items, TOGETHER, DRAW + draw)
            found = beam_search(
                decoder, torch.from_numpy(asked).to(pool.trie.device), pool.trie, beams, mode=mode, decoder_weight=how
            )
            candidates = expand(found, pool.table, MAX_BUDGET if mode == "fast" else MAX_CANDIDATES)
            ranked = rank(candidates, embeddings, asked, CUT)
            right = candidates.row == sought[candidates.query]
            kept.append(np.bincount(candidates.query[right], minlength=TOGETHER) > 0)
            hits.append((ranked.rows == sought[:, None]).any(1))
            considered.append(candidates.counts)
            rows.append(found.rows.float().cpu().numpy())
        rates[name] = {
            "candidate_recall": float(np.mean(kept)),
            f"hit@{CUT}": float(np.mean(hits)),
            "items": float(np.mean(considered)),
            "most_items": int(np.max(considered)),
            "rows": float(np.mean(rows)),
        }
    return {"items": items, "queries": queries, "modes": rates}
