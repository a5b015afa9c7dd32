"""The ranker: orders candidates by all that a search knows of them, in place of the embedding's cosine alone (ours).

    score = Σ over parts of  weight[part] · part  +  bias[modality]

The parts of a candidate, for a query with embedding e and fused feature z:

    cosine      ⟨e, e'⟩ of the embeddings: what the published re-ranking orders by
    fused       ⟨z, z'⟩ of the fused features; z' is derived, see below
    quantized   2⟨z, ẑ'⟩ − ‖ẑ'‖²: minus the squared distance of the item's quantized vector, up to a constant
    decoder     log-probability of the codes that the beam search decoded
    first code  log-probability of the item's first code; both as the beam search has them: where the decoder has no
                weight, they are of the geometry

An index stores ẑ' (the ID) and e', not z'. What the quantizer lost of z' is predicted from e' by one linear map for
each modality, z' ≈ ẑ' + A e' + a, so that the ranker costs no byte per item.

The sum is linear, so each part's share of a score is known exactly. On the photographs, a hidden layer, reciprocal
ranks as further parts, and weights for each modality of candidates, of queries or of wanted items ranked the validation
queries no better.

Shapes: t candidates, b queries, d dim, p parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import with_config
from torch import Tensor, nn

from genius.models.saving import load_model, save_model
from genius.reading import EXACT, Size
from genius.schema import RANKER_PARTS, Modality


@with_config(EXACT)
@dataclass(frozen=True)
class RankerConfig:
    """The size of the vectors that it compares."""

    dim: Size = 768


class Ranker(nn.Module):
    """A weighted sum of RANKER_PARTS, and a bias for each modality of candidates."""

    def __init__(self, config: RankerConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.zeros(len(RANKER_PARTS)))
        self.bias = nn.Parameter(torch.zeros(len(Modality)))
        self.register_buffer(
            "residual_map", torch.zeros(len(Modality) * config.dim, config.dim)
        )  # A, one below another
        self.register_buffer("residual_bias", torch.zeros(len(Modality), config.dim))  # a

    def residual_queries(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """z (b, d) of queries -> Aᵀz (b, 3, d) and ⟨a, z⟩ (b, 3): then ⟨z, A e' + a⟩ is one inner product with e'."""
        maps = self.residual_map.view(len(Modality), self.config.dim, self.config.dim)
        return torch.einsum("mij,bi->bmj", maps, z), z @ self.residual_bias.T

    def forward(self, parts: Tensor, modality: Tensor) -> tuple[Tensor, Tensor]:
        """parts (t, p) of candidates with these modalities (t,) -> scores (t,), and the shares of the parts (t, p + 1).

        The last share is the modality's bias.
        """
        shares = torch.cat([self.weight * parts, self.bias[modality, None]], dim=1)
        return shares.sum(1), shares

    @torch.no_grad()
    def explained(self, z: Tensor, quantized: Tensor, embeddings: Tensor, modality: Tensor) -> float:
        """The share of ‖z − ẑ‖² of items that the map explains; arguments as of `fit_residuals`."""
        maps = self.residual_map.view(len(Modality), self.config.dim, self.config.dim)
        left = 0.0
        for kind in modality.unique().tolist():
            own = modality == kind
            derived = quantized[own] + embeddings[own] @ maps[kind].T + self.residual_bias[kind]
            left += float((z[own] - derived).square().sum())
        return 1 - left / max(float((z - quantized).square().sum()), 1e-12)

    @torch.no_grad()
    def fit_residuals(self, z: Tensor, quantized: Tensor, embeddings: Tensor, modality: Tensor, ridge: float) -> None:
        """Fit A and a on items: z, quantized vectors and embeddings (n, d), modality (n,), by least squares.

        ridge: penalty of A, as a share of the embeddings' mean variance times n. A modality without items keeps A = 0.
        """
        maps = self.residual_map.view(len(Modality), self.config.dim, self.config.dim)
        for kind in Modality:
            chosen = modality == kind
            if not chosen.any():
                continue
            residual, inputs = (z - quantized)[chosen].double(), embeddings[chosen].double()  # (n, d)
            center, mean = inputs.mean(0), residual.mean(0)
            x, y = inputs - center, residual - mean
            variance = (x.square().sum() / self.config.dim).clamp(min=1e-12)  # 0 for one item, or equal ones: A is 0
            penalty = ridge * variance * torch.eye(self.config.dim, dtype=torch.float64)
            solved = torch.linalg.solve(x.T @ x + penalty, x.T @ y)  # (d, d)
            maps[kind] = solved.T.float()
            self.residual_bias[kind] = (mean - center @ solved).float()

    def save(self, folder: Path, half: bool = False) -> None:
        """Write config and weights into `folder`; half: in half precision."""
        save_model(self, self.config, folder, half=half)

    @classmethod
    def load(cls, folder: Path) -> Ranker:
        """A saved ranker in eval mode. Raises UserError if the folder does not hold one."""
        return load_model(cls, RankerConfig, folder)
