"""States of words, with the tokens of two kinds of tokenizers."""

import pytest
import torch

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.word_states import word_states
from tests.search.tiny import tiny_encoder

TEXTS = [["a", "red", "dog"], ["unbelievably", "small"], ["boat"]]


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
                torch.testing.assert_close(
                    states[place, number], expected[start : start + tokens].mean(0)
                )
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
