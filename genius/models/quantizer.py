"""Residual quantizer: a vector becomes an ID, a short tuple of codes.

Level 0 is the modality (3 codes); levels 1 … M−1 are semantic, coarse to fine, with K codes each
(paper, section 4.2.3). Codebooks are moved by an exponential moving average, not by gradients.

Two ways to the first code. `forced` (default): level 0 is the known modality. `emergent`: as published,
three clusters form by themselves and their numbers are arbitrary.

Shapes: b batch, d dim, M levels, k codes of a level (3 or K).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.models.saving import load_model, save_model
from genius.schema import Modality
from genius.trie.ids import check_code_sizes

MODALITY_CODES = ("forced", "emergent")
GRADIENTS = ("rotation", "straight_through")
DISTANCES = ("squared", "published")
AVERAGES = ("hits_", "sums_")  # buffers that move the codebooks in training


@dataclass(frozen=True)
class QuantizerConfig:
    """The published values. Departures from the published code stand at the field that they belong to.

    A code's even share of a batch is 1 / k. The published code counts hits: a code is dead below 2 a step, where
    its even share is 3.906 (16,000 vectors, 4,096 codes).
    """

    dim: int = 768
    levels: int = 9  # length of an ID, modality included
    codebook_size: int = 4096  # K; k-means splits empty clusters, the published one keeps their old centroids
    modality_code: str = "forced"  # one of MODALITY_CODES; the published first code is emergent
    gradient: str = "rotation"  # one of GRADIENTS: how the loss reaches z through the codes
    decay: float = 0.9  # of the moving averages, per step; ours lack Laplace smoothing (an effect below 1e-6)
    dead_ratio: float = 0.5  # a code with less than this part of its even share restarts; published: 0.512
    restart_ratio: float = 0.5  # the part of its even share that a restarted code begins with; published: 0.512
    restart_spread: float = 1.0  # where a code restarts between a codeword (0) and a residual of the batch that it
    #                              quantized (1, published). At the residual it attracts little else; near 0 it
    #                              shares what the codeword had. Residuals are drawn with replacement, published without
    distance: str = "squared"  # one of DISTANCES, what the nearest codeword minimizes. squared: ‖e‖² − 2⟨r, e⟩.
    #                            published: √max(‖r − e‖², 1e-8) in fp32, where nearly equal distances round to one
    #                            number and the first code wins; set for imported checkpoints only

    def __post_init__(self):
        for value, choices in (
            (self.modality_code, MODALITY_CODES),
            (self.gradient, GRADIENTS),
            (self.distance, DISTANCES),
        ):
            if value not in choices:
                raise ValueError(f"{value!r} is unknown; expected one of {', '.join(choices)}")
        check_code_sizes(self.code_sizes)

    @property
    def code_sizes(self) -> tuple[int, ...]:
        """Codes at each level: (3, K, …, K)."""
        return (len(Modality),) + (self.codebook_size,) * (self.levels - 1)


@dataclass
class Quantized:
    """What quantizing a batch gives while training."""

    codes: Tensor  # (b, M)
    z: Tensor  # (b, d) sum of codewords, with a gradient to the input
    loss: Tensor  # Eq. 7, mean over levels and elements as in the published code


class ResidualQuantizer(nn.Module):
    """Each level quantizes what the levels before it left over."""

    def __init__(self, config: QuantizerConfig):
        super().__init__()
        self.config = config
        for level, size in enumerate(config.code_sizes):
            self.register_buffer(f"codebook_{level}", torch.zeros(size, config.dim))
            # both are averages of shares of a batch, so that no threshold depends on the batch size
            self.register_buffer(f"hits_{level}", torch.zeros(size))  # moving average
            self.register_buffer(f"sums_{level}", torch.zeros(size, config.dim))  # moving average

    @property
    def codebooks(self) -> list[Tensor]:
        """M codebooks, (k, d) each."""
        return [self.get_buffer(f"codebook_{level}") for level in range(self.config.levels)]

    @torch.no_grad()
    def encode(self, z: Tensor, modality: Tensor | None = None) -> Tensor:
        """(b, d) -> codes (b, M), coarse to fine (Eq. 4–6).

        modality (b,): forces the first code, as for candidates, whose modality is known.
        """
        residual, codes = z, []
        for level, codebook in enumerate(self.codebooks):
            code = self._nearest(level, residual, modality)
            residual = residual - codebook[code]
            codes.append(code)
        return torch.stack(codes, dim=-1)

    def decode(self, codes: Tensor) -> Tensor:
        """codes (b, m), m ≤ M levels -> (b, d), the sum of their codewords."""
        return sum(codebook[codes[:, level]] for level, codebook in enumerate(self.codebooks[: codes.shape[1]]))

    def forward(self, z: Tensor, modality: Tensor) -> Quantized:
        """Quantize a training batch; in train mode the codebooks follow it."""
        residual, quantized, losses, codes = z, torch.zeros_like(z), [], []
        for level, codebook in enumerate(self.codebooks):
            with torch.no_grad():
                code = self._nearest(level, residual, modality)
            word = codebook[code]  # (b, d)
            losses.append(F.mse_loss(residual, word))
            quantized = quantized + self._through(residual, word)
            if self.training:
                self._follow(level, residual.detach(), code)
            residual = residual - word
            codes.append(code)
        return Quantized(torch.stack(codes, dim=-1), quantized, torch.stack(losses).mean())

    def _nearest(self, level: int, residual: Tensor, modality: Tensor | None) -> Tensor:
        """(b,) code of each residual: Eq. 5, or the modality itself."""
        if level == 0 and modality is not None and self.config.modality_code == "forced":
            return modality
        codebook = self.codebooks[level]
        if self.config.distance == "published":
            squares = residual.square().sum(-1, keepdim=True) + codebook.square().sum(-1) - 2 * (residual @ codebook.T)
            return squares.clamp_min(1e-8).sqrt().argmin(dim=-1)
        return (codebook.square().sum(-1) - 2 * residual @ codebook.T).argmin(dim=-1)

    def _through(self, residual: Tensor, word: Tensor) -> Tensor:
        """The codewords in the forward pass; in the backward pass the gradient reaches the residual."""
        if self.config.gradient == "straight_through":
            return residual + (word - residual).detach()
        return rotate(residual, word)

    @torch.no_grad()
    def _follow(self, level: int, residual: Tensor, code: Tensor) -> None:
        """Move one codebook towards the batch (EMA) and restart codes that nothing hits."""
        codebook, hits, sums = (self.get_buffer(f"{name}_{level}") for name in ("codebook", "hits", "sums"))
        hit, total = shares(residual, code, len(codebook))
        hits.lerp_(hit, 1 - self.config.decay)
        sums.lerp_(total, 1 - self.config.decay)
        seen = hits > 1e-8
        codebook[seen] = sums[seen] / hits[seen, None]
        if level == 0:
            return
        even_share = 1 / len(codebook)
        dead = (hits < self.config.dead_ratio * even_share).nonzero().squeeze(1)
        if len(dead):
            chosen = torch.randint(len(residual), (len(dead),), device=residual.device)
            picked = torch.lerp(codebook[code[chosen]], residual[chosen], self.config.restart_spread)
            start = self.config.restart_ratio * even_share
            codebook[dead], sums[dead], hits[dead] = picked, picked * start, start

    @torch.no_grad()
    def initialise(self, z: Tensor, modality: Tensor, seed: int, iterations: int = 1000) -> None:
        """k-means on z (n, d), level by level; the forced level 0 takes the mean of each modality."""
        residual = z
        for level, codebook in enumerate(self.codebooks):
            if level == 0 and self.config.modality_code == "forced":
                for code in range(len(codebook)):
                    if (modality == code).any():
                        codebook[code] = z[modality == code].mean(0)
            else:
                codebook.copy_(kmeans(residual, len(codebook), iterations, seed + level))
            code = self._nearest(level, residual, modality)
            hit, total = shares(residual, code, len(codebook))
            self.get_buffer(f"hits_{level}").copy_(hit)
            self.get_buffer(f"sums_{level}").copy_(total)
            residual = residual - codebook[code]

    def save(self, folder: Path, half: bool = False) -> None:
        """What a reader needs; the moving averages stay in the checkpoints of training."""
        save_model(self, self.config, folder, half=half, without=AVERAGES)

    @classmethod
    def load(cls, folder: Path) -> ResidualQuantizer:
        return load_model(cls, QuantizerConfig, folder, without=AVERAGES)


def shares(residual: Tensor, code: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Of a batch (b, d) with codes (b,): the share that hit each code (k,), and their sums over b (k, d)."""
    hit = torch.bincount(code, minlength=size).to(residual.dtype) / len(code)
    total = torch.zeros(size, residual.shape[1], dtype=residual.dtype, device=residual.device)
    return hit, total.index_add_(0, code, residual) / len(code)


def rotate(source: Tensor, target: Tensor) -> Tensor:
    """(b, d) targets, through which gradients turn and scale as source turns into target.

    The rotation trick: R maps source onto target's direction and is held constant
    (Fifty et al. 2024, "Restructuring vector quantization with the rotation trick").
    """
    source_norm = source.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    target_norm = target.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    u, v = (source / source_norm).detach(), (target / target_norm).detach()
    middle = F.normalize(u + v, dim=-1)
    turned = source - 2 * (source * middle).sum(-1, keepdim=True) * middle + 2 * (source * u).sum(-1, keepdim=True) * v
    turned = turned * (target_norm / source_norm).detach()
    return turned + (target - turned).detach()  # exact in the forward pass


def kmeans(points: Tensor, k: int, iterations: int, seed: int) -> Tensor:
    """(n, d) -> (k, d) centroids by faiss. With fewer points than k, points repeat with a little noise."""
    vectors = np.ascontiguousarray(points.cpu().numpy(), dtype=np.float32)
    if len(vectors) <= k:
        rng = np.random.default_rng(seed)
        extra = vectors[rng.integers(len(vectors), size=k - len(vectors))]
        centroids = np.concatenate([vectors, extra + rng.normal(0, 1e-3, extra.shape)])
    else:
        clustering = faiss.Kmeans(
            vectors.shape[1], k, niter=iterations, seed=seed, min_points_per_centroid=1, max_points_per_centroid=256
        )
        clustering.train(vectors)
        centroids = clustering.centroids
    return torch.as_tensor(centroids, dtype=points.dtype, device=points.device)
