"""The baseline that a trained encoder must beat: the same architecture, untrained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from genius.collections.mbeir import Collection
from genius.evaluation.fused_items import BATCH, encode_items
from genius.evaluation.queries import QuerySet
from genius.evaluation.systems import RowResults, search_dense
from genius.metrics.hit_rate import Qrels
from genius.models.encoder import Encoder
from genius.search.engine import Engine
from genius.texts import query_text


@dataclass(frozen=True)
class UntrainedBaseline:
    """Embeddings of the items and queries by an encoder with random weights."""

    items: np.ndarray  # (n, d) fp16, by row of the index
    queries: list[np.ndarray]  # per QuerySet (q, d) fp32

    @classmethod
    def build(
        cls, engine: Engine, collection: Collection, sets: list[QuerySet], seed: int, folder: Path
    ) -> UntrainedBaseline:
        """Encode items, into files under `folder`, and queries. The caller's random state does not change."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            encoder = Encoder(engine.encoder.config).eval().to(engine.device)
        files = encode_items(encoder, engine.index, collection, folder, "untrained encoder")
        return cls(files.embedding, [_embed(encoder, collection, queries) for queries in sets])

    def search(self, rows: np.ndarray, number: int, qrels: Qrels) -> RowResults:
        """The system "untrained": dense search among the items at `rows` for the queries of QuerySet `number`."""
        ranks, _ = search_dense(self.items, rows, self.queries[number], qrels)
        return RowResults({"untrained": ranks})


def _embed(encoder: Encoder, collection: Collection, queries: QuerySet) -> np.ndarray:
    parts = []
    for batch in queries.opened(collection, BATCH):
        features = encoder.encode(
            [query.image for query in batch], [query_text(query.instruction, query.text) for query in batch]
        )
        parts.append(features.embedding().cpu().numpy())
    return np.concatenate(parts)
