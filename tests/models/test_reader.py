"""The reader: which readings are possible, and that neither padding nor other requests change
one.
"""

from itertools import compress

import pytest
import torch
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.reader import TAGS, Reader, ReaderConfig, word_states
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS
from tests.search.tiny import tiny_encoder

WIDTH = 7
TEXTS = [["a", "red", "dog"], ["unbelievably", "small"], ["boat"]]


def tiny_reader() -> Reader:
    torch.manual_seed(0)
    return Reader(ReaderConfig(WIDTH, 5, {"image similar": "Find similar pictures."})).eval()


def test_a_request_has_the_readings_of_its_kind():
    states = torch.randn(2, 4, WIDTH)
    mask = torch.ones(2, 4, dtype=torch.bool)
    readings, tags = tiny_reader()(states, mask, torch.tensor([False, True]))
    for row, possible in zip(readings, (READINGS_OF_WORDS, READINGS_OF_PICTURES), strict=True):
        assert {*compress(READINGS, row > -torch.inf)} == {*possible}
    assert_close(readings.exp().sum(1), torch.ones(2))
    assert tags.shape == (2, 4, len(TAGS))
    assert_close(tags.exp().sum(2), torch.ones(2, 4))


def test_padding_changes_nothing():
    states = torch.randn(1, 3, WIDTH)
    reader = tiny_reader()
    alone, tags = reader(states, torch.ones(1, 3, dtype=torch.bool), torch.tensor([True]))
    padded = torch.cat([states, torch.full((1, 4, WIDTH), 9.0)], dim=1)
    mask = torch.arange(7)[None] < 3
    beside, padded_tags = reader(padded, mask, torch.tensor([True]))
    assert_close(beside, alone)
    assert_close(padded_tags[:, :3], tags)


def test_it_is_saved_with_its_sentences(tmp_path):
    reader = tiny_reader()
    reader.save(tmp_path)
    loaded = Reader.load(tmp_path)
    assert loaded.config == reader.config


def token_states(encoder: Encoder, words: list[str]) -> torch.Tensor:
    """(t, u) of the text alone, with all padding: what the transformer of CLIP's text tower
    gives.
    """
    clip = encoder.clip
    tokens = encoder.tokenizer([" ".join(words)])
    states = clip.token_embedding(tokens) + clip.positional_embedding
    return clip.transformer(states, attn_mask=clip.attn_mask)[0]


def test_the_state_of_a_word_is_the_mean_over_its_tokens():
    encoder = tiny_encoder()
    states, mask = word_states(encoder, TEXTS)
    assert mask.sum(1).tolist() == [3, 2, 1] and states.shape[:2] == (3, 3)
    with torch.inference_mode():
        for place, words in enumerate(TEXTS):
            expected, start = token_states(encoder, words), 1  # behind the token that starts a text
            for number, word in enumerate(words):
                tokens = int(encoder.tokenizer([word])[0].argmax()) - 1  # between start and end
                assert_close(states[place, number], expected[start : start + tokens].mean(0))
                start += tokens
    assert not states[~mask].any()


def test_words_behind_the_context_have_no_state():
    states, mask = word_states(tiny_encoder(), [["word"] * 40])
    assert mask.all() and states[0, 0].any() and not states[0, -1].any()


def test_a_tower_without_a_transformer_is_refused(monkeypatch):
    encoder = tiny_encoder()
    monkeypatch.setitem(encoder.clip._modules, "transformer", None)
    with pytest.raises(UserError, match="gives no states of words, which a reader needs"):
        word_states(encoder, [["a"]])
