"""The decoder's head: logits of a level's codes, and softmax sums over the whole vocabulary in blocks of tokens.

The published search scores by a softmax over the whole vocabulary, before the trie masks it. Its sum is computed block
by block, so that logits stay in the processor's cache, and in parts: of one level, or of all but some levels.

Shapes: r rows, m model width, k codes of a level, V tokens.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from genius.models.decoder import DecoderConfig

VOCABULARY_BLOCK = 4096  # tokens whose logits are in memory at once
MIN_EXPONENT = -80.0  # logits this far below the highest one change no sum; smaller exponentials are denormal and slow


class VocabularyHead:
    """The head over all tokens, in the dtype of its weights. Logits and sums are float32."""

    def __init__(self, config: DecoderConfig, head: Tensor):
        """head (V, m)."""
        self._spans = [
            (start, start + size) for start, size in zip(config.offsets, config.code_sizes, strict=True)
        ]  # first token of each level, last one + 1
        self._blocks = {block: head[slice(*block)] for block in pairwise(_edges(config))}  # of all tokens
        self._levels = [  # of each level
            [head[slice(*block)] for block in pairwise([*range(*span, VOCABULARY_BLOCK), span[1]])]
            for span in self._spans
        ]

    def logits(self, hidden: Tensor, level: int) -> Tensor:
        """Hidden states (r, m) -> (r, k) of the codes of a level."""
        return torch.cat([F.linear(hidden, weights) for weights in self._levels[level]], dim=1).float()

    def log_sum(self, hidden: Tensor, level: int) -> Tensor:
        """(r,) log Σ exp over the logits of a level's codes."""
        return _log_sum(F.linear(hidden, weights) for weights in self._levels[level])

    def log_sum_without(self, hidden: Tensor, *levels: int) -> Tensor:
        """(r,) log Σ exp over the logits of all tokens but the codes of these levels."""
        return _log_sum(self._logits_without(hidden, [self._spans[level] for level in levels]))

    def _logits_without(self, hidden: Tensor, spans: list[tuple[int, int]]) -> Iterator[Tensor]:
        """Logits, block by block, −inf at the tokens of some spans; blocks within one of them are left out."""
        for (first, last), weights in self._blocks.items():
            if any(start <= first and last <= end for start, end in spans):
                continue
            logits = F.linear(hidden, weights)
            for start, end in spans:
                logits[:, max(start - first, 0) : max(end - first, 0)] = -torch.inf
            yield logits


def _edges(config: DecoderConfig) -> list[int]:
    """Where blocks of at most VOCABULARY_BLOCK tokens begin, and V: whole levels where they fit."""
    edges = [0]
    for start, size in zip(config.offsets, config.code_sizes, strict=True):
        if start > edges[-1] and start + size - edges[-1] > VOCABULARY_BLOCK:
            edges.append(start)
        edges += range(edges[-1] + VOCABULARY_BLOCK, start + size, VOCABULARY_BLOCK)
    return [*edges, config.vocabulary]


def _log_sum(blocks: Iterable[Tensor]) -> Tensor:
    """(r,) log Σ exp over the logits (r, …) of all blocks, which it overwrites; the first block has a finite one."""
    highest: Tensor | None = None
    total = torch.zeros(())
    for logits in blocks:
        logits = logits.float()
        largest = logits.amax(-1) if highest is None else torch.maximum(highest, logits.amax(-1))
        exponentials = logits.sub_(largest[:, None]).clamp_(min=MIN_EXPONENT).exp_()
        total = exponentials.sum(-1) if highest is None else total * (highest - largest).exp_() + exponentials.sum(-1)
        highest = largest
    assert highest is not None, "there is always a block"
    return highest + total.log_()
