"""Auxiliary classification heads: the encoder learns what items are made of.

Pretrained CLIP has seen millions of images of every kind. An encoder that starts from random weights learns the
factors of the items (kind, color, count, …) from linear heads, which are dropped after training. Two more heads
classify the modality and the dataset of the target, which the instruction determines.

Shapes: b queries or candidates, d embedding dim, f factors.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.metrics.factor_agreement import read_factors
from genius.schema import Item


class Factors:
    """The factors of the training queries and of their positives as class numbers; −1 where unknown."""

    def __init__(
        self,
        collection: Collection,
        items: Sequence[Item],
        targets: Sequence[int],
        rows: Container[int],
        described: bool = True,
    ):
        """items: the candidates. targets (q,): the position in `items` of a positive of each query.

        rows: numbers of the benchmark rows whose training queries these are. described: with the factors in
        src_content, not only modality and dataset. Raises UserError if neither queries nor items have them.
        """
        table: dict[str, np.ndarray] = {}
        if described:
            queries = [
                query
                for number, row in enumerate(collection.rows())
                if number in rows
                for query in collection.queries("train", row)
            ]
            table = read_factors([*queries, *items])
        if described and not table:
            raise UserError(
                f"encoder.extras.factor_weight is set, but {collection.root} has no factors: expected JSON objects "
                "in src_content and query_src_content"
            )
        modalities = np.array([item.modality for item in items])
        datasets = np.unique([key_dataset(id_key(item.id)) for item in items], return_inverse=True)[1]
        for name, values in (("modality", modalities), ("dataset", datasets)):
            table[name] = np.concatenate([values[targets], values])
        self.sizes = {name: int(values.max()) + 1 for name, values in table.items()}
        self.queries, self.candidates = np.split(np.stack(list(table.values()), axis=1), [len(targets)])  # (·, f)

    def with_target(self, queries: np.ndarray, modalities: np.ndarray) -> np.ndarray:
        """(b, f) factors of these queries with other target modalities (b,), whose dataset is unknown; −1: as is."""
        factors, replaced = self.queries[queries], modalities >= 0
        names = list(self.sizes)
        factors[replaced, names.index("modality")] = modalities[replaced]
        factors[replaced, names.index("dataset")] = -1
        return factors


class FactorHeads(nn.Module):
    """One linear classifier per factor, all on the same embedding."""

    def __init__(self, dim: int, sizes: Sequence[int]):
        super().__init__()
        self.sizes = list(sizes)
        self.linear = nn.Linear(dim, sum(sizes))

    def forward(self, embedding: Tensor, labels: Tensor) -> Tensor:
        """(f,) the mean cross-entropy of each factor, 0 for a factor without labels in the batch.

        embedding (b, d) normalized; labels (b, f), −1 where unknown.
        """
        scores = self.linear(embedding * math.sqrt(embedding.shape[1])).split(self.sizes, dim=-1)
        sums = [
            F.cross_entropy(score, label, ignore_index=-1, reduction="sum")
            for score, label in zip(scores, labels.T, strict=True)
        ]
        return torch.stack(sums) / (labels >= 0).sum(0).clamp(min=1)
