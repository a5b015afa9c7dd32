"""Pretrained open_clip models are loaded unchanged, from a tag, a file, the hub or a folder."""

import json
import logging
import shutil
from dataclasses import asdict

import open_clip
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from open_clip.transform import PreprocessCfg
from PIL import Image
from safetensors.torch import save_file
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.encoder_config import TextConfig
from genius.models.pretrained import open_clip_encoder
from genius.models.tokenizers import make_tokenizer
from tests.models.tiny_towers import write_text_tower

VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
TEXT = {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1}
HUGGING_FACE_TEXT = {
    "context_length": 16,
    "hf_tokenizer_name": "somebody/elsewhere",
    "hf_model_pretrained": False,
    "hf_proj_type": "mlp",
    "hf_pooler_type": "mean_pooler",
}
SIGLIP_TEXT = TEXT | {
    "hf_tokenizer_name": "somebody/elsewhere",
    "vocab_size": 8,
    "no_causal_mask": True,
    "pool_type": "last",
}
PLAIN = {"embed_dim": 12, "vision_cfg": VISION, "text_cfg": TEXT}
COCA = {
    "embed_dim": 12,
    "custom_text": True,
    "vision_cfg": VISION
    | {"attentional_pool": True, "attn_pooler_heads": 2, "output_tokens": True},
    "text_cfg": TEXT | {"embed_cls": True, "output_tokens": True},
    "multimodal_cfg": TEXT,
}


def write_model(folder, config, preprocess=None):
    """Write a folder that open_clip reads as local-dir:; returns the model in it."""
    torch.manual_seed(0)
    custom = open_clip.CoCa if "multimodal_cfg" in config else open_clip.CustomTextCLIP
    kind = custom if config.get("custom_text") else open_clip.CLIP
    model = kind(**{name: value for name, value in config.items() if name != "custom_text"}).eval()
    for weight in model.parameters():  # open_clip leaves some of CoCa's as the memory was
        torch.nn.init.normal_(weight, std=0.1)
    folder.mkdir(exist_ok=True)
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config, "preprocess_cfg": preprocess or {}})
    )
    save_file(
        {name: weight.contiguous() for name, weight in model.state_dict().items()},
        folder / "open_clip_model.safetensors",
    )
    return model


@pytest.mark.parametrize(
    "config", [PLAIN, PLAIN | {"quick_gelu": True}, COCA], ids=["CLIP", "QuickGELU", "CoCa"]
)
def test_a_model_in_a_folder_gives_the_features_that_open_clip_gives(tmp_path, config):
    source = write_model(tmp_path, config, {"mean": [0.5, 0.4, 0.3], "resize_mode": "squash"})

    encoder = open_clip_encoder(f"local-dir:{tmp_path}", "is ignored")

    images = [Image.new("RGB", (40, 30), "red")]
    texts = ["A red dog."]
    assert encoder.config.preprocess["mean"] == [0.5, 0.4, 0.3]
    assert encoder.config.preprocess["resize_mode"] == "squash"
    features = encoder.encode(images, texts)
    with torch.inference_mode():
        assert_close(features.image, source.encode_image(encoder.preprocess(images)))
        tokens = open_clip.get_tokenizer(f"local-dir:{tmp_path}", context_length=16)(texts)
        assert_close(features.text, source.encode_text(tokens))
    (tmp_path / "saved").mkdir()
    encoder.save(tmp_path / "saved")
    assert_close(Encoder.load(tmp_path / "saved").encode(images, texts).text, features.text)


def test_a_folder_without_weights_is_refused_rather_than_filled_with_random_ones(tmp_path):
    write_model(tmp_path, PLAIN)
    (tmp_path / "open_clip_model.safetensors").unlink()
    with pytest.raises(
        UserError, match="cannot load local-dir:.*Required pretrained weights.*could not be loaded"
    ):
        open_clip_encoder(f"local-dir:{tmp_path}")


def test_the_weights_of_a_file_or_a_tag_are_loaded_and_a_tag_sets_the_activation(
    tmp_path, monkeypatch
):
    plain, quick = (write_model(tmp_path, PLAIN | {"quick_gelu": quick}) for quick in (False, True))
    file = str(tmp_path / "open_clip_model.safetensors")
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny", PLAIN)
    tags = {"ours": asdict(PreprocessCfg()) | {"file": file, "quick_gelu": True}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny", tags)
    for origin, source, other in ((file, plain, quick), ("ours", quick, plain)):
        encoder = open_clip_encoder("tiny", origin)
        assert encoder.config.model.get("quick_gelu", False) == (source is quick)
        pixels = encoder.preprocess([Image.new("RGB", (40, 30), "red")])
        with torch.inference_mode():
            features = encoder.clip.encode_image(pixels)
            assert_close(features, source.encode_image(pixels))
            assert not torch.allclose(features, other.encode_image(pixels), atol=1e-4)


def hugging_face_model(folder, tower="transformers"):
    """Written to a folder: with a Hugging Face tokenizer, and the text tower of this library."""
    write_text_tower(folder)
    text = HUGGING_FACE_TEXT | {"hf_model_name": str(folder)}
    text = text if tower == "transformers" else SIGLIP_TEXT
    return write_model(folder, PLAIN | {"custom_text": True, "text_cfg": text})


def saved_encoder(folder, **changed):
    """The folder of a saved encoder with a Hugging Face text tower."""
    hugging_face_model(folder, **changed)
    (folder / "saved").mkdir()
    open_clip_encoder(f"local-dir:{folder}").save(folder / "saved")
    return folder / "saved"


def test_a_model_whose_tokenizer_is_missing_is_refused_before_any_image_is_encoded(tmp_path):
    write_model(tmp_path, PLAIN | {"text_cfg": TEXT | {"hf_tokenizer_name": "somebody/elsewhere"}})
    with pytest.raises(UserError, match="cannot encode a text and an image"):
        open_clip_encoder(f"local-dir:{tmp_path}")


def test_other_loggers_are_heard_while_a_model_is_loaded(tmp_path, monkeypatch, caplog):
    write_model(tmp_path, PLAIN)
    create = open_clip.create_model

    def create_and_log(*given, **named):
        logging.getLogger("genius").warning("heard")
        logging.getLogger().warning("heard from the root logger")
        logging.getLogger("huggingface_hub.file_download").warning("not heard")
        return create(*given, **named)

    monkeypatch.setattr(open_clip, "create_model", create_and_log)
    with caplog.at_level(logging.INFO):
        open_clip_encoder(f"local-dir:{tmp_path}")
    assert [record.message for record in caplog.records] == ["heard", "heard from the root logger"]


@pytest.mark.parametrize("name", ["ViT-B-32", "hf-hub:laion/some-model"])
def test_without_a_network_one_sentence_says_so_and_nothing_is_logged(name, monkeypatch, caplog):
    def unreachable(*given, **named):
        logging.getLogger("huggingface_hub").error("Retrying")
        raise LocalEntryNotFoundError(
            "An error happened while trying to locate the file on the Hub"
        )

    monkeypatch.setattr(open_clip.factory, "download_pretrained", unreachable)
    monkeypatch.setattr(open_clip.factory, "download_pretrained_from_hf", unreachable)
    with pytest.raises(
        UserError, match=f"cannot download {name}.*hub is out of reach.*give its path"
    ) as caught:
        open_clip_encoder(name, "laion2b_s34b_b79k")
    assert "\n" not in str(caught.value) and not caplog.records
    logging.getLogger("other").error("heard again")
    assert [record.message for record in caplog.records] == ["heard again"]


@pytest.mark.parametrize("tower", ["transformers", "open_clip"])
def test_a_model_with_a_hugging_face_tokenizer_needs_no_other_folders_and_no_network(
    tmp_path, monkeypatch, tower
):
    """Those that open_clip gives; saved, then moved, while the folders that they came from are
    gone.
    """
    origin, saved, moved = (tmp_path / name for name in ("origin", "saved", "moved"))
    source = hugging_face_model(origin, tower)
    encoder = open_clip_encoder(f"local-dir:{origin}")
    expected = encoder.encode([None, None], ["a red dog", "a"]).text
    with torch.inference_mode():
        tokens = open_clip.get_tokenizer(f"local-dir:{origin}")(["A red dog.", "A."])
        assert_close(expected, source.encode_text(tokens))
    saved.mkdir()
    encoder.save(saved)
    shutil.rmtree(origin)
    saved.rename(moved)
    monkeypatch.setattr("socket.getaddrinfo", unreachable)

    loaded = Encoder.load(moved)

    assert not any(
        str(tmp_path) in file.read_text(encoding="utf-8") for file in (moved / "text").iterdir()
    )
    again = tmp_path / "again"
    again.mkdir()
    loaded.save(again)
    shutil.rmtree(moved)
    for encoder in (loaded, Encoder.load(again)):
        assert_close(
            encoder.encode([None, None], ["a red dog", "a"]).text, expected, atol=0, rtol=0
        )


def unreachable(*given, **named):
    raise AssertionError("a saved encoder asks no hub")


def edit(file, *keys, value):
    """Set what lies below these keys in a file of JSON."""
    fields = place = json.loads(file.read_text(encoding="utf-8"))
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    file.write_text(json.dumps(fields))


def ask_for_code(text, key):
    """Name compiled code of the hub as the implementation of attention."""
    edit(text / "config.json", key, value="somebody/kernel")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "text is missing, the tokenizer of the encoder; copy the run again"),
        (lambda text: (text / "config.json").unlink(), "cannot be loaded .*train this part again"),
        (lambda text: (text / "tokenizer.json").unlink(), "text holds no tokenizer"),
        (lambda text: (text / "tokenizer_config.json").write_text("["), "cannot be loaded"),
        (
            lambda text: edit(text / "tokenizer.json", "model", "vocab", "red", value=1_000_000),
            "has a token 1,000,000 and the text tower knows",
        ),
        (
            lambda text: ask_for_code(text, "attn_implementation"),
            "d .attn_implementation: Input should be 'eager' or",
        ),
        (
            lambda text: ask_for_code(text, "_attn_implementation"),
            "d ._attn_implementation: Input should be 'eager' or",
        ),
    ],
)
def test_a_damaged_text_folder_is_refused_in_one_sentence(tmp_path, damage, message):
    saved = saved_encoder(tmp_path)
    damage(saved / "text")
    with pytest.raises(UserError, match=message) as caught:
        Encoder.load(saved)
    assert "\n" not in str(caught.value)


EVIL_TOKENIZER = """
from pathlib import Path
from transformers import BertTokenizer

Path({marker!r}).touch()


class EvilTokenizer(BertTokenizer):
    pass
"""


def write_evil_tokenizer(folder, marker):
    """A folder of transformers whose tokenizer is a class in a file beside it; importing it writes
    the marker.
    """
    write_text_tower(folder)
    named = {
        "auto_map": {"AutoTokenizer": [None, "tok.EvilTokenizer"]},
        "tokenizer_class": "EvilTokenizer",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    # transformers reads the code from the folder that was named first
    for place in (folder, folder.parent / "text"):
        place.mkdir(exist_ok=True)
        (place / "tok.py").write_text(EVIL_TOKENIZER.format(marker=str(marker)))


@pytest.mark.parametrize(
    ("kwargs", "named"),
    [
        ({"trust_remote_code": True, "subfolder": "../evil"}, "trust_remote_code"),
        ({"clean": "canonicalize", "cache_dir": "/tmp"}, "cache_dir"),
        ({"language": "../evil"}, "language"),
    ],
)
def test_a_tokenizer_option_that_runs_code_or_opens_another_path_is_refused_and_no_code_runs(
    tmp_path, monkeypatch, kwargs, named
):
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    encoder = saved_encoder(tmp_path, tower="open_clip")
    marker = tmp_path / "it ran"
    write_evil_tokenizer(encoder / "evil", marker)
    edit(encoder / "config.json", "model", "text_cfg", "tokenizer_kwargs", value=kwargs)

    with pytest.raises(
        UserError, match=rf"{encoder} cannot be loaded \(.*{named}.*; train this part again"
    ) as error:
        Encoder.load(encoder)
    assert "\n" not in str(error.value) and not marker.exists()
    with pytest.raises(UserError, match=rf"tokenizer_kwargs cannot be used \({named}: "):
        make_tokenizer(
            TEXT | {"tokenizer_kwargs": kwargs, "hf_tokenizer_name": str(encoder / "text")}, None
        )
    assert not marker.exists()


def test_clips_tokenizer_opens_no_file_that_a_configuration_names(tmp_path):
    with pytest.raises(UserError, match=r"tokenizer_kwargs cannot be used \(bpe_path: "):
        make_tokenizer({"tokenizer_kwargs": {"bpe_path": str(tmp_path / "words.gz")}}, None)


def test_the_tokenizer_options_of_every_open_clip_model_are_known():
    texts = [open_clip.get_model_config(name)["text_cfg"] for name in open_clip.list_models()]
    used = {json.dumps(text["tokenizer_kwargs"]) for text in texts if "tokenizer_kwargs" in text}
    assert len(used) > 1
    for kwargs in used:
        TextConfig.model_validate({"tokenizer_kwargs": json.loads(kwargs)})


def test_texts_of_a_hugging_face_tower_are_grouped_by_length_unpadded_and_keep_their_order(
    tmp_path, monkeypatch
):
    hugging_face_model(tmp_path)
    encoder = open_clip_encoder(f"local-dir:{tmp_path}")
    texts = ["a red dog", "a", "red dog", "dog", "a red red dog a"]
    tokens = encoder.tokenize(texts)
    lengths = []
    encode = encoder.clip.encode_text
    with torch.inference_mode():
        whole = encode(torch.nn.functional.pad(tokens, (0, 16 - tokens.shape[1])))
    monkeypatch.setattr(
        encoder.clip, "encode_text", lambda group: lengths.append(group.shape[1]) or encode(group)
    )
    monkeypatch.setattr("genius.models.encoder.GROUP_TEXTS", 2)
    assert_close(encoder.encode([None] * 5, texts).text, whole)
    assert lengths == [4, 6, 8]
