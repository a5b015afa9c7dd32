"""Health of a quantizer's codes: usage per level, modality purity of the first code, bucket sizes.

Shapes: n items, M levels, k codes of a level.
"""

from typing import Any

import numpy as np

from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable


def table_health(table: IDTable, modalities: np.ndarray) -> dict[str, Any]:
    """Usage and perplexity of each level, bucket sizes, and the `purity` of modalities and first
    codes.

    modalities (n,): by row.
    """
    items = CodeTable(table).match(())
    sizes = table.code_sizes
    pairs = modalities[table.rows].astype(np.int64) * sizes[0] + items.codes(0)
    counts = np.bincount(pairs, minlength=(int(modalities.max()) + 1) * sizes[0])
    buckets = table.bucket_sizes(table.ids)
    return {
        "items": len(table),
        "levels": [
            {"level": level} | level_usage(np.bincount(items.codes(level), minlength=size))
            for level, size in enumerate(sizes)
        ],
        "modality_purity": purity(counts.reshape(-1, sizes[0])),
        "ids": len(buckets),
        "largest_bucket": int(buckets.max()),
        "items_alone": float((buckets == 1).sum() / len(table)),
        "mean_bucket_of_an_item": float((buckets.astype(float) ** 2).sum() / len(table)),
    }


def purity(counts: np.ndarray) -> float:
    """Share of items of the most common modality of their code; counts (modalities, k) of items.

    The more codes there are, the purer they are by chance: a code of one item is pure.
    """
    return float(counts.max(0).sum() / counts.sum())


def level_usage(counts: np.ndarray) -> dict[str, Any]:
    """Number of items with each code of a level (k,) -> {"codes", "used", "perplexity"}.

    Perplexity is exp(entropy of the codes): k if all are used equally, 1 if only one is used.
    """
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return {
        "codes": len(counts),
        "used": len(shares),
        "perplexity": float(np.exp(-(shares * np.log(shares)).sum())),
    }


def bucket_histogram(table: IDTable) -> list[tuple[int, int]]:
    """(bucket size, number of IDs with buckets of this size), smallest first."""
    sizes, ids = np.unique(table.bucket_sizes(table.ids), return_counts=True)
    return list(zip(sizes.tolist(), ids.tolist(), strict=True))


def format_health(health: dict[str, Any]) -> str:
    """The result of `table_health` as text: a line per level and one for the buckets."""
    lines = [
        f"level {level['level']}: {level['used']} of {level['codes']} codes used, "
        f"perplexity {level['perplexity']:.1f}"
        for level in health["levels"]
    ]
    buckets = (
        f"{health['ids']} IDs for {health['items']} items, {health['items_alone']:.1%} alone in "
        f"their bucket, largest bucket {health['largest_bucket']}"
    )
    if "modality_purity" in health:
        buckets += f"; modality purity {health['modality_purity']:.1%}"
    return "\n".join([*lines, buckets])
