"""Dense search of a collection's test queries by any encoder that has one embedding for each query and candidate.

For collections whose embeddings fit into memory (2·c·d bytes; the 5.6 million candidates of M-BEIR with 768 numbers are
8.6 GB): one process makes them, keeps none on disk, and starts again with them after a kill. A run's own dense search,
python -m genius.evaluation, has no such limit.

Shapes: c candidates that are embedded, q queries of a row, d embedding dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.evaluation.queries import QuerySet
from genius.metrics.hit_rate import CUTS, first_hits, headline_cut, hit_rate
from genius.models.encoder import Encoder
from genius.search.dense import flat_search
from genius.texts import query_text

BATCH = 64


def dense_search(
    encoder: Encoder, collection: Collection, sets: Sequence[QuerySet], pools: Sequence[Mapping[str, np.ndarray]]
) -> dict[str, dict[str, dict[str, float]]]:
    """{"TASK:DATASET": {scope: {cut: hit rate}}} of exact search by cosine.

    pools: of each set of queries, by scope, sorted candidate rows. Only candidates of these pools are embedded.
    """
    needed = np.unique(np.concatenate([rows for pool in pools for rows in pool.values()]))
    embeddings = embed_candidates(encoder, collection, needed)  # (c, d)
    rates_of_rows = {}
    for asked, pool in zip(sets, pools, strict=True):
        queries = embed_queries(encoder, collection, asked)  # (q, d)
        rates = {}
        for scope, rows in pool.items():
            _, places = flat_search(embeddings, queries, max(CUTS), np.searchsorted(needed, rows))
            ranks = first_hits(np.where(places < 0, -1, needed[places]), asked.qrels)
            rates[scope] = {str(cut): hit_rate(ranks, cut) for cut in sorted({*CUTS, headline_cut(asked.row.dataset)})}
        rates_of_rows[f"{asked.row.task}:{asked.row.dataset}"] = rates
    return rates_of_rows


def embed_candidates(encoder: Encoder, collection: Collection, rows: np.ndarray) -> np.ndarray:
    """(c, d) fp16 embeddings of the candidates at these sorted rows. Raises UserError for an image that is broken."""
    wanted, parts = set(rows.tolist()), []
    items = (item for row, item in enumerate(collection.all_candidates()) if row in wanted)
    for batch in batched(tqdm(items, desc="embed candidates", total=len(rows), unit="item"), BATCH):
        images = [open_image(collection.image_path(item.image)) if item.image else None for item in batch]
        parts.append(encoder.embed(images, [item.text for item in batch]).half().cpu().numpy())
    return np.concatenate(parts)


@torch.inference_mode()
def embed_queries(encoder: Encoder, collection: Collection, queries: QuerySet) -> np.ndarray:
    """(q, d) fp32."""
    parts = [
        encoder.embed([query.image for query in batch], [query_text(query.instruction, query.text) for query in batch])
        for batch in queries.opened(collection, BATCH)
    ]
    return torch.cat(parts).float().cpu().numpy()
