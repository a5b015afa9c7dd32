"""The reader: what a request asks for, which of its words are content, and which name what is left
out (ours).

It sees the states of the words in the text tower (word_states.py), and whether there is a picture.
Two convolutions let each word look at the words around it. The tag of a word follows from what
comes out; the reading of the request from sums of it over the words, weighted by attention, and
from the mean of the states.

Shapes: b requests, n words, u width of the text tower, c channels, r readings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from pydantic import with_config
from torch import Tensor, nn

from genius.models.saving import SavedModule
from genius.reading import EXACT, Size
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS

ASKING, CONTENT, LEFT_OUT = TAGS = range(3)  # of a word
WINDOW, LAYERS = 5, 2  # words that a convolution looks at, and how many there are
HEADS = 2  # of the attention over the words
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
