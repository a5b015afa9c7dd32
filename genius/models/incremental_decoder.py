"""Incremental decoding for beam search: the arithmetic of `IDDecoder`, level by level, with cached
keys and values.

How it differs from transformers' `generate`, and why it is several times as fast with the same
weights:

- the prefix's cross-attention keys and values are computed once per query, not once per beam;
- no cache is copied from beam to beam. Every decoded row keeps its place, and a beam attends to its
  own ancestors through a mask (*tree attention*), so beams with a common past share its keys and
  values;
- projections that read the same input are one matrix, with the gains of T5's layer norms folded in;
- the softmax is over the whole vocabulary, a few beams at a time, or, on request, over the codes of
  the level only.

Memory per query: 2 · layers · heads · head width · rows numbers for keys and values (T5-small, 50
beams, 9 levels: 354 rows, 8.7 MB in fp32). Of at most ROWS beams, of all queries, the logits of the
whole vocabulary (34 MB of 32,774).

Shapes: b queries, w beams, r = b · w beams of all queries, d dim of z, k codes of a level, R rows
decoded so far per query, V tokens, h heads, a width of a head, N prefix length, m model width, M
levels.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from genius.models.decoder import START, IDDecoder

ROWS = 256  # hidden states whose logits of all tokens are in memory at once


class _Layer(NamedTuple):
    """The weights (out, in) of one T5 block."""

    qkv: Tensor
    out: Tensor
    cross_query: Tensor
    cross_out: Tensor
    up: Tensor
    down: Tensor


@dataclass
class DecoderCache:
    """The state of a beam search from level to level."""

    # (layers, 2, b, h, capacity, a) self-attention keys and values of every decoded row
    keys_values: Tensor
    prefix_keys_values: Tensor  # (layers, 2, b, h, N, a) cross-attention keys and values
    ancestors: Tensor  # (b, w, R) bool: the rows that a beam descends from, itself included
    # (b, w, d) residual of z after the codes so far; updated if geometry is in the logits
    residual: Tensor
    level_scores: Tensor | None = None  # (r, k) of the last step, if geometry is in the logits
    widths: list[int] = field(default_factory=list)  # rows of each decoded level; their sum is R

    def keep(self, queries: Tensor) -> None:
        """Drop all queries but these (b',), given by number."""
        rows = sum(self.widths)
        kept = self.keys_values.new_empty(
            *self.keys_values.shape[:2], len(queries), *self.keys_values.shape[3:]
        )
        kept[..., :rows, :] = self.keys_values[:, :, queries, :, :rows]
        self.keys_values = kept
        self.prefix_keys_values = self.prefix_keys_values[:, :, queries]
        self.ancestors, self.residual = self.ancestors[queries], self.residual[queries]


class IncrementalDecoder:
    """An IDDecoder prepared for beam search. Holds products of its weights: create it again when
    they change.
    """

    @torch.inference_mode()
    def __init__(self, decoder: IDDecoder):
        config, t5 = decoder.config, decoder.t5
        self.config = config
        self.codebooks = [codebook.detach() for codebook in decoder.codebooks]
        self.blend_scale = decoder.blend_scale
        self._norms = [codebook.square().sum(-1) for codebook in self.codebooks]
        self._scales = decoder.log_scales.exp().tolist()
        self._eps = t5.config.layer_norm_epsilon

        self._projections = [  # of z to the prefix, with a ReLU between them
            (layer.weight, layer.bias)
            for layer in decoder.project.modules()
            if isinstance(layer, nn.Linear)
        ]
        self._layers, cross_keys_values = [], []
        for block in t5.decoder.block:
            own, cross, feed_forward = block.layer
            to_own, to_prefix = own.SelfAttention, cross.EncDecAttention
            dense = feed_forward.DenseReluDense
            qkv = torch.cat([to_own.q.weight, to_own.k.weight, to_own.v.weight])
            self._layers.append(
                _Layer(
                    qkv * own.layer_norm.weight,
                    to_own.o.weight,
                    to_prefix.q.weight * cross.layer_norm.weight,
                    to_prefix.o.weight,
                    dense.wi.weight * feed_forward.layer_norm.weight,
                    dense.wo.weight,
                )
            )
            cross_keys_values += [to_prefix.k.weight, to_prefix.v.weight]
        self._prefix_to_kv = torch.cat(cross_keys_values) * t5.encoder.final_layer_norm.weight
        self._embedding = t5.shared.weight
        # T5 scales its last hidden state before its tied head
        self._head = t5.shared.weight * (t5.decoder.final_layer_norm.weight * config.width**-0.5)
        attention = t5.decoder.block[0].layer[0].SelfAttention
        bias = attention.compute_bias(config.levels, config.levels, device=self._embedding.device)
        self._bias = bias[0]  # (h, M, M)

    def start(self, z: Tensor, beams: int) -> DecoderCache:
        """Compute what is needed once per query. z (b, d); beams: the largest number of beams at
        any level.
        """
        config = self.config
        prefix = z
        for number, (weights, bias) in enumerate(self._projections):
            prefix = F.linear(prefix.relu() if number else prefix, weights) + bias
        # of (b·N, m)
        prefix_kv = F.linear(self._rms_norm(prefix.view(-1, config.width)), self._prefix_to_kv)
        prefix_kv = prefix_kv.view(
            len(z), config.prefix, config.layers, 2, config.heads, config.head_width
        )
        capacity = 1 + min(beams, config.code_sizes[0]) + beams * max(config.levels - 2, 0)
        keys_values = prefix_kv.new_empty(
            config.layers, 2, len(z), config.heads, capacity, config.head_width
        )
        ancestors = torch.zeros(len(z), 1, 0, dtype=torch.bool, device=z.device)
        return DecoderCache(
            keys_values, prefix_kv.permute(2, 3, 0, 4, 1, 5).contiguous(), ancestors, z[:, None]
        )

    def step(
        self,
        cache: DecoderCache,
        parents: Tensor | None = None,
        codes: Tensor | None = None,
        whole_vocabulary: bool = True,
    ) -> Tensor:
        """Log-probabilities of the next level's codes after each beam.

        parents, codes (b, w): beam j continues beam parents[·, j] of the level before with codes[·,
        j]; None at level 0, where w = 1. Returns (r, k) float32: the level's part of a log-softmax
        over the whole vocabulary, as the published search scores, or without whole_vocabulary a
        log-softmax over the codes of the level only.
        """
        config = self.config
        level = len(cache.widths)
        queries = len(cache.ancestors)
        device = cache.ancestors.device
        tokens = torch.full((queries, 1), START, device=device)
        if parents is not None and codes is not None:
            query = torch.arange(queries, device=device)[:, None]
            if config.geometry:
                cache.residual = cache.residual[query, parents] - self.codebooks[level - 1][codes]
            cache.ancestors = cache.ancestors[query, parents]
            tokens = codes + config.offsets[level - 1]
        width = tokens.shape[1]
        itself = torch.eye(width, dtype=torch.bool, device=device).expand(queries, -1, -1)
        cache.ancestors = torch.cat([cache.ancestors, itself], dim=-1)
        cache.widths.append(width)
        hidden = self._hidden(cache, tokens)  # (r, m)
        first = config.offsets[level]
        end = config.offsets[level] + config.code_sizes[level]
        head, own = (
            (self._head, slice(first, end))
            if whole_vocabulary
            else (self._head[first:end], slice(None))
        )
        if config.geometry:
            geometry = cache.level_scores = self.level_scores(cache.residual.flatten(0, 1), level)
        log_probs = []
        for start in range(0, len(hidden), ROWS):
            rows = slice(start, start + ROWS)
            logits = F.linear(hidden[rows], head)
            if config.geometry:
                logits[:, own] += geometry[rows] * self._scales[level]
            log_probs.append(logits[:, own] - logits.logsumexp(-1, keepdim=True))
        return torch.cat(log_probs)

    def level_scores(self, residual: Tensor, level: int) -> Tensor:
        """`codeword_scores` for the codebook of a level, whose norms are precomputed: (…, d) ->
        (…, k).
        """
        scores = F.linear(2 * residual.flatten(0, -2), self.codebooks[level])
        return scores.sub_(self._norms[level]).unflatten(0, residual.shape[:-1])

    def _hidden(self, cache: DecoderCache, tokens: Tensor) -> Tensor:
        """T5's decoder blocks at the next position of the beams; tokens (b, w) -> hidden states (r,
        m).
        """
        heads = (self.config.heads, self.config.head_width)
        mask = self._mask(cache)
        end = sum(cache.widths)
        past = end - tokens.shape[1]
        x = self._embedding[tokens.flatten()]  # (r, m)
        for layer, kv, prefix_kv in zip(
            self._layers, cache.keys_values, cache.prefix_keys_values, strict=True
        ):
            qkv = F.linear(self._rms_norm(x), layer.qkv).unflatten(0, tokens.shape)  # (b, w, 3·h·a)
            q, k, v = qkv.unflatten(-1, (3, *heads)).permute(2, 0, 3, 1, 4)  # (b, h, w, a)
            kv[0, :, :, past:end], kv[1, :, :, past:end] = k, v
            keys, values = kv[:, :, :, :end]  # (b, h, R, a)
            attended = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=1.0)
            x = x + F.linear(_merge_heads(attended), layer.out)

            q = F.linear(self._rms_norm(x), layer.cross_query).unflatten(0, tokens.shape)
            q = q.unflatten(-1, heads).transpose(1, 2)  # (b, h, w, a)
            attended = (q @ prefix_kv[0].transpose(-1, -2)).softmax(-1) @ prefix_kv[1]
            x = x + F.linear(_merge_heads(attended), layer.cross_out)
            x = x + F.linear(F.linear(self._rms_norm(x), layer.up).relu_(), layer.down)
        return self._rms_norm(x)

    def _mask(self, cache: DecoderCache) -> Tensor:
        """(b, h, w, R): T5's relative position bias for the ancestors of each beam, −inf for other
        rows.
        """
        level = len(cache.widths) - 1
        of_levels = [
            self._bias[:, level, at, None].expand(-1, width)
            for at, width in enumerate(cache.widths)
        ]
        bias = torch.cat(of_levels, dim=1)  # (h, R)
        return bias[:, None].masked_fill(~cache.ancestors[:, None], -torch.inf)

    def _rms_norm(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1:], eps=self._eps)


def _merge_heads(heads: Tensor) -> Tensor:
    """(b, h, w, a) -> (b · w, h · a)."""
    return heads.transpose(1, 2).flatten(2).flatten(0, 1)
