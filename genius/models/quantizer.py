"""Residual quantizer: a vector becomes an ID, a short tuple of codes.

Level 0 is the modality (3 codes); levels 1 … M−1 are semantic, coarse to fine, with K codes each
(paper, section 4.2.3). Codebooks are updated by an exponential moving average (EMA), not by
gradients.

The first code is one of (`modality_code`):

    forced      the known modality (default)
    emergent    as published: three clusters form by themselves, and their numbers are arbitrary
    classifier  what a linear classifier reads from z; its codewords are zero, so that quantization
                knows no modality (supplement, C.2)
    none        no modality: level 0 has K codes like the others (supplement, C.2)

Shapes: b batch, d dim, M levels, k codes of a level (3 or K).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from pydantic import with_config
from torch import Tensor, nn

from genius.errors import quoted
from genius.models.kmeans import kmeans
from genius.models.saving import SavedModule
from genius.reading import EXACT, Depth, Share, Size
from genius.schema import Modality
from genius.trie.ids import check_code_sizes

MODALITY_CODES = ("forced", "emergent", "classifier", "none")
GRADIENTS = ("rotation", "straight_through")
DISTANCES = ("squared", "published")
# only training needs them; a saved quantizer lacks them
EMA_BUFFERS = ("cluster_size_", "embed_avg_")
MIN_CLUSTER_SIZE = 1e-8  # a codeword with less stays where it is


@with_config(EXACT)
@dataclass(frozen=True)
class QuantizerConfig:
    """The published values. Departures from the published code are noted at the field that they
    belong to.

    A code's even share of a batch is 1 / k. The published code counts hits: a code is dead below 2
    a step, where its even share is 3.906 (16,000 vectors, 4,096 codes).
    """

    dim: Size = 768
    levels: Depth = 9  # length of an ID, modality included
    # K; k-means fills empty clusters, the published one keeps their old centroids
    codebook_size: Size = 4096
    modality_code: str = "forced"  # one of MODALITY_CODES; the published first code is emergent
    shared: bool = False  # all levels but the first use one codebook (supplement, C.5)
    gradient: str = "rotation"  # one of GRADIENTS: how the loss reaches z through the codes
    # of the moving averages, per step; ours lack Laplace smoothing (an effect below 1e-6)
    decay: Share = 0.9
    # a code with less than this part of its even share restarts; published: 0.512
    dead_ratio: float = 0.5
    # the part of its even share that a restarted code begins with; published: 0.512
    restart_ratio: float = 0.5
    # where a code restarts between a codeword (0) and a residual of the batch that it quantized (1,
    # published). At the residual it attracts little else; near 0 it shares what the codeword had.
    # Residuals are drawn with replacement, published without
    restart_spread: float = 1.0
    # one of DISTANCES, what the nearest codeword minimizes. squared: ‖e‖² − 2⟨r, e⟩. published:
    # √max(‖r − e‖², 1e-8) in fp32, where nearly equal distances round to one number and the first
    # code wins; set for imported checkpoints and preset paper
    distance: str = "squared"

    def __post_init__(self) -> None:
        """Raises ValueError for an unknown choice, and for a level of more codes than fit 16
        bits.
        """
        for value, choices in (
            (self.modality_code, MODALITY_CODES),
            (self.gradient, GRADIENTS),
            (self.distance, DISTANCES),
        ):
            if value not in choices:
                raise ValueError(
                    f"{quoted(value)} is unknown; expected one of {', '.join(choices)}"
                )
        check_code_sizes(self.code_sizes)

    @property
    def code_sizes(self) -> tuple[int, ...]:
        """Codes at each level: (3, K, …, K), or K at all where no code is the modality."""
        first = self.codebook_size if self.modality_code == "none" else len(Modality)
        return (first,) + (self.codebook_size,) * (self.levels - 1)


@dataclass
class QuantizedBatch:
    """A quantized training batch."""

    codes: Tensor  # (b, M)
    z_hat: Tensor  # (b, d) sum of codewords, with a gradient to the input
    loss: Tensor  # () Eq. 7, mean over levels and elements as in the published code
    modality_loss: Tensor  # () cross-entropy of the first code's classifier; 0 without one


class ResidualQuantizer(SavedModule):
    """Each level quantizes the residual of the levels before it."""

    config_type = QuantizerConfig
    training_buffers = EMA_BUFFERS

    def __init__(self, config: QuantizerConfig):
        super().__init__()
        self.config = config
        if config.modality_code == "classifier":
            self.classifier = nn.Linear(config.dim, len(Modality))
        for level, size in enumerate(config.code_sizes[: 2 if config.shared else None]):
            self.register_buffer(f"codebook_{level}", torch.zeros(size, config.dim))
            # moving averages of shares of a batch, so that no threshold depends on the batch size
            self.register_buffer(f"cluster_size_{level}", torch.zeros(size))
            self.register_buffer(f"embed_avg_{level}", torch.zeros(size, config.dim))

    @property
    def codebooks(self) -> list[Tensor]:
        """M codebooks, (k, d) each."""
        return [self._buffer("codebook", level) for level in range(self.config.levels)]

    def _buffer(self, name: str, level: int) -> Tensor:
        """The buffer of a level; the levels after the first may share one."""
        return self.get_buffer(f"{name}_{min(level, 1) if self.config.shared else level}")

    @torch.no_grad()
    def encode(self, z: Tensor, modality: Tensor | None = None) -> Tensor:
        """Fused features z (b, d) -> codes (b, M), coarse to fine (Eq. 4–6).

        modality (b,): forces the first code, as for candidates, whose modality is known.
        """
        residual = z
        codes = []
        for level, codebook in enumerate(self.codebooks):
            code = self._nearest(level, residual, modality)
            residual = residual - codebook[code]
            codes.append(code)
        return torch.stack(codes, dim=-1)

    def decode(self, codes: Tensor) -> Tensor:
        """Codes (b, m) of the first m ≤ M levels -> quantized vectors (b, d), the sums of their
        codewords.
        """
        codebooks = self.codebooks[: codes.shape[1]]
        total = codebooks[0][codes[:, 0]]
        for level, codebook in enumerate(codebooks[1:], start=1):
            total = total + codebook[codes[:, level]]
        return total

    def forward(self, z: Tensor, modality: Tensor) -> QuantizedBatch:
        """Quantize a training batch z (b, d), modality (b,); in train mode this updates the
        codebooks.
        """
        residual = z
        quantized = torch.zeros_like(z)
        losses = []
        codes = []
        modality_loss = z.new_zeros(())
        if self.config.modality_code == "classifier":
            modality_loss = F.cross_entropy(self.classifier(z), modality)
        for level, codebook in enumerate(self.codebooks):
            with torch.no_grad():
                code = self._nearest(level, residual, modality)
            codeword = codebook[code]  # (b, d)
            losses.append(F.mse_loss(residual, codeword))
            # the codewords, whose gradient reaches the residual, by straight-through or rotation
            straight = self.config.gradient == "straight_through"
            passed = (
                residual + (codeword - residual).detach()
                if straight
                else rotate(residual, codeword)
            )
            quantized = quantized + passed
            if self.training and not self._is_classified(level):
                self._update_ema(level, residual.detach(), code)
            residual = residual - codeword
            codes.append(code)
        return QuantizedBatch(
            torch.stack(codes, dim=-1), quantized, torch.stack(losses).mean(), modality_loss
        )

    def _nearest(self, level: int, residual: Tensor, modality: Tensor | None) -> Tensor:
        """(b,) code of each residual (b, d): Eq. 5, or the modality itself."""
        if level == 0 and modality is not None and self.config.modality_code == "forced":
            return modality
        if self._is_classified(level):
            return self.classifier(residual).argmax(dim=-1)
        codebook = self._buffer("codebook", level)
        if self.config.distance == "published":
            squares = (
                residual.square().sum(-1, keepdim=True)
                + codebook.square().sum(-1)
                - 2 * (residual @ codebook.T)
            )
            return squares.clamp_min(1e-8).sqrt().argmin(dim=-1)
        return (codebook.square().sum(-1) - 2 * residual @ codebook.T).argmin(dim=-1)

    def _is_classified(self, level: int) -> bool:
        """Whether the code of this level is read by the classifier, and its codewords are zero."""
        return level == 0 and self.config.modality_code == "classifier"

    @torch.no_grad()
    def _update_ema(self, level: int, residual: Tensor, code: Tensor) -> None:
        """Move one codebook towards the batch and restart dead codes, those that hardly any
        residual chooses.
        """
        codebook = self._buffer("codebook", level)  # (k, d)
        # (k,), (k, d)
        cluster_size = self._buffer("cluster_size", level)
        embed_avg = self._buffer("embed_avg", level)
        share, mean = cluster_statistics(residual, code, len(codebook))
        cluster_size.lerp_(share, 1 - self.config.decay)
        embed_avg.lerp_(mean, 1 - self.config.decay)
        used = cluster_size > MIN_CLUSTER_SIZE
        codebook[used] = embed_avg[used] / cluster_size[used, None]
        if level == 0 and self.config.modality_code != "none":
            return
        even_share = 1 / len(codebook)
        dead = (cluster_size < self.config.dead_ratio * even_share).nonzero().squeeze(1)
        if len(dead):
            drawn = torch.randint(len(residual), (len(dead),), device=residual.device)
            restarted = torch.lerp(
                codebook[code[drawn]], residual[drawn], self.config.restart_spread
            )
            size = self.config.restart_ratio * even_share
            codebook[dead], embed_avg[dead], cluster_size[dead] = restarted, restarted * size, size

    @torch.no_grad()
    def initialize(self, z: Tensor, modality: Tensor, seed: int, iterations: int = 1000) -> None:
        """k-means on z (n, d), level by level; a forced level 0 takes the mean of each modality
        (n,).

        A shared codebook starts as that of level 1.
        """
        residual = z
        for level, codebook in enumerate(self.codebooks[: 2 if self.config.shared else None]):
            if self._is_classified(level):
                continue
            if level == 0 and self.config.modality_code == "forced":
                for kind in range(len(codebook)):
                    if (modality == kind).any():
                        codebook[kind] = z[modality == kind].mean(0)
            else:
                codebook.copy_(kmeans(residual, len(codebook), iterations, seed + level))
            code = self._nearest(level, residual, modality)
            share, mean = cluster_statistics(residual, code, len(codebook))
            self._buffer("cluster_size", level).copy_(share)
            self._buffer("embed_avg", level).copy_(mean)
            residual = residual - codebook[code]


def cluster_statistics(residual: Tensor, code: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Residuals (b, d), codes (b,) -> each code's share of the batch (k,), and the sum of its
    residuals, divided by b (k, d).
    """
    share = torch.bincount(code, minlength=size).to(residual.dtype) / len(code)
    total = torch.zeros(size, residual.shape[1], dtype=residual.dtype, device=residual.device)
    return share, total.index_add_(0, code, residual) / len(code)


def rotate(source: Tensor, target: Tensor) -> Tensor:
    """Sources (b, d), targets (b, d) -> the targets (b, d); gradients pass to the sources, rotated
    and scaled as source turns into target.

    The rotation trick: R maps source onto target's direction and is held constant (Fifty et al.
    2024, "Restructuring vector quantization with the rotation trick").
    """
    source_norm = source.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    target_norm = target.norm(dim=-1, keepdim=True).clamp_min(1e-6)
    u = (source / source_norm).detach()
    v = (target / target_norm).detach()
    middle = F.normalize(u + v, dim=-1)
    turned = (
        source
        - 2 * (source * middle).sum(-1, keepdim=True) * middle
        + 2 * (source * u).sum(-1, keepdim=True) * v
    )
    turned = turned * (target_norm / source_norm).detach()
    return turned + (target - turned).detach()  # exact in the forward pass
