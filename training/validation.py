"""Validation: queries with unseen targets, and hit rates of fusion and quantizer in blocks over all candidates.

Shapes: q queries of a split, s queries of a sample.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from training.features import FeatureSet
from training.pairs import Pairs

SAMPLE = 2000  # validation queries


@torch.inference_mode()
def hit_rates(
    fusion: Fusion,
    quantizer: ResidualQuantizer,
    data: FeatureSet,
    seed: int,
    device: str,
    block: int = 8192,
    row_names: Sequence[str] = (),
) -> tuple[float, float]:
    """hit@5 of validation queries among all candidates: by z, and by exhaustive search over quantized vectors.

    row_names: of queries of these benchmark rows, see Pairs.row_mask.
    """
    rng = np.random.default_rng(seed)
    sample = np.sort(rng.permutation(np.flatnonzero(data.pairs.row_mask(row_names)))[:SAMPLE])
    query = fusion(data.query_files.features(sample).to(device))  # (s, d)
    best = [TopRows(len(sample), device) for _ in range(2)]
    for start in range(0, len(data.candidates), block):
        rows = slice(start, start + block)
        modality = torch.from_numpy(data.candidates.modalities[rows]).long().to(device)
        z = fusion(data.candidate_files.features(rows).to(device))
        for top, vectors in zip(best, (z, quantizer.decode(quantizer.encode(z, modality))), strict=True):
            top.add(2 * query @ vectors.T - vectors.square().sum(-1), start)  # by distance
    by_z, by_quantized = [
        np.mean([data.pairs.positive_mask(sample[[at]], rows).any() for at, rows in enumerate(top.rows())])
        for top in best
    ]
    return float(by_z), float(by_quantized)


def unseen_queries(pairs: Pairs, trained: np.ndarray, per_row: int, seed: int, at_least: int = 0) -> np.ndarray:
    """Numbers of queries none of whose positives was a training target, ascending; at most per_row of each row.

    trained: candidate rows of the training targets. at_least: a row that has fewer such queries is filled up to so many
    with queries whose targets training saw.
    """
    seen = np.logical_or.reduceat(np.isin(pairs.positives, trained), pairs.offsets[:-1])  # (q,) some positive was one
    rng = np.random.default_rng(seed)
    chosen = []
    for row in range(len(pairs.datasets)):
        in_row = pairs.rows == row
        unseen = rng.permutation(np.flatnonzero(in_row & ~seen))[:per_row]
        chosen.append(unseen)
        if len(unseen) < at_least:
            chosen.append(rng.permutation(np.flatnonzero(in_row & seen))[: at_least - len(unseen)])
    return np.sort(np.concatenate(chosen))


class TopRows:
    """The five best candidate rows of each of s queries, updated block by block."""

    def __init__(self, queries: int, device: str):
        self._scores = torch.full((queries, 5), -torch.inf, device=device)
        self._rows = torch.full((queries, 5), -1, device=device)

    def add(self, scores: Tensor, start: int) -> None:
        """scores (s, block) of the candidates from row `start` on."""
        rows = torch.arange(start, start + scores.shape[1], device=scores.device).expand_as(scores)
        self._scores, at = torch.cat([self._scores, scores], dim=1).topk(5)
        self._rows = torch.cat([self._rows, rows], dim=1).gather(1, at)

    def rows(self) -> np.ndarray:
        """(s, 5)"""
        return self._rows.cpu().numpy()
