"""What a text tower makes of each word: the mean of its last states over the word's tokens, before
any head.

Towers cut words into tokens in their own ways. Here words are told apart by spaces, and the tokens
of a word are as many as the tokenizer makes of it alone.

Shapes: b texts, n words of the longest text, t tokens, u width of the tower.
"""

from collections.abc import Sequence
from typing import Any

import torch
from open_clip.hf_model import HFTextEncoder
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.texts import shorten_text

READ_TOGETHER = 64  # texts


@torch.inference_mode()
def word_states(encoder: Encoder, texts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    """The states (b, n, u) of the words of b texts, and which places (b, n) hold a word.

    A word behind the last token that the tower reads has a state of zeros. Raises UserError if the
    encoder has a text tower without a transformer of its own.
    """
    parts = [texts[start : start + READ_TOGETHER] for start in range(0, len(texts), READ_TOGETHER)]
    states = [state for part in parts for state in _states(encoder, part)]
    masks = [torch.ones(len(state), dtype=torch.bool, device=encoder.device) for state in states]
    return pad_sequence(states, batch_first=True), pad_sequence(masks, batch_first=True)


def _states(encoder: Encoder, texts: Sequence[Sequence[str]]) -> list[Tensor]:
    """The states of the words (n, u) of each text."""
    empty, letter = encoder.tokenizer(["", "a"])
    padding = int(empty[-1])
    special = _length(empty, padding)
    before = int(empty[0] == letter[0])
    words = [shorten_text(word) for text in texts for word in text]
    alone = iter(_length(row, padding) - special for row in encoder.tokenizer(words))
    counts = [[next(alone) for _ in text] for text in texts]
    tokens = encoder.tokenizer([shorten_text(" ".join(text)) for text in texts])
    # others take their whole context alone
    if isinstance(getattr(encoder.clip, "text", None), HFTextEncoder):
        tokens = tokens[:, : max(_length(row, padding) for row in tokens)]
    return [
        _means(row, before, own)
        for row, own in zip(_token_states(encoder, tokens), counts, strict=True)
    ]


def _length(tokens: Tensor, padding: int) -> int:
    """Of a text (t,) without the padding behind it."""
    places = (tokens != padding).nonzero()
    return int(places.max()) + 1 if len(places) else 0


def _means(states: Tensor, start: int, counts: Sequence[int]) -> Tensor:
    """(t, u) -> (n, u): the means of the next so many tokens."""
    means = []
    for count in counts:
        own = states[start : start + count]
        means.append(own.mean(0) if len(own) else states.new_zeros(states.shape[1]))
        start += count
    return torch.stack(means)


def _token_states(encoder: Encoder, tokens: Tensor) -> Tensor:
    """(b, t) -> (b, t, u): what the transformer of the text tower gives."""
    caught: list[Tensor] = []

    def catch(_: nn.Module, inputs: Any, output: Any) -> None:
        caught.append(getattr(output, "last_hidden_state", output))

    tower = getattr(encoder.clip, "text", encoder.clip)
    if not isinstance(getattr(tower, "transformer", None), nn.Module):
        raise UserError(
            f"{type(tower).__name__} gives no states of words, which a reader needs; take "
            "another encoder"
        )
    hook = tower.transformer.register_forward_hook(catch)
    try:
        encoder.clip.encode_text(tokens.to(encoder.device))
    finally:
        hook.remove()
    return caught[0]
