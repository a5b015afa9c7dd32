"""A T5 decoder that reads the codes' geometry: what training approaches, set by hand.

To learn millions of items takes days. But what a decoder mostly learns is known: to prefer codewords near to what the
codes so far leave of the query. The architecture can compute exactly that:

    log p(code | query, codes before) = s · (2⟨r, e⟩ − ‖e‖²) + constant,    r = query − Σ codewords before

with a sharpness s of each level, fitted to noisy views of items (`fitted_sharpness`): as confident as the noise allows.

How, in the first two blocks; the others compute as ever and add nothing. The residual stream has coordinates for r
(`left`), for the codeword of each level (`words`), the start token, the level, ‖e‖², and a constant. The constant is
far larger than all others together, so T5's norms divide everything by nearly the same number, and all is linear but:
- Head h of self-attention looks h tokens back, by its position bias, or else at the start token, which is zero. So
  together the heads take the codewords so far off r, to which cross-attention adds the query.
- The first feed-forward layer clears what the token itself brought, and turns its level into the next one.
- The second one copies r to what is compared with the codewords of that level: ReLU(x + 2y − 1) − y = xy for y = 0
  or 1 and |x| ≤ 1.

Shapes: q queries, d feature dim, p dims of the codewords, k codes of a level, M levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from genius.models.decoder import START, IDDecoder

CONSTANT = 64.0  # beside coordinates of at most 1
SHARP = 40.0  # attention logit of what a head looks at; the start token: half
LEAD = 20.0  # of the right level's logits
HIGHEST = 100.0  # logit: in fp32, scores summed over 9 levels keep 1e-4
CHOICES = [2 ** (step / 2) for step in range(16)]  # of a level's sharpness: 1 … 181, beyond which fp32 errs by 1e-4


@torch.no_grad()
def read_geometry(decoder: IDDecoder, codebooks: Sequence[Tensor], lift: Tensor, sharpness: Sequence[float]) -> None:
    """Set all weights of `decoder`, but those that are then without effect.

    codebooks: M of them, (k, p) each, for vectors no longer than 1. lift (p, d): an isometry from the codewords' space
    to the decoder's features. sharpness: M of them.
    Raises ValueError if the decoder is too small: it takes two blocks, a head as wide as p for each semantic code,
    and p coordinates for each level.
    """
    config, t5, p, levels = decoder.config, decoder.t5, len(lift), decoder.config.levels
    start = p + levels * p
    left, words, level = slice(p), slice(p, start), slice(start + 1, start + 1 + levels)
    norm, constant = level.stop, level.stop + 1
    own, cleared = torch.eye(p), slice(p, constant)  # cleared: all that a token brings but the constant
    heads, units = (config.heads, config.head_width), 2 * (constant - p) + 1
    if (
        config.layers < 2
        or config.heads < levels - 1
        or config.head_width < p
        or config.width <= constant
        or config.ff_width < units
    ):
        raise ValueError(f"{config} is too small to read {levels} levels of codewords in {p} dimensions")

    tokens, sharpest = t5.shared.weight.zero_(), max(sharpness)
    tokens[:, constant], tokens[START, start] = CONSTANT, 1
    for at, (offset, codebook, s) in enumerate(zip(config.offsets, codebooks, sharpness, strict=True)):
        here, part = slice(offset, offset + len(codebook)), s / sharpest
        tokens[here, words].view(-1, levels, p)[:, at] = part * codebook
        tokens[here, norm], tokens[here, level.start + at] = part * codebook.square().sum(-1), 1

    decoder.project.weight.zero_().view(config.prefix, config.width, -1)[:, left] = lift
    decoder.project.bias.zero_().view(config.prefix, config.width)[:, constant] = CONSTANT
    norms = [t5.encoder.final_layer_norm]
    for block in t5.decoder.block:
        for layer, output in zip(
            block.layer, ("SelfAttention.o", "EncDecAttention.o", "DenseReluDense.wo"), strict=True
        ):
            layer.get_submodule(output).weight.zero_()
            norms.append(layer.layer_norm)
    for normalised in norms:
        normalised.weight.fill_(CONSTANT / config.width**0.5)  # it divides by very nearly this
    (own_codes, query, first), (_, _, second) = (block.layer for block in t5.decoder.block[:2])

    look = own_codes.SelfAttention
    ask, key, value = (part.weight.zero_().view(*heads, -1) for part in (look.q, look.k, look.v))
    ask[:, 0, constant], key[:, 0, start] = SHARP / 2 / CONSTANT, 1
    look.relative_attention_bias.weight.zero_().fill_diagonal_(SHARP)  # row h is for h tokens back
    value[:, :p, words] = torch.cat([own * sharpest / s for s in sharpness], dim=1)
    look.o.weight.view(-1, *heads)[left, :, :p] = -own[:, None]

    look = query.EncDecAttention
    look.q.weight.zero_()  # all prefix embeddings are alike
    look.v.weight.zero_()[:p, left], look.o.weight[left, :p] = own, own

    read, write = first.DenseReluDense.wi.weight.zero_(), first.DenseReluDense.wo.weight
    count = constant - p
    both = torch.cat([torch.eye(count), -torch.eye(count)])  # x = ReLU(x) − ReLU(−x)
    read[: 2 * count, cleared], write[cleared, : 2 * count] = both, -both.T
    write[level, start - p : start - p + levels] += torch.eye(levels)  # start -> level 0 -> level 1 …
    read[2 * count, constant], write[norm, 2 * count] = 1 / CONSTANT, -1

    read, write = second.DenseReluDense.wi.weight.zero_(), second.DenseReluDense.wo.weight
    copies, marks = slice(levels * p), slice(levels * p, levels * p + levels)
    read[copies, left], read[copies, constant] = own.repeat(levels, 1), -1 / CONSTANT
    read[copies, level] = 2 * torch.eye(levels).repeat_interleave(p, dim=0)
    read[marks, level] = torch.eye(levels)
    write[words, copies] = torch.eye(levels * p)
    write[words, marks] = -torch.eye(levels).repeat_interleave(p, dim=0)

    gain = t5.decoder.final_layer_norm.weight.zero_()
    gain[words], gain[norm], gain[level] = 2 * sharpest * CONSTANT, sharpest * CONSTANT, LEAD * CONSTANT


@torch.no_grad()
def fitted_sharpness(codebooks: Sequence[Tensor], views: Tensor, codes: Tensor) -> list[float]:
    """Of each level, the sharpness that makes the codes (q, M) of noisy views (q, p) most probable.

    It is bounded where logits would become too high for fp32.
    """
    chosen, residual = [], views
    for codebook, code in zip(codebooks, codes.T, strict=True):
        odds = 2 * residual @ codebook.T - codebook.square().sum(-1)  # (q, k)
        likelihood = {
            s: float((s * odds).log_softmax(-1).gather(1, code[:, None]).mean())
            for s in CHOICES
            if s * float(odds.max()) <= HIGHEST
        }
        chosen.append(max(likelihood, key=likelihood.get))
        residual = residual - codebook[code]
    return chosen


@torch.no_grad()
def confidence(decoder: IDDecoder, features: Tensor, codes: Tensor) -> list[float]:
    """Of each level, the mean probability of the right code after the right ones: features (q, d), codes (q, M)."""
    tokens = (codes + torch.tensor(decoder.config.offsets))[..., None]
    return decoder(features, codes).softmax(-1).gather(-1, tokens).mean((0, 2)).tolist()
