"""Is a quantizer any good? Use of its codes, purity of the first one, size of its buckets.

Shapes: n items, M levels, k codes of a level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable


def code_health(codes: np.ndarray, modalities: np.ndarray, code_sizes: tuple[int, ...]) -> dict[str, Any]:
    """codes (n, M), modalities (n,) -> per level use and perplexity, modality purity, bucket sizes.

    Purity is the share of items whose first code is the commonest one of their modality's items.
    """
    return table_health(IDTable.build(codes, code_sizes), modalities)


def table_health(table: IDTable, modalities: np.ndarray) -> dict[str, Any]:
    """As `code_health`, of items whose IDs are sorted already; modalities (n,) by row."""
    codes = CodeTable(table)
    of_first = modalities[table.rows].astype(np.int64) * table.code_sizes[0] + codes.match(()).codes(0)
    pairs = np.bincount(of_first, minlength=(int(modalities.max()) + 1) * table.code_sizes[0])
    buckets = table.bucket_sizes(table.ids)
    return {
        "items": len(table),
        "levels": [{"level": level} | level_use(codes.code_counts(level)) for level in range(len(table.code_sizes))],
        "modality_purity": float(pairs.reshape(-1, table.code_sizes[0]).max(1).sum() / len(table)),
        "ids": len(buckets),
        "largest_bucket": int(buckets.max()),
        "items_alone": float((buckets == 1).sum() / len(table)),
        "mean_bucket_of_an_item": float((buckets.astype(float) ** 2).sum() / len(table)),
    }


def level_use(counts: np.ndarray) -> dict[str, Any]:
    """(k,) items with each code of a level -> {"codes", "used", "perplexity"}.

    Perplexity is exp of the entropy of the codes: k if all are used equally, 1 if only one is.
    """
    used = counts[counts > 0] / max(counts.sum(), 1)
    return {"codes": len(counts), "used": len(used), "perplexity": float(np.exp(-(used * np.log(used)).sum()))}


def bucket_sizes(table: IDTable) -> list[tuple[int, int]]:
    """(items that share an ID, how many IDs are shared by so many), smallest first."""
    sizes, ids = np.unique(table.bucket_sizes(table.ids), return_counts=True)
    return list(zip(sizes.tolist(), ids.tolist(), strict=True))


def summary(health: dict[str, Any]) -> str:
    """A few lines a person can judge."""
    lines = [
        f"level {level['level']}: {level['used']} of {level['codes']} codes used, perplexity {level['perplexity']:.1f}"
        for level in health["levels"]
    ]
    return "\n".join(
        lines
        + [
            f"{health['ids']} IDs for {health['items']} items, {health['items_alone']:.1%} alone in their bucket, "
            f"largest bucket {health['largest_bucket']}; modality purity {health['modality_purity']:.1%}"
        ]
    )
