"""The published search: transformers' `generate`, constrained by a Python callback per beam.

The callback reads a trie of nested dicts, as the published code does, or our own, which needs less memory.

Shapes: b queries, d feature dim, w beams, M levels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList, PrefixConstrainedLogitsProcessor

from genius.models.decoder import IDDecoder, codeword_scores
from genius.trie.ids import unpack
from genius.trie.pool import Pool

AllowedTokens = Callable[[int, Tensor], list[int]]  # query number, tokens so far -> tokens that may follow
NestedTrie = dict[int, "NestedTrie"]  # token -> what may follow
DEAD_END = [0]  # after an invalid prefix, which a beam of probability 0 may be
BLOCK = 100_000  # IDs that are Python lists at once
CACHED_PREFIXES = 32_768  # more than 32 queries of 50 beams look up


class GeometryLogits(LogitsProcessor):
    """Adds the geometry of the next level's codes, which `IDDecoder` adds to the logits of T5, before the softmax."""

    def __init__(self, decoder: IDDecoder, z: Tensor, beams: int):
        self._decoder, self._z = decoder, z.repeat_interleave(beams, dim=0)  # (b · w, d)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids (b · w, 1 + level), scores (b · w, V) log-probabilities -> those with geometry."""
        config, level, residual = self._decoder.config, input_ids.shape[1] - 1, self._z
        codebooks = self._decoder.codebooks
        for token, offset, codebook in zip(input_ids.T[1:], config.offsets, codebooks):
            residual = residual - codebook[(token - offset).clamp(0, len(codebook) - 1)]  # clamp: dead ends
        scaled = codeword_scores(residual, codebooks[level]) * self._decoder.log_scales[level].exp()
        start, end = config.offsets[level], config.offsets[level] + len(codebooks[level])
        return (scores + F.pad(scaled, (start, config.vocabulary - end))).log_softmax(-1)


class HFGenerate:
    """Find the w best valid IDs of each query."""

    def __init__(self, decoder: IDDecoder, allowed: AllowedTokens, beams: int):
        self._decoder, self._allowed, self._beams = decoder, allowed, beams
        self._offsets = torch.tensor(decoder.config.offsets)

    @torch.inference_mode()
    def __call__(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """features (b, d) -> codes (b, w, M) and scores (b, w). Codes of beams of probability 0 are meaningless."""
        config, t5 = self._decoder.config, self._decoder.t5
        processors = LogitsProcessorList([PrefixConstrainedLogitsProcessor(self._allowed, self._beams)])
        if config.geometry:
            processors.insert(0, GeometryLogits(self._decoder, features.to(t5.device), self._beams))
        prefix = self._decoder.project(features.to(t5.device)).unflatten(-1, (config.prefix, config.width))
        output = t5.generate(
            inputs_embeds=prefix,
            attention_mask=torch.ones(prefix.shape[:2], device=prefix.device),
            num_beams=self._beams,
            num_return_sequences=self._beams,
            max_new_tokens=config.levels,
            length_penalty=0.0,
            do_sample=False,
            use_cache=True,
            logits_processor=processors,
            return_dict_in_generate=True,
            output_scores=True,
        )
        codes = output.sequences[:, 1:].cpu() - self._offsets  # after the start token
        return (
            codes.view(len(features), self._beams, config.levels),
            output.sequences_scores.cpu().view(len(features), self._beams),
        )


def nested_trie(packed: np.ndarray, decoder: IDDecoder) -> NestedTrie:
    """Packed IDs (n, B) -> dicts of dicts of tokens."""
    root: NestedTrie = {}
    sizes, offsets = decoder.config.code_sizes, np.array(decoder.config.offsets)
    for start in range(0, len(packed), BLOCK):
        for tokens in (unpack(packed[start : start + BLOCK], sizes) + offsets).tolist():
            node = root
            for token in tokens:
                node = node.setdefault(token, {})
    return root


def nested_callback(root: NestedTrie) -> AllowedTokens:
    """A callback that walks from the root, for every beam."""

    def allowed(_: int, prefix: Tensor) -> list[int]:
        node = root
        for token in prefix.tolist()[1:]:
            node = node.get(token)
            if node is None:
                return DEAD_END
        return list(node)

    return allowed


def nested_bytes(root: NestedTrie) -> int:
    """Size of all dicts and of the integers that are their keys."""
    total, stack = 0, [root]
    while stack:
        node = stack.pop()
        total += sys.getsizeof(node) + sum(map(sys.getsizeof, node))
        stack.extend(node.values())
    return total


def trie_callback(pool: Pool, decoder: IDDecoder) -> AllowedTokens:
    """The same over our trie, with a cache of what follows a prefix."""
    offsets = decoder.config.offsets

    @lru_cache(CACHED_PREFIXES)
    def following(node: int, level: int) -> dict[int, int]:
        """Token -> node."""
        if node < 0:  # one ID left: cheaper to read from the table
            return {int(pool.table.codes(np.array(~node))[level]) + offsets[level]: node}
        children = pool.trie.children(torch.tensor([node], device=pool.trie.device), level)
        return dict(zip((children.code + offsets[level]).tolist(), children.node.tolist(), strict=True))

    def allowed(_: int, prefix: Tensor) -> list[int]:
        node: Any = pool.trie.root
        tokens = prefix.tolist()[1:]
        for level, token in enumerate(tokens):
            node = following(node, level).get(token)
            if node is None:
                return DEAD_END
        return list(following(node, len(tokens)))

    return allowed
