"""The reader: what a request asks for, which of its words are content, and which name what is left
out (ours).

It sees the states of the words in the text tower, and whether there is a picture. Two convolutions
let each word look at the words around it. The tag of a word follows from what comes out; the
reading of the request from sums of it over the words, weighted by attention, and from the mean of
the states.

The state of a word is the mean of the tower's last states over its tokens, before any head. Towers
cut words into tokens in their own ways; here words are told apart by spaces, and the tokens of a
word are as many as the tokenizer makes of it alone.

Shapes: b requests, n words of the longest, t tokens, u width of the text tower, c channels, r
readings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from open_clip.hf_model import HFTextEncoder
from pydantic import with_config
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.saving import SavedModule
from genius.reading import EXACT, Size
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS
from genius.texts import shorten_text

ASKING, CONTENT, LEFT_OUT = TAGS = range(3)  # of a word
WINDOW, LAYERS = 5, 2  # words that a convolution looks at, and how many there are
HEADS = 2  # of the attention over the words
READ_TOGETHER = 64  # texts
STATE_DROPOUT, DROPOUT = 0.3, 0.4  # in training, of states and of what is computed of them


@with_config(EXACT)
@dataclass(frozen=True)
class ReaderConfig:
    """Its sizes, and the sentences that the encoder knows for its readings."""

    width: Size = 384
    channels: Size = 96
    # "pair change": such a query with this reading
    instructions: Mapping[str, str] = field(default_factory=dict)


class Reader(SavedModule):
    """Readings of requests, and tags of their words."""

    config_type = ReaderConfig
    readable: Tensor  # (2, r) bool: readings that a request without, or with, a picture can have

    def __init__(self, config: ReaderConfig):
        super().__init__()
        self.config = config
        c = config.channels
        self.word = nn.Linear(config.width, c)
        self.whole = nn.Linear(config.width, c)
        self.picture = nn.Embedding(2, c)
        self.windows = nn.ModuleList(nn.Conv1d(c, c, WINDOW, padding="same") for _ in range(LAYERS))
        self.tag, self.attention = nn.Linear(c, len(TAGS)), nn.Linear(c, HEADS)
        self.hidden = nn.Linear(HEADS * c + config.width + c, c)
        self.reading = nn.Linear(c, len(READINGS))
        self.state_dropout, self.dropout = nn.Dropout(STATE_DROPOUT), nn.Dropout(DROPOUT)
        possible = [
            [name in names for name in READINGS]
            for names in (READINGS_OF_WORDS, READINGS_OF_PICTURES)
        ]
        self.register_buffer("readable", torch.tensor(possible), persistent=False)

    def forward(self, states: Tensor, mask: Tensor, picture: Tensor) -> tuple[Tensor, Tensor]:
        """States of words (b, n, u), where there are words (b, n), with a picture or not (b,) bool
        -> log-probabilities of the readings (b, r), and of the tags of the words (b, n, 3).
        """
        is_word, has_picture = mask[..., None], self.picture(picture.long())  # (b, n, 1), (b, c)
        states = self.state_dropout(F.layer_norm(states, states.shape[-1:])) * is_word
        mean = states.sum(1) / is_word.sum(1).clamp(min=1)  # (b, u)
        # (b, n, c)
        words = (self.word(states) + (self.whole(mean) + has_picture)[:, None]).relu() * is_word
        for window in self.windows:
            words = words + self.dropout(window(words.mT).mT.relu()) * is_word
        attention = self.attention(words).masked_fill(~is_word, -1e9).softmax(1)  # (b, n, heads)
        request = torch.cat([(attention.mT @ words).flatten(1), mean, has_picture], dim=1)
        readings = self.reading(self.dropout(self.hidden(request).relu()))
        readings = readings.masked_fill(~self.readable[picture.long()], -torch.inf)
        return readings.log_softmax(-1), self.tag(self.dropout(words)).log_softmax(-1)


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
