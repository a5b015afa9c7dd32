import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.pretrained import open_clip_encoder
from genius.models.tokenizers import ShortTokenizer, clip_tokenizer
from genius.texts import normalize_text
from tests.models.test_open_clip import edit
from tests.search.tiny import tiny_encoder


def picture(color: str) -> Image.Image:
    return Image.new("RGB", (40, 30), color)


def test_a_long_text_has_the_tokens_of_its_beginning(monkeypatch):
    encoder = tiny_encoder()
    for text in ("a red dog and " * 1_000, "abcdefghij" * 150 + " is a word"):
        short = encoder.tokenize([text])
        monkeypatch.setattr("genius.models.encoder.shorten_text", str)
        assert torch.equal(encoder.tokenize([text]), short)
        monkeypatch.undo()


@pytest.mark.timeout(60)
def test_a_word_of_a_million_random_letters_is_tokenized_at_once():
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), 10**6)
    assert len(tiny_encoder().tokenize(["".join(letters)])) == 1


def test_the_instructions_of_the_shipped_run_are_sentences_already():
    """So that its queries are encoded as when it was trained."""
    (file,) = Path("assets/toy").glob("index-*/instructions.json")
    prompts = [prompt for *_, prompt in json.loads(file.read_text(encoding="utf-8"))]
    assert len(prompts) == 48 and [normalize_text(prompt) for prompt in prompts] == prompts


def test_an_embedding_is_the_normalized_sum_of_features_whatever_is_missing_in_the_batch():
    encoder = tiny_encoder()
    inputs = [(picture("red"), "a dog"), (picture("blue"), ""), (None, "a cat")]
    together = encoder.encode(*zip(*inputs, strict=True))

    assert torch.stack([together.image_mask, together.text_mask]).tolist() == [
        [True, True, False],
        [True, False, True],
    ]
    assert not together.text[1].any() and not together.image[2].any()
    assert_close(together.embedding(), F.normalize(together.image + together.text, dim=-1))
    for row, (image, text) in enumerate(inputs):
        alone = encoder.encode([image], [text]).embedding()
        assert_close(together.embedding()[row], alone[0], atol=1e-6, rtol=1e-5)


def test_a_cpu_encodes_large_images_in_small_groups_with_the_same_features(monkeypatch):
    encoder = Encoder(tiny_encoder().config).eval()
    (side, _), sizes = encoder.config.preprocess["size"], []
    pixels = torch.rand(11, 3, side, side)
    mask = torch.ones(11, dtype=torch.bool)
    empty = (torch.zeros(0, dtype=torch.long), torch.zeros(11, dtype=torch.bool))
    with torch.inference_mode():
        whole = encoder.clip.encode_image(pixels)
        assert torch.equal(encoder(pixels, mask, *empty).image, whole)  # few pixels are one group
    encode = encoder.clip.encode_image
    monkeypatch.setattr(
        encoder.clip, "encode_image", lambda group: sizes.append(len(group)) or encode(group)
    )
    monkeypatch.setattr("genius.models.encoder.GROUP_PIXELS", 4 * side**2)
    with torch.inference_mode():
        assert_close(encoder(pixels, mask, *empty).image, whole, atol=1e-6, rtol=1e-5)
    assert sizes == [4, 4, 3]
    encoder(pixels, mask, *empty)
    assert sizes[3:] == [11]  # gradients
    with torch.no_grad():
        encoder.train()(pixels, mask, *empty)
    assert sizes[4:] == [11]  # batch statistics


TEXTS = [
    "a dog",
    "An unbelievably multicolored accordion, 1897 — naïve café 東京 🎈!",
    "x " * 40,
    "cats",
]


def short_encoder(vocabulary: int = 700, **text) -> Encoder:
    torch.manual_seed(0)
    config = tiny_encoder().config
    cfg = config.model | {
        "custom_text": True,
        "text_cfg": config.model["text_cfg"] | {"vocab_size": vocabulary, "layers": 2} | text,
    }
    return Encoder(replace(config, model=cfg)).eval()


@pytest.mark.parametrize("vocabulary", [514, 700, 49_407])
def test_a_small_vocabulary_has_the_first_merges_and_can_still_read_any_text(vocabulary):
    tokenizer = ShortTokenizer(vocabulary, 200)
    whole = open_clip.SimpleTokenizer()
    for text in TEXTS:
        tokens = tokenizer.encode(text)
        assert max(tokens) < vocabulary - 2
        assert tokenizer.decode(tokens) == whole.decode(whole.encode(text))
    start, *words, end = tokenizer(["the"])[0].tolist()[: 5 if vocabulary == 514 else 3]
    assert (start, end) == (vocabulary - 2, vocabulary - 1)
    assert len(words) == (3 if vocabulary == 514 else 1)
    assert list(tokenizer.encoder)[: vocabulary - 2] == list(whole.encoder)[: vocabulary - 2]


def test_a_tokenizer_has_the_options_of_its_configuration():
    words = ["A  Dog, on a BED!"]
    plain, clean = clip_tokenizer(20), clip_tokenizer(20, '{"clean": "canonicalize"}')
    expected = open_clip.SimpleTokenizer(context_length=20, clean="canonicalize")(words)
    assert torch.equal(clean(words), expected) and not torch.equal(plain(words), expected)


def test_the_full_vocabulary_gives_clips_own_tokens():
    assert torch.equal(
        tiny_encoder().tokenize(TEXTS),
        open_clip.SimpleTokenizer(context_length=16)([normalize_text(text) for text in TEXTS]),
    )


def test_a_vocabulary_too_small_for_all_bytes_is_refused():
    with pytest.raises(UserError, match="vocab_size is 513; .* needs 514 or more"):
        short_encoder(513).tokenize(["x"])


@pytest.mark.parametrize("texts", [["a dog", "cats"], ["a dog", "x " * 40]])
def test_trimming_the_padding_does_not_change_the_features(texts):
    encoder = short_encoder()
    tokens = encoder.tokenize(texts)
    assert tokens.shape[1] == min(16, int((tokens == 699).int().argmax(-1).max()) + 1)
    with torch.inference_mode():
        whole = encoder.clip.encode_text(F.pad(tokens, (0, 16 - tokens.shape[1])))
    assert_close(encoder.encode([None] * len(texts), texts).text, whole, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    "text", [{"pool_type": "last"}, {"no_causal_mask": True}, {"embed_cls": True}]
)
def test_a_tower_that_attends_to_padding_gets_all_of_it(text):
    assert short_encoder(**text).tokenize(["a dog"]).shape == (1, 16)


def test_a_damaged_part_is_refused_in_one_sentence(tmp_path):
    tiny_encoder().save(tmp_path)
    edit(tmp_path / "config.json", "surprise", value=1)
    with pytest.raises(UserError, match="surprise.*train this part again"):
        Encoder.load(tmp_path)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(UserError, match="open_clip cannot load NoSuch-Net"):
        open_clip_encoder("NoSuch-Net", "openai")
