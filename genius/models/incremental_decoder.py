"""The ID decoder laid out for beam search: the same arithmetic as `IDDecoder`, for one more code at a time.

What differs from transformers' `generate`, and why it is several times as fast on the same weights:

- the prefix's cross-attention keys and values are computed once per query, not once per beam;
- no cache is ever copied from beam to beam. Every row that was decoded keeps its place, and a beam attends to its
  own ancestors through a mask (*tree attention*), so beams that share a past share its memory;
- projections that read the same input are one matrix, stored so that few rows multiply fast, with the gains of
  T5's layer norms folded in;
- the softmax over the whole vocabulary runs over blocks of it that stay in the processor's cache, or, if asked,
  over the level's own part alone;
- only open beams are decoded.

Memory of a query: 2 · layers · heads · head width · rows numbers for keys and values (T5-small, 50 beams, 9 levels:
354 rows, 8.7 MB in fp32), and for each of its beams one block of logits (4,096: 0.8 MB for 50).

Shapes: b queries, w beams, r open beams of all queries, d feature dim, t levels decoded, k codes of a level,
R rows decoded so far per query, V tokens, h heads, a width of a head, N prefix length, m model width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from genius.models.decoder import START, IDDecoder

BLOCK = 4096  # tokens whose logits are in memory at once
LEAST = -80.0  # below the highest logit: no sum feels it, and exponentials of less are denormal, hence slow


class _Layer(NamedTuple):
    """One T5 block; all matrices (in, out)."""

    qkv: Tensor
    out: Tensor
    cross_query: Tensor
    cross_out: Tensor
    up: Tensor
    down: Tensor


@dataclass
class DecoderCache:
    """What a beam search carries from level to level."""

    memory: Tensor  # (layers, 2, b, h, room, a) self-attention keys and values of every row decoded
    prefix: Tensor  # (layers, 2, b, h, N, a) cross-attention keys and values
    ancestors: Tensor  # (b, w, R) bool: the rows that a beam descends from, itself included
    residual: Tensor  # (b, w, d) what the codes so far leave of the feature; kept if geometry is in the logits
    widths: list[int]  # w of each level decoded; their sum is R

    def keep(self, queries: Tensor) -> None:
        """Go on with these queries (b',) alone."""
        rows = self.ancestors.shape[-1]
        kept = self.memory.new_empty(*self.memory.shape[:2], len(queries), *self.memory.shape[3:])
        kept[..., :rows, :] = self.memory[:, :, queries, :, :rows]
        self.memory, self.prefix = kept, self.prefix[:, :, queries]
        self.ancestors, self.residual = self.ancestors[queries], self.residual[queries]


class IncrementalDecoder:
    """An IDDecoder, ready to search. Holds copies of its weights: make it anew when they change."""

    @torch.inference_mode()
    def __init__(self, decoder: IDDecoder, dtype: torch.dtype = torch.float32):
        """dtype: of weights and activations; log-probabilities are always float32."""
        config, t5 = decoder.config, decoder.t5
        self.config, self.dtype = config, dtype
        self.codebooks = [codebook.detach() for codebook in decoder.codebooks]
        self.geometry_scale = decoder.geometry_scale
        self._norms = [codebook.square().sum(-1) for codebook in self.codebooks]
        self.radii = [norms.max().sqrt().item() for norms in self._norms]  # of the longest codeword a level
        self._scales = decoder.log_scales.exp().tolist()
        self._project = decoder.project
        self._eps = t5.config.layer_norm_epsilon

        def matrix(*weights: Tensor, gain: Tensor | None = None) -> Tensor:
            """Stacked (out, in) weights, reading an input of this gain -> (in, out)."""
            stacked = torch.cat(weights)
            return (stacked if gain is None else stacked * gain).T.to(dtype).contiguous()

        blocks = t5.decoder.block
        self._layers = [
            _Layer(
                matrix(
                    own.SelfAttention.q.weight,
                    own.SelfAttention.k.weight,
                    own.SelfAttention.v.weight,
                    gain=own.layer_norm.weight,
                ),
                matrix(own.SelfAttention.o.weight),
                matrix(cross.EncDecAttention.q.weight, gain=cross.layer_norm.weight),
                matrix(cross.EncDecAttention.o.weight),
                matrix(feed.DenseReluDense.wi.weight, gain=feed.layer_norm.weight),
                matrix(feed.DenseReluDense.wo.weight),
            )
            for own, cross, feed in (block.layer for block in blocks)
        ]
        self._read_prefix = matrix(
            *(
                projection.weight
                for block in blocks
                for projection in (block.layer[1].EncDecAttention.k, block.layer[1].EncDecAttention.v)
            ),
            gain=t5.encoder.final_layer_norm.weight,
        )
        self._embedding = t5.shared.weight.to(dtype)
        # T5 scales its last hidden state before its tied head
        self._head = matrix(t5.shared.weight, gain=t5.decoder.final_layer_norm.weight * config.width**-0.5)
        self._bias = (
            blocks[0]
            .layer[0]
            .SelfAttention.compute_bias(config.levels, config.levels, device=self._head.device)[0]
            .to(dtype)
        )  # (h, M, M)

    def start(self, features: Tensor, beams: int) -> DecoderCache:
        """Everything that is computed once per query. features (b, d); `beams`: the most there will be."""
        config = self.config
        prefix = self._project(features).to(self.dtype).view(-1, config.width)  # (b·N, m)
        read = self._normalised(prefix) @ self._read_prefix
        read = read.view(len(features), config.prefix, config.layers, 2, config.heads, config.head_width)
        room = 1 + min(beams, config.code_sizes[0]) + beams * max(config.levels - 2, 0)
        memory = read.new_empty(config.layers, 2, len(features), config.heads, room, config.head_width)
        none = torch.zeros(len(features), 1, 0, dtype=torch.bool, device=features.device)
        return DecoderCache(memory, read.permute(2, 3, 0, 4, 1, 5).contiguous(), none, features[:, None], [])

    def step(
        self,
        cache: DecoderCache,
        parents: Tensor | None = None,
        codes: Tensor | None = None,
        rows: Tensor | None = None,
        whole_vocabulary: bool = True,
    ) -> Tensor:
        """Log-probabilities of the next level's codes for the open beams.

        parents, codes (b, w): beam j continues beam parents[·, j] of the level before with codes[·, j]; None at
        level 0 (then w = 1). rows (r,): the open beams among all b · w, ascending; by default all.
        -> (r, k) float32, softmax over the whole vocabulary, then cut to the level, as the published search
        scores; or over the level alone.
        """
        config, level = self.config, len(cache.widths)
        offset = config.offsets[level]
        if codes is None:
            tokens = torch.full(cache.ancestors.shape[:2], START, device=cache.ancestors.device)
        else:
            query = torch.arange(len(parents), device=parents.device)[:, None]
            tokens = codes + config.offsets[level - 1]
            if config.geometry:
                cache.residual = cache.residual[query, parents] - self.codebooks[level - 1][codes]
            cache.ancestors = cache.ancestors[query, parents]
        itself = torch.eye(tokens.shape[1], dtype=torch.bool, device=tokens.device).expand(len(tokens), -1, -1)
        cache.ancestors = torch.cat([cache.ancestors, itself], dim=-1)
        cache.widths.append(tokens.shape[1])

        hidden = self._hidden(cache, tokens, rows)  # (r, m)
        logits = (hidden @ self._head[:, offset : offset + config.code_sizes[level]]).float()  # (r, k)
        if config.geometry:
            residual = _open(cache.residual.flatten(0, 1), rows)
            logits += self.geometry(residual, level) * self._scales[level]
        if whole_vocabulary:
            return logits.sub_(self._log_normaliser(hidden, logits, level)[:, None])
        return logits.log_softmax(-1)

    def geometry(self, residual: Tensor, level: int) -> Tensor:
        """2⟨r, e⟩ − ‖e‖² for residuals (…, d) and the codewords of a level -> (…, k)."""
        return (2 * residual @ self.codebooks[level].T).sub_(self._norms[level])

    def _hidden(self, cache: DecoderCache, tokens: Tensor, rows: Tensor | None) -> Tensor:
        """T5's decoder blocks for one more position of the open beams; tokens (b, w) -> (r, m)."""
        heads = (self.config.heads, self.config.head_width)
        past, width = sum(cache.widths[:-1]), tokens.shape[1]
        mask = self._mask(cache)  # (b, h, w, R)
        x = self._embedding[_open(tokens.flatten(), rows)]  # (r, m)
        for layer, memory, prefix in zip(self._layers, cache.memory, cache.prefix, strict=True):
            qkv = _rectangle(self._normalised(x) @ layer.qkv, tokens.shape, rows)  # (b, w, 3·h·a)
            q, k, v = qkv.unflatten(-1, (3, *heads)).permute(2, 0, 3, 1, 4)  # (b, h, w, a)
            memory[0, :, :, past : past + width], memory[1, :, :, past : past + width] = k, v
            keys, values = memory[:, :, :, : past + width]  # (b, h, R, a)
            seen = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=1.0)
            x = torch.addmm(x, _open(_joined(seen), rows), layer.out)

            q = _rectangle(self._normalised(x) @ layer.cross_query, tokens.shape, rows)
            q = q.unflatten(-1, heads).transpose(1, 2)  # (b, h, w, a)
            seen = (q @ prefix[0].transpose(-1, -2)).softmax(-1) @ prefix[1]
            x = torch.addmm(x, _open(_joined(seen), rows), layer.cross_out)
            x = torch.addmm(x, (self._normalised(x) @ layer.up).relu_(), layer.down)
        return self._normalised(x)

    def _mask(self, cache: DecoderCache) -> Tensor:
        """(b, h, w, R): T5's bias by distance for the rows that a beam descends from, −inf for others."""
        level = len(cache.widths) - 1
        widths = torch.tensor(cache.widths, device=cache.ancestors.device)
        bias = self._bias[:, level, : level + 1].repeat_interleave(widths, dim=1)  # (h, R)
        return bias[:, None].masked_fill(~cache.ancestors[:, None], -torch.inf)

    def _log_normaliser(self, hidden: Tensor, logits: Tensor, level: int) -> Tensor:
        """(r,) log Σ exp over the whole vocabulary, of which `logits` (r, k) are the level's part."""
        start = self.config.offsets[level]
        others = [self._head[:, :start], self._head[:, start + self.config.code_sizes[level] :]]
        blocks = [block for part in others for block in part.split(BLOCK, dim=1) if block.shape[1]]
        most = logits.amax(-1)
        total = (logits - most[:, None]).exp_().sum(-1)
        for block in blocks:
            here = (hidden @ block).float()
            higher = torch.maximum(most, here.amax(-1))
            here = here.sub_(higher[:, None]).clamp_(min=LEAST).exp_()
            total = total * (most - higher).exp_() + here.sum(-1)
            most = higher
        return most + total.log_()

    def _normalised(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], eps=self._eps)


def _open(values: Tensor, rows: Tensor | None) -> Tensor:
    """Those of all beams (b · w, …) that are open -> (r, …)."""
    return values if rows is None else values[rows]


def _rectangle(values: Tensor, shape: torch.Size, rows: Tensor | None) -> Tensor:
    """Of the open beams (r, …) -> (b, w, …), zeros for the others."""
    if rows is None:
        return values.unflatten(0, shape)
    full = values.new_zeros(shape.numel(), *values.shape[1:])
    full[rows] = values
    return full.unflatten(0, shape)


def _joined(heads: Tensor) -> Tensor:
    """(b, h, w, a) -> (b · w, h · a)."""
    return heads.transpose(1, 2).flatten(2).flatten(0, 1)
