"""The fusion module h(x, y): image and text features become one vector for the quantizer.

h(x, y) = λ·x + (1 − λ)·y + MLP([x; y]), with λ predicted from the features (paper, section 4.2.1).
As in the published code, both features first pass a linear layer and a ReLU, the text comes first
in the concatenation, λ weighs the text, and the output is normalized. A missing part is a zero
vector; its branch still contributes ReLU(bias). Where an instruction is encoded apart from the text
(ours), it has a third branch, through which it reaches MLP and λ alone: z says what is asked for,
the embedding does not.

Shapes: b batch, d embedding dim, p width of each branch, h hidden width.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from pydantic import with_config
from torch import Tensor, nn

from genius.models.encoder import Features
from genius.models.saving import SavedModule
from genius.reading import EXACT, Size, SizeOrNone


@with_config(EXACT)
@dataclass(frozen=True)
class FusionConfig:
    """The published sizes."""

    dim: Size = 768
    # 0: no branches; the MLPs read the features themselves, as in the paper's text
    branch: SizeOrNone = 2560
    hidden: Size = 5120
    # a branch for instructions, of an encoder that reads them apart (ours)
    instruction: bool = False


class Fusion(SavedModule):
    """h(x, y), trained together with the quantizer."""

    config_type = FusionConfig

    def __init__(self, config: FusionConfig):
        super().__init__()
        self.config = config
        width = (3 if config.instruction else 2) * (config.branch or config.dim)
        if config.branch:
            self.text_branch = nn.Linear(config.dim, config.branch)
            self.image_branch = nn.Linear(config.dim, config.branch)
        if config.branch and config.instruction:
            self.instruction_branch = nn.Linear(config.dim, config.branch)
        self.mix = nn.Sequential(
            nn.Linear(width, config.hidden), nn.ReLU(), nn.Linear(config.hidden, config.dim)
        )
        self.gate = nn.Sequential(
            nn.Linear(width, config.hidden), nn.ReLU(), nn.Linear(config.hidden, 1)
        )

    def forward(self, features: Features) -> Tensor:
        """Encoder features -> fused feature z (b, d), L2-normalized: the input of quantizer and
        decoder.
        """
        parts = {"text_branch": features.text, "image_branch": features.image}
        if self.config.instruction:
            given = features.instruction
            parts["instruction_branch"] = (
                torch.zeros_like(features.text) if given is None else given
            )
        if self.config.branch:
            parts = {name: F.relu(getattr(self, name)(part)) for name, part in parts.items()}
        # (b, 2p) or (b, 3p); without branches d in place of p
        branches = torch.cat(list(parts.values()), dim=-1)
        text_weight = torch.sigmoid(self.gate(branches))  # (b, 1) λ
        z = self.mix(branches) + text_weight * features.text + (1 - text_weight) * features.image
        return F.normalize(z, dim=-1)
