"""Is a quantizer any good? Use of its codes, purity of the first one, size of its buckets.

Shapes: n items, M levels, k codes of a level.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from genius.index.ids import IDTable


def code_health(codes: np.ndarray, modalities: np.ndarray, code_sizes: tuple[int, ...]) -> dict[str, Any]:
    """codes (n, M), modalities (n,) -> per level use and perplexity, modality purity, bucket sizes.

    Perplexity is exp of the entropy of a level's codes: k if all are used equally, 1 if only one is.
    Purity is the share of items whose first code is the commonest one of their modality's items.
    """
    levels = []
    for level, size in enumerate(code_sizes):
        share = np.bincount(codes[:, level], minlength=size) / len(codes)
        used = share[share > 0]
        levels.append({"level": level, "codes": size, "used": int(len(used)),
                       "perplexity": float(np.exp(-(used * np.log(used)).sum()))})
    same = sum(np.bincount(codes[modalities == modality, 0]).max() for modality in np.unique(modalities))
    table = IDTable.build(codes, code_sizes)
    buckets = table.buckets(table.ids)
    return {"items": len(codes), "levels": levels, "modality_purity": float(same / len(codes)),
            "ids": len(buckets), "largest_bucket": int(buckets.max()),
            "items_alone": float((buckets == 1).sum() / len(codes)),
            "mean_bucket_of_an_item": float((buckets.astype(float) ** 2).sum() / len(codes))}


def summary(health: dict[str, Any]) -> str:
    """A few lines a person can judge."""
    lines = [f"level {level['level']}: {level['used']} of {level['codes']} codes used, "
             f"perplexity {level['perplexity']:.1f}" for level in health["levels"]]
    return "\n".join(lines + [
        f"{health['ids']} IDs for {health['items']} items, {health['items_alone']:.1%} alone in their bucket, "
        f"largest bucket {health['largest_bucket']}; modality purity {health['modality_purity']:.1%}"])
