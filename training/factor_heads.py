"""Let the encoder name what things are made of while it learns (ours).

Pretrained CLIP has seen what words look like many million times over. Where items carry their factors (kind, colour,
count, …), an encoder that starts from nothing learns them too, by linear heads that are dropped afterwards. Two more
name the modality and the dataset of the target, which are what an instruction says.

Shapes: b things, d embedding dim, f factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    """The factors of the training queries and of the candidates that answer them, as numbers; −1 where unknown."""

    def __init__(self, collection: Collection, items: Sequence[Item], targets: Sequence[int]):
        """items: the candidates. targets (q,): which of them answers each query.

        Raises UserError if nothing has factors.
        """
        asked = [query for row in collection.rows() for query in collection.queries("train", row)]
        table = read_factors([*asked, *items])
        if not table:
            raise UserError(
                f"encoder.factor_weight is set, but {collection.root} has no factors: "
                "a JSON object of them belongs in src_content and query_src_content"
            )
        modalities = np.array([item.modality for item in items])
        datasets = np.unique([key_dataset(id_key(item.id)) for item in items], return_inverse=True)[1]
        for name, values in (("modality", modalities), ("dataset", datasets)):
            table[name] = np.concatenate([values[targets], values])
        self.sizes = {name: int(values.max()) + 1 for name, values in table.items()}
        self.queries, self.candidates = np.split(np.stack(list(table.values()), axis=1), [len(asked)])  # (·, f)

    def asked_otherwise(self, queries: np.ndarray, modalities: np.ndarray) -> np.ndarray:
        """(b, f) the factors of these queries, asked for these modalities (b,); -1 for what training asks."""
        factors, swapped = self.queries[queries], modalities >= 0
        names = list(self.sizes)
        factors[swapped, names.index("modality")] = modalities[swapped]
        factors[swapped, names.index("dataset")] = -1
        return factors


class FactorHeads(nn.Module):
    """One linear classifier for each factor, all on the same embedding."""

    def __init__(self, dim: int, sizes: Sequence[int]):
        super().__init__()
        self.sizes = list(sizes)
        self.linear = nn.Linear(dim, sum(sizes))

    def forward(self, embedding: Tensor, labels: Tensor) -> Tensor:
        """(f,) the cross-entropy of each factor, 0 of one that does not appear.

        embedding (b, d) normalised; labels (b, f).
        """
        scores = self.linear(embedding * math.sqrt(embedding.shape[1])).split(self.sizes, dim=-1)
        sums = [
            F.cross_entropy(score, label, ignore_index=-1, reduction="sum")
            for score, label in zip(scores, labels.T, strict=True)
        ]
        return torch.stack(sums) / (labels >= 0).sum(0).clamp(min=1)
