"""The ranker: orders candidates by all that a search knows of them, in place of the embedding's cosine alone (ours).

    score = Σ over parts of  weight[part] · part  +  bias[modality]

The parts of a candidate, for a query with embedding e and fused feature z:

    cosine      ⟨e, e'⟩ of the embeddings: what the published re-ranking orders by
    fused       ⟨z, z'⟩ of the fused features; z' is derived, see below
    quantized   2⟨z, ẑ'⟩ − ‖ẑ'‖²: minus the squared distance of the item's quantized vector, up to a constant
    decoder     log-probability of the item's first two codes: further ones say little about items that lie near
    first code  log-probability of the item's first code

An index stores ẑ' (the ID) and e', not z'. What the quantizer lost of z' is predicted from both by one linear map for
each modality, z' ≈ ẑ' + A [e'; ẑ'] + a, so that the ranker costs no byte per item.

The sum is linear, so each part's share of a score is known exactly. On the photographs, a hidden layer, as further
parts reciprocal ranks or an item's similarity to queries at large (*hubness*), and weights for each modality of
candidates, of queries or of wanted items ranked held-out queries no better.

Shapes: t candidates, b queries, d dim, p parts.
"""

from dataclasses import dataclass

import torch
from pydantic import with_config
from torch import Tensor, nn

from genius.models.saving import SavedModule
from genius.reading import EXACT, Size
from genius.schema import RANKER_PARTS, Modality


@with_config(EXACT)
@dataclass(frozen=True)
class RankerConfig:
    """The size of the vectors that it compares."""

    dim: Size = 768


class Ranker(SavedModule):
    """A weighted sum of RANKER_PARTS, and a bias for each modality of candidates."""

    config_type = RankerConfig

    residual_map: Tensor  # (3 · d, 2d) A of each modality, one below another
    residual_bias: Tensor  # (3, d) a of each modality

    def __init__(self, config: RankerConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.zeros(len(RANKER_PARTS)))
        self.bias = nn.Parameter(torch.zeros(len(Modality)))
        self.register_buffer("residual_map", torch.zeros(len(Modality) * config.dim, 2 * config.dim))
        self.register_buffer("residual_bias", torch.zeros(len(Modality), config.dim))

    @property
    def maps(self) -> Tensor:
        """A of each modality (3, d, 2d)."""
        return self.residual_map.view(len(Modality), self.config.dim, 2 * self.config.dim)

    def residual_queries(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """z (b, d) of queries -> the halves of Aᵀz (b, 3, d) that belong to e' and to ẑ', and ⟨a, z⟩ (b, 3).

        Then ⟨z, A [e'; ẑ'] + a⟩ is an inner product with e' and one with ẑ'.
        """
        by_embedding, by_id = torch.einsum("mij,bi->bmj", self.maps, z).chunk(2, dim=-1)
        return by_embedding, by_id, z @ self.residual_bias.T

    def forward(self, parts: Tensor, modality: Tensor) -> tuple[Tensor, Tensor]:
        """parts (t, p) of candidates with these modalities (t,) -> scores (t,), and the shares of the parts (t, p + 1).

        The last share is the modality's bias.
        """
        shares = torch.cat([self.weight * parts, self.bias[modality, None]], dim=1)
        return shares.sum(1), shares

    @torch.no_grad()
    def explained(self, z: Tensor, quantized: Tensor, embeddings: Tensor, modality: Tensor) -> float:
        """The share of ‖z − ẑ‖² of items that the map explains; arguments as of `fit_residuals`."""
        remaining = 0.0
        for kind in modality.unique().tolist():
            chosen = modality == kind
            inputs = torch.cat([embeddings[chosen], quantized[chosen]], dim=1)  # (n, 2d)
            derived = quantized[chosen] + inputs @ self.maps[kind].T + self.residual_bias[kind]
            remaining += float((z[chosen] - derived).square().sum())
        return 1 - remaining / max(float((z - quantized).square().sum()), 1e-12)

    @torch.no_grad()
    def fit_residuals(self, z: Tensor, quantized: Tensor, embeddings: Tensor, modality: Tensor, ridge: float) -> None:
        """Fit A and a on items: z, quantized vectors and embeddings (n, d), modality (n,), by least squares.

        ridge: penalty of A, as a share of the inputs' mean variance times n. A modality without items keeps A = 0.
        """
        for kind in Modality:
            chosen = modality == kind
            if not chosen.any():
                continue
            residual = (z - quantized)[chosen].double()  # (n, d)
            inputs = torch.cat([embeddings[chosen], quantized[chosen]], dim=1).double()  # (n, 2d)
            center, mean = inputs.mean(0), residual.mean(0)
            x, y = inputs - center, residual - mean
            variance = (x.square().sum() / x.shape[1]).clamp(min=1e-12)  # 0 for one item, or equal ones: A is 0
            penalty = ridge * variance * torch.eye(x.shape[1], dtype=torch.float64)
            solved = torch.linalg.solve(x.T @ x + penalty, x.T @ y)  # (2d, d)
            self.maps[kind] = solved.T.float()
            self.residual_bias[kind] = (mean - center @ solved).float()
