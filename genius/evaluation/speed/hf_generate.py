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
from torch import Tensor

from genius.models.decoder import IDDecoder
from genius.trie.ids import unpack
from genius.trie.pool import Pool

AllowedTokens = Callable[[int, Tensor], list[int]]  # query number, tokens so far -> tokens that may follow
NestedTrie = dict[int, "NestedTrie"]  # token -> what may follow
DEAD_END = [0]  # after an invalid prefix, which a beam of probability 0 may be
BLOCK = 100_000  # IDs that are Python lists at once
CACHED_PREFIXES = 32_768  # more than 32 queries of 50 beams look up


class HFGenerate:
    """Find the w best valid IDs of each query."""

    def __init__(self, decoder: IDDecoder, allowed: AllowedTokens, beams: int):
        self._decoder, self._allowed, self._beams = decoder, allowed, beams
        self._offsets = torch.tensor(decoder.config.offsets)

    @torch.inference_mode()
    def __call__(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """features (b, d) -> codes (b, w, M) and scores (b, w). Codes of beams of probability 0 are meaningless."""
        config, t5 = self._decoder.config, self._decoder.t5
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
            prefix_allowed_tokens_fn=self._allowed,
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
