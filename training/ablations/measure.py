"""Search the test queries with a trained decoder, whatever made its IDs.

Shapes: q queries of a column, n candidates, M levels, d dim of z.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from genius.metrics.hit_rate import CUTS, Qrels, first_hits, hit_rate
from genius.models.decoder import IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.schema import Modality
from genius.search.beam import beam_search
from genius.search.candidates import expand_beams
from genius.search.engine import batch_size
from genius.search.rerank import rank_candidates
from genius.trie.ids import pack
from genius.trie.pool import Pool
from training.ablations.query_columns import Column
from training.ablations.variants import BEAMS

K = 50  # results per query
BATCH = 64  # queries of a search with one beam


class Searcher:
    """Generates IDs with one decoder among the pools of the columns."""

    def __init__(
        self, decoder: IDDecoder, codes: np.ndarray, modalities: np.ndarray, embeddings: np.ndarray, device: str
    ):
        """codes (n, M), modalities (n,) and embeddings (n, d) of all candidates."""
        self.decoder = IncrementalDecoder(decoder.to(device).eval())
        self.weight, self.sizes = decoder.config.decoder_weight, decoder.config.code_sizes
        self.codes, self.modalities, self.embeddings, self.device = codes, modalities, embeddings, device
        self._packed = pack(codes, self.sizes)
        self._pools: dict[bytes, Pool] = {}

    def pool(self, rows: np.ndarray) -> Pool:
        """The pool of these candidates; columns share the global one."""
        key = rows.tobytes()
        if key not in self._pools:
            self._pools[key] = Pool.build(self._packed[rows], self.sizes, rows, self.device)
        return self._pools[key]

    @torch.inference_mode()
    def search(self, z: Tensor, embeddings: np.ndarray, qrels: Qrels, rows: np.ndarray, beams: int) -> dict[str, Any]:
        """Hit rates of the generated order and after re-ranking, and the queries per second of each.

        z (q, d), embeddings (q, d) of the queries.
        """
        pool, start, ranks, seconds = self.pool(rows), 0, {"beam": [], "re-ranked": []}, {"beam": 0.0, "re-ranked": 0.0}
        for part in z.to(self.device).split(batch_size(beams)):
            before = time.perf_counter()
            found = beam_search(self.decoder, part, pool.trie, beams, mode="exact", decoder_weight=self.weight)
            candidates = expand_beams(found, pool.table)
            searched = time.perf_counter()
            own = embeddings[start : start + len(part)]
            for name in ranks:
                since = time.perf_counter()
                ranked = rank_candidates(candidates, self.embeddings, own, K, rerank=name == "re-ranked")
                seconds[name] += searched - before + time.perf_counter() - since
                ranks[name].append(first_hits(ranked.rows, qrels, start))
            start += len(part)
        return {
            name: {"hit": {str(cut): hit_rate(np.concatenate(found), cut) for cut in CUTS}}
            | {"per_second": len(z) / seconds[name]}
            for name, found in ranks.items()
        }

    @torch.inference_mode()
    def follows(self, z: Tensor, targets: np.ndarray, rows: np.ndarray) -> float:
        """Share of queries whose best ID is an item of the target modality (q,), with one beam."""
        pool, right = self.pool(rows), []
        for part, own in zip(
            z.to(self.device).split(BATCH), np.split(targets, range(BATCH, len(z), BATCH)), strict=True
        ):
            found = beam_search(self.decoder, part, pool.trie, 1, mode="exact", decoder_weight=self.weight)
            first = pool.table.rows[found.low[:, 0].cpu().numpy()]
            right.append(self.modalities[first] == own)
        return float(np.concatenate(right).mean())


def measure(
    searcher: Searcher, columns: Sequence[Column], vectors: dict[tuple[int, str], Tensor], beams: Sequence[int]
) -> list[dict[str, Any]]:
    """One entry per column: its hit rates by condition, pool and beam size, ready for JSON.

    vectors: (number of the column, condition) -> z (q, d). The condition "asked" is searched in both pools and with
    every beam size; the others in the global pool, with BEAMS.
    """
    entries = []
    for number, column in enumerate(columns):
        entry: dict[str, Any] = {
            "task": column.task,
            "dataset": column.dataset,
            "paper": list(column.paper),
            "cut": column.cut,
            "queries": {condition: len(own) for condition, own in column.queries.items()},
            "pools": {scope: len(rows) for scope, rows in column.pools.items()},
            "conditions": {},
        }
        for (at, condition), z in vectors.items():
            if at != number:
                continue
            queries, embeddings = column.queries[condition], column.features[condition].embedding().numpy()
            if condition == "swapped instruction":
                entry["conditions"][condition] = searcher.follows(z, queries.targets, column.pools["global"])
                continue
            plain = condition == "asked"
            entry["conditions"][condition] = {
                scope: {
                    str(size): searcher.search(z, embeddings, queries.qrels, rows, size)
                    for size in (beams if plain else (BEAMS,))
                }
                for scope, rows in column.pools.items()
                if plain or scope == "global"
            }
            if plain:
                entry["follows"] = searcher.follows(z, queries.targets, column.pools["global"])
        entries.append(entry)
    return entries


def first_code_clusters(codes: np.ndarray, modalities: np.ndarray, size: int) -> dict[str, Any]:
    """How first codes (n,) and modalities (n,) agree: items of each modality by first code that is used."""
    counts = np.zeros((len(Modality), size), dtype=np.int64)
    np.add.at(counts, (modalities.astype(np.int64), codes[:, 0].astype(np.int64)), 1)
    return {"counts": counts[:, counts.any(0)].tolist()}
