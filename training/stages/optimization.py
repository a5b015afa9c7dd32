"""What the training stages share: contrastive loss, optimizer, a step, learning rate schedule and
average of weights.

Shapes: b pairs of a batch, d dim.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from genius.runtime import computes_bf16
from training.distributed import average_gradients

EPS = 1e-6  # of AdamW, in the published code of every stage
# in the name of a parameter, as in the published code
NOT_DECAYED = ("bn", "ln", "bias", "logit_scale")


def contrastive_loss(
    query: Tensor,
    target: Tensor,
    scale: Tensor | float,
    positive_mask: Tensor | None,
    symmetric: bool,
) -> Tensor:
    """InfoNCE (Eq. 2, Eq. 3) over a batch of pairs, in which other positives are not negatives if
    they are given.

    query, target: (b, d) normalized; positive_mask: (b, b) bool, target j is a positive of query i
    -> loss (), 0 if b is 0.
    """
    labels = torch.arange(len(query), device=query.device)
    logits = scale * query @ target.T
    if positive_mask is not None:
        others = positive_mask & ~torch.eye(len(query), dtype=torch.bool, device=query.device)
        logits = logits.masked_fill(others, -torch.inf)
    if not len(query):  # the mean over no rows would be NaN
        return logits.sum()
    loss = F.cross_entropy(logits, labels)
    return (loss + F.cross_entropy(logits.T, labels)) / 2 if symmetric else loss


def adamw(
    model: nn.Module,
    learning_rate: float,
    weight_decay: float,
    betas: tuple[float, float],
    decay_all: bool = False,
    fused: bool | None = None,
) -> torch.optim.AdamW:
    """AdamW with weight decay of matrices only, as in the published code; decay_all: of every
    parameter. fused: as torch's; None: torch chooses.
    """
    decayed, others = list[nn.Parameter](), list[nn.Parameter]()
    for name, parameter in model.named_parameters():
        is_matrix = parameter.ndim > 1 and not any(part in name for part in NOT_DECAYED)
        if parameter.requires_grad:
            (decayed if decay_all or is_matrix else others).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    used = [group for group in groups if group["params"]]
    return torch.optim.AdamW(used, lr=learning_rate, betas=betas, eps=EPS, fused=fused)


def bf16_where_fast(device: torch.device | str, requested: bool) -> torch.autocast:
    """Mixed precision, if it is wanted and the device does not have to emulate it; otherwise
    float32.
    """
    return torch.autocast(
        torch.device(device).type, torch.bfloat16, enabled=requested and computes_bf16(device)
    )


def descend(
    optimizer: torch.optim.Optimizer,
    loss: Tensor,
    learning_rate: float,
    model: nn.Module,
    clip_grad_norm: float = 0.0,
) -> None:
    """One step of all processes by a loss (). model: holds the weights. clip_grad_norm: 0:
    gradients are not clipped.
    """
    optimizer.zero_grad()
    loss.backward()
    average_gradients(model.parameters())
    if clip_grad_norm:
        nn.utils.clip_grad_norm_(model.parameters(), clip_grad_norm)
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
    optimizer.step()


def cosine(
    step: int, steps: int, warmup: float = 0.0, final: float = 0.0, from_zero: bool = False
) -> float:
    """Learning rate of a step as a share of its peak: linear warm-up, then half a cosine to
    `final`.

    warmup: share of all steps. from_zero: the first step has rate 0, otherwise 1 / warm-up steps.
    """
    rising = warmup * steps
    if step < rising:
        return (step + (not from_zero)) / rising
    return final + (1 - final) * 0.5 * (
        1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))
    )


class WeightAverage(AveragedModel):
    """A running average of the weights that are trained, which often finds more than the last
    weights do (ours).

    Polyak and Juditsky, 1992; exponential. The weight of the past grows with the number of steps up
    to `decay`: the random start is soon forgotten.
    """

    def __init__(self, model: nn.Module, decay: float):
        """Averages the parameters of the model that are trained; decay: of one step, 0 for no
        average at all.
        """
        weights = [weight for weight in model.parameters() if weight.requires_grad] if decay else []
        super().__init__(
            nn.ParameterList(weights),
            avg_fn=lambda average, weight, steps: average.lerp(
                weight, max(1 - decay, 1 / (int(steps) + 1))
            ),
        )
        self.requires_grad_(False)
        self._weights = weights

    def update(self) -> None:
        """Take in the weights after a step."""
        self.update_parameters(nn.ParameterList(self._weights))

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """The model has the averages within."""
        last = [weight.detach().clone() for weight in self._weights]
        self.apply_averages()
        try:
            yield
        finally:
            self._set(last)

    def apply_averages(self) -> None:
        """The model has the averages from now on."""
        self._set(self.module.parameters())

    @torch.no_grad()
    def _set(self, values: Iterable[Tensor]) -> None:
        for weight, value in zip(self._weights, values, strict=True):
            weight.copy_(value)
