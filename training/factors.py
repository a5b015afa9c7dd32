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
from genius.explore.factors import read_factors
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
            raise UserError(f"encoder.factor_weight is set, but {collection.root} has no factors: "
                            "a JSON object of them belongs in src_content and query_src_content")
        datasets = [key_dataset(id_key(item.id)) for item in items]
        for name, values in (("modality", [item.modality for item in items]), ("dataset", datasets)):
            numbers = np.unique(values, return_inverse=True)[1]
            table[name] = np.concatenate([numbers[targets], numbers])
        self.sizes = {name: int(values.max()) + 1 for name, values in table.items()}
        self.queries, self.candidates = np.split(np.stack(list(table.values()), axis=1), [len(asked)])   # (·, f)


class FactorHeads(nn.Module):
    """One linear classifier for each factor, all on the same embedding."""

    def __init__(self, dim: int, sizes: Sequence[int]):
        super().__init__()
        self.sizes = list(sizes)
        self.linear = nn.Linear(dim, sum(sizes))

    def forward(self, embedding: Tensor, labels: Tensor) -> Tensor:
        """The cross-entropy, averaged over the factors that appear. embedding (b, d) normalised; labels (b, f)."""
        scores = self.linear(embedding * math.sqrt(embedding.shape[1])).split(self.sizes, dim=-1)
        known = (labels >= 0).any(0).tolist()
        losses = [F.cross_entropy(score, label, ignore_index=-1)
                  for score, label, appears in zip(scores, labels.T, known, strict=True) if appears]
        return torch.stack(losses).mean() if losses else embedding.new_zeros(())
