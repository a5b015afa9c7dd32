"""ID decoder: transformers' T5 decoder generates the codes of an ID from a query's fused feature z.

z becomes N prefix embeddings that the decoder attends to (paper, Eq. 9). The token layout is the
published one: 0 pad and start, 1 end, 2 unknown, 3–5 modality, then K tokens for each further
level; an ID has no end token.

*Geometry in the logits* (option, ours): at each level, scale · (2⟨r, e⟩ − ‖e‖²) is added to the
logit of each code with codeword e, where r is the residual of z after the codes so far. These are
the log-odds by which the quantizer itself would prefer e, so the decoder only learns what the
codewords do not predict.

`forward` is teacher-forced training through transformers' own code; incremental_decoder.py does the
same arithmetic for a beam search.

Shapes: b queries, d dim of z, M levels, V tokens, k codes of a level, N prefix length, m model
width.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from pydantic import with_config
from torch import Tensor, nn
from transformers import T5Config, T5ForConditionalGeneration

from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import SavedModule
from genius.reading import EXACT, Depth, Share, Size, SizeOrNone
from genius.schema import Modality

START = 0  # T5's pad token starts the sequence
SPECIAL_TOKENS = 3  # pad, end, unknown


@with_config(EXACT)
@dataclass(frozen=True)
class DecoderConfig:
    """The published T5-small sizes. `dim`, `levels` and `codebook_size` are the quantizer's."""

    dim: Size = 768
    levels: Depth = 9
    codebook_size: Size = 4096
    sizes: tuple[Size, ...] = ()  # codes at each level, where they are not (3, K, …, K)
    width: Size = 512
    layers: Depth = 6
    heads: Size = 8
    head_width: Size = 64
    ff_width: Size = 2048
    prefix: Size = 30
    # 0: one linear layer as published; else an MLP (paper, Eq. 9) of this width
    prefix_hidden: SizeOrNone = 0
    dropout: Share = 0.1
    # code embeddings start as projected codewords times this (published)
    embedding_scale: float = 100.0
    geometry: bool = False
    geometry_scale: float = 20.0  # initial value of the scale that each level learns
    # weight of the decoder against geometry in a search; chosen on validation queries
    decoder_weight: Share = 1.0

    def __post_init__(self) -> None:
        """Raises ValueError if `sizes` has entries, but not one for each level."""
        if self.sizes and len(self.sizes) != self.levels:
            raise ValueError(
                f"sizes has {len(self.sizes)} entries; expected none or one for each of "
                f"{self.levels}"
            )

    @property
    def code_sizes(self) -> tuple[int, ...]:
        """Codes at each level: (3, K, …, K), unless `sizes` says otherwise."""
        return tuple(self.sizes) or (len(Modality),) + (self.codebook_size,) * (self.levels - 1)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Token of code 0 at each level."""
        return tuple(accumulate(self.code_sizes[:-1], initial=SPECIAL_TOKENS))

    @property
    def vocabulary(self) -> int:
        """V: special tokens and the codes of all levels."""
        return self.offsets[-1] + self.code_sizes[-1]


class IDDecoder(SavedModule):
    """A T5 decoder whose tokens are codes."""

    config_type = DecoderConfig

    def __init__(self, config: DecoderConfig):
        super().__init__()
        self.config = config
        out = config.prefix * config.width
        self.project: nn.Module = nn.Linear(config.dim, config.prefix_hidden or out)
        if config.prefix_hidden:
            self.project = nn.Sequential(
                self.project, nn.ReLU(), nn.Linear(config.prefix_hidden, out)
            )
        sizes: dict[str, Any] = {
            "vocab_size": config.vocabulary,
            "d_model": config.width,
            "d_kv": config.head_width,
            "d_ff": config.ff_width,
            "num_layers": 0,
            "num_decoder_layers": config.layers,
            "num_heads": config.heads,
            "dropout_rate": config.dropout,
            "decoder_start_token_id": START,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "use_cache": False,
        }
        # Any: torch knows no types of submodules
        self.t5: Any = T5ForConditionalGeneration(T5Config(**sizes))
        for level, size in enumerate(config.code_sizes):
            self.register_buffer(f"codebook_{level}", torch.zeros(size, config.dim))
        scales = torch.full((config.levels,), config.geometry_scale)
        self.log_scales = nn.Parameter(scales.log(), requires_grad=config.geometry)

    @property
    def codebooks(self) -> list[Tensor]:
        """M codebooks of the quantizer that this decoder was trained for, (k, d) each."""
        return [self.get_buffer(f"codebook_{level}") for level in range(self.config.levels)]

    @property
    def blend_scale(self) -> float:
        """The mean geometry scale, which makes geometry comparable to log-probabilities where a
        search blends them.
        """
        return float(self.log_scales.exp().mean())

    @torch.no_grad()
    def initialize(self, quantizer: ResidualQuantizer) -> None:
        """Copy the quantizer's codebooks; code embeddings start as random projections of them (as
        published).
        """
        projection = nn.Linear(self.config.dim, self.config.width, bias=False)
        embedding = self.t5.shared.weight
        for offset, copy, codebook in zip(
            self.config.offsets, self.codebooks, quantizer.codebooks, strict=True
        ):
            copy.copy_(codebook)
            projected = projection(F.normalize(codebook, dim=-1))
            embedding[offset : offset + len(codebook)] = projected * self.config.embedding_scale

    def forward(self, z: Tensor, codes: Tensor) -> Tensor:
        """Teacher-forced logits of each code given those before it: z (b, d), codes (b, M) ->
        (b, M, V).
        """
        tokens = codes + torch.tensor(self.config.offsets, device=codes.device)
        shifted = F.pad(tokens[:, :-1], (1, 0), value=START)
        logits = self.t5(inputs_embeds=self._prefix(z), decoder_input_ids=shifted).logits.float()
        if self.config.geometry:
            logits = logits + self._geometry_logits(z, codes)
        return logits

    @torch.inference_mode()
    def code_log_probs(self, z: Tensor, codes: Tensor) -> list[Tensor]:
        """Log-probabilities of all codes of each level after those before: z (b, d), codes (b, M)
        -> M times (b, k).
        """
        logits = self(z, codes)
        spans = zip(self.config.offsets, self.config.code_sizes, strict=True)
        return [
            logits[:, level, at : at + size].log_softmax(-1)
            for level, (at, size) in enumerate(spans)
        ]

    def _geometry_logits(self, z: Tensor, codes: Tensor) -> Tensor:
        """(b, M, V) scaled geometry of each level's codes given the codes before; 0 for other
        tokens.
        """
        logits = []
        residual = z
        with torch.autocast(z.device.type, enabled=False):  # distances need full precision
            for level, codebook in enumerate(self.codebooks):
                scaled = codeword_scores(residual, codebook) * self.log_scales[level].exp()
                start = self.config.offsets[level]
                end = self.config.offsets[level] + len(codebook)
                logits.append(F.pad(scaled, (start, self.config.vocabulary - end)))
                residual = residual - codebook[codes[:, level]]
        return torch.stack(logits, dim=1)

    def _prefix(self, z: Tensor) -> Tensor:
        return self.project(z).unflatten(-1, (self.config.prefix, self.config.width))  # (b, N, m)


def codeword_scores(residual: Tensor, codebook: Tensor) -> Tensor:
    """The unscaled geometry 2⟨r, e⟩ − ‖e‖² of residuals (…, d) and codewords (k, d) -> (…, k).

    Summed over the levels of an ID it is ‖z‖² − ‖z − ẑ‖², so the best ID has the nearest quantized
    vector ẑ.
    """
    return 2 * residual @ codebook.T - codebook.square().sum(-1)
