"""A decoder for tests: seeded log-probabilities of every prefix, known in advance."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genius.models.decoder import codeword_scores


@dataclass
class FixedCache:
    query: Tensor  # (b,)
    prefix: Tensor  # (b, w) number of the prefix so far
    level: int = 0
    level_scores: None = None

    def keep(self, queries: Tensor) -> None:
        self.query, self.prefix = self.query[queries], self.prefix[queries]


class FixedDecoder:
    """Speaks the search's side of IncrementalDecoder. Query i is told apart by its feature's first
    number, i.

    Some probability goes to tokens that are no code of the level, as with a softmax over all
    tokens.
    """

    blend_scale = 0.7

    def __init__(
        self, sizes: tuple[int, ...], queries: int, dim: int = 5, seed: int = 0, shrink: float = 1.0
    ):
        """shrink: how much shorter the codewords of each level are than those before."""
        rng = np.random.default_rng(seed)
        self.sizes = sizes
        self.codebooks = [
            torch.tensor(rng.normal(size=(size, dim)) * shrink**level, dtype=torch.float32)
            for level, size in enumerate(sizes)
        ]
        self.features = torch.tensor(rng.normal(size=(queries, dim)), dtype=torch.float32)
        self.features[:, 0] = torch.arange(queries)
        self.tables = []
        for level, size in enumerate(sizes):
            logits = rng.normal(size=(queries, int(np.prod(sizes[:level])), size + 2))
            self.tables.append(
                torch.tensor(logits, dtype=torch.float32).log_softmax(-1)[..., :size]
            )

    def start(self, features: Tensor, beams: int) -> FixedCache:
        query = features[:, 0].long()
        return FixedCache(query, torch.zeros(len(features), 1, dtype=torch.long))

    def step(
        self,
        cache: FixedCache,
        parents: Tensor | None = None,
        codes: Tensor | None = None,
        whole_vocabulary: bool = True,
    ) -> Tensor:
        if codes is not None:
            cache.prefix = cache.prefix.gather(1, parents) * self.sizes[cache.level - 1] + codes
        log_probs = self.tables[cache.level][cache.query[:, None], cache.prefix].flatten(0, 1)
        cache.level += 1
        return log_probs if whole_vocabulary else log_probs.log_softmax(-1)

    def level_scores(self, residual: Tensor, level: int) -> Tensor:
        return codeword_scores(residual, self.codebooks[level])

    def gains(
        self, query: int, prefix: tuple[int, ...], weight: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """(k,) log-probabilities and (k,) blended gains after a prefix, the slow way, in
        float64.
        """
        residual = self.features[query].numpy().astype(np.float64)
        number = 0
        for level, code in enumerate(prefix):
            residual = residual - self.codebooks[level][code].numpy()
            number = number * self.sizes[level] + code
        words = self.codebooks[len(prefix)].numpy().astype(np.float64)
        odds = self.blend_scale * (2 * words @ residual - (words**2).sum(1))
        log_probs = self.tables[len(prefix)][query, number].numpy().astype(np.float64)
        if weight == 0:
            log_probs = odds - np.log(np.exp(odds).sum())
        return log_probs, weight * log_probs + (1 - weight) * odds

    def readable(self, query: int, prefix: tuple[int, ...], weight: float) -> np.ndarray:
        """(k,) log-probabilities after a prefix among the codes of the level, the slow way."""
        log_probs, _ = self.gains(query, prefix, weight)
        return log_probs - np.log(np.exp(log_probs).sum())

    def score(self, query: int, codes: tuple[int, ...], weight: float) -> float:
        """Of a whole ID, the slow way."""
        return sum(
            self.gains(query, codes[:level], weight)[1][code] for level, code in enumerate(codes)
        )
