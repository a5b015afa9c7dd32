"""Every kind of open_clip architecture is built, answers, is saved and loaded, and is split or
refused.

Towers are shrunk, and what open_clip would download (configurations and tokenizers of Hugging Face)
has a stand-in.
"""

import copy
from dataclasses import asdict, replace

import open_clip
import pytest
import timm
import torch
import transformers
from open_clip.transform import PreprocessCfg
from PIL import Image
from torch.testing import assert_close

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from tests.models.tiny_towers import WORDS, write_tokenizer
from tests.training.tiny import TINY
from training.stages.encoder import new_encoder
from training.stages.locked import LockedEncoder

KINDS = {  # an architecture of each kind
    "own towers": "ViT-B-32",
    "quick GELU": "ViT-B-32-quickgelu",
    "ResNet": "RN50",
    "ResNet with quick GELU": "RN50-quickgelu",
    "timm with a linear head": "convnext_base",
    "timm with an MLP head": "convnext_large_d",
    "timm without a head of open_clip": "EVA02-B-16",
    "tokenizer of Hugging Face": "ViT-L-14-CLIPA",
    "tokenizer of many languages": "ViT-H-14-worldwide-quickgelu",
    "SigLIP": "ViT-B-16-SigLIP",
    "SigLIP 2": "ViT-B-16-SigLIP2",
    "RoBERTa text tower": "roberta-ViT-B-32",
    "XLM-RoBERTa text tower": "xlm-roberta-base-ViT-B-32",
    "mT5 text tower": "mt5-base-ViT-B-32",
    "NLLB text tower": "nllb-clip-base",
    "NLLB text tower with SigLIP": "nllb-clip-base-siglip",
    "CoCa": "coca_ViT-B-32",
    "CoCa with a RoBERTa text tower": "coca_roberta-ViT-B-32",
}
SPLIT = {  # kinds whose heads can be trained apart from the towers
    "own towers",
    "quick GELU",
    "timm with a linear head",
    "timm with an MLP head",
    "tokenizer of Hugging Face",
    "tokenizer of many languages",
    "RoBERTa text tower",
    "XLM-RoBERTa text tower",
    "mT5 text tower",
    "NLLB text tower",
}
TIMM = {"convnext": "test_convnext"}  # tiny models that stand in for the others; else TIMM_VIT
TIMM_VIT = "test_vit"
STAND_IN_WIDTH = 64
LARGE = 450e6  # weights
TEXTS = ["A red dog.", "a dog"]
IMAGES = [Image.new("RGB", (40, 30), color) for color in ("red", "blue")]
TEXT_TOWERS = {
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "google/mt5": "MT5",
    "facebook/nllb": "M2M100",
}


def shrunk(config, folder, timm_too=True):
    """The configuration with one layer of small width in each tower, and nothing to download."""
    config = copy.deepcopy(config)
    vision, text = config["vision_cfg"], config["text_cfg"]
    if "timm_model_name" in vision:
        if timm_too:
            stand_in = TIMM.get(vision["timm_model_name"].partition("_")[0], TIMM_VIT)
            vision |= {"timm_model_name": stand_in, "image_size": 160}
            if vision["timm_proj"] == "none":  # SigLIP's embeddings are as wide as its tower
                config["embed_dim"] = STAND_IN_WIDTH
    elif isinstance(vision["layers"], list):
        vision |= {"layers": [1, 1, 1, 1], "width": 8, "image_size": 64}
    else:
        vision |= {
            "layers": 1,
            "width": 64,
            "head_width": 32,
            "image_size": 2 * vision["patch_size"],
        }
    if "hf_model_name" in text:
        kind = next(
            kind for start, kind in TEXT_TOWERS.items() if text["hf_model_name"].startswith(start)
        )
        write_text_tower(folder, kind)
        text |= {"hf_model_name": str(folder), "hf_model_pretrained": False}
    else:
        # nothing projects it
        width = config["embed_dim"] if text.get("proj_type") == "none" else 64
        text |= {"layers": 1, "width": width, "heads": 2}
    if "hf_tokenizer_name" in text:
        write_tokenizer(folder)
        text |= {"hf_tokenizer_name": str(folder), "vocab_size": 100}
        if "eos_id" in text:
            text["eos_id"] = WORDS.index("[SEP]")
    if "multimodal_cfg" in config:
        config["multimodal_cfg"] |= {"layers": 1, "width": 64, "heads": 2}
    return config


def write_text_tower(folder, kind):
    sizes = {"vocab_size": 100, "pad_token_id": 0}
    if kind == "MT5":
        sizes |= {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    elif kind == "M2M100":
        sizes |= {
            "d_model": 16,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 16,
        }
    else:
        sizes |= {
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 16,
        }
        sizes |= {"max_position_embeddings": 100}
    folder.mkdir(exist_ok=True)
    getattr(transformers, f"{kind}Config")(**sizes).save_pretrained(folder)


def built(architecture, folder, timm_too=True):
    torch.manual_seed(0)
    config = shrunk(open_clip.get_model_config(architecture), folder, timm_too)
    size = config["vision_cfg"]["image_size"]
    return Encoder(EncoderConfig(config, asdict(PreprocessCfg(size=size)))).eval()


@pytest.fixture
def offline(monkeypatch):
    def refuse(*given, **named):
        raise AssertionError("nothing is downloaded")

    monkeypatch.setattr("socket.getaddrinfo", refuse)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_architecture_answers_is_saved_and_is_split_or_refused(
    kind, tmp_path, offline
):
    encoder = built(KINDS[kind], tmp_path / "hub")
    encoder.check()
    features = encoder.encode(IMAGES, TEXTS)
    tokens = encoder.tokenizer(["A red dog.", "A dog."])
    for found, own, inputs in (
        (features.image, encoder.clip.encode_image, encoder.preprocess(IMAGES)),
        (features.text, encoder.clip.encode_text, tokens),
    ):
        assert found.shape == (2, encoder.dim) and (found[0] != found[1]).any()
        with torch.inference_mode():
            assert_close(found, own(inputs), atol=1e-4, rtol=1e-4)
    saved = tmp_path / "saved"
    saved.mkdir()
    encoder.save(saved)
    loaded = Encoder.load(saved)
    again = loaded.encode(IMAGES, TEXTS)
    assert not loaded.training
    assert torch.equal(again.image, features.image) and torch.equal(again.text, features.text)
    assert is_split(encoder) == (kind in SPLIT)


def is_split(encoder):
    """Whether the encoder can be split; it then gives the same features, and training heads changes
    no tower.
    """
    try:
        LockedEncoder(encoder)
    except UserError as error:
        assert "cannot be trained apart" in str(error) and "\n" not in str(error)
        return False
    split = encoder.split()
    features = encoder.encode(IMAGES, TEXTS)
    with torch.inference_mode():
        image = split.image_head(split.image_outputs(encoder.preprocess(IMAGES)))
        text = split.text_head(split.text_outputs(encoder.tokenize(TEXTS)))
        assert_close(image, features.image, atol=1e-4, rtol=1e-4)
        assert_close(text, features.text, atol=1e-4, rtol=1e-4)
    trained = [weight.requires_grad for weight in encoder.parameters()]
    assert any(trained) and not all(trained)
    return True


@pytest.mark.slow
@pytest.mark.timeout(3600)  # builds 144 models
def test_every_architecture_of_open_clip_answers(tmp_path, offline):
    """With one layer in open_clip's own towers, and timm's towers in full unless they are too
    large.
    """
    refused = {}
    for name in open_clip.list_models():
        try:
            encoder = built(
                name,
                tmp_path / name,
                timm_too=is_large(open_clip.get_model_config(name)["vision_cfg"]),
            )
            encoder.check()
            assert encoder.encode(IMAGES, TEXTS).embedding().isfinite().all()
            is_split(encoder)
        except Exception as error:
            refused[name] = f"{type(error).__name__}: {error}"
    assert not refused and len(open_clip.list_models()) >= 144


def is_large(vision):
    """Whether a timm tower has more than LARGE weights."""
    with torch.device("meta"):
        model = (
            timm.create_model(vision["timm_model_name"])
            if "timm_model_name" in vision
            else torch.nn.Identity()
        )
    return sum(weight.numel() for weight in model.parameters()) > LARGE


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        ("No-Such-Net", "open_clip has no architecture 'No-Such-Net'"),
        ("roberta-ViT-B-32", "the architecture roberta-ViT-B-32 cannot be built"),
        (
            {"embed_dim": 8, "vision_cfg": {"image_size": 32}, "text_cfg": {"heads": 7}},
            "cannot be built",
        ),
        ({"embed_dim": 8}, "cannot be built"),
    ],
)
def test_an_architecture_that_cannot_be_built_is_refused_in_a_sentence(
    architecture, message, offline, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=message) as caught:
        new_encoder(replace(TINY.encoder, architecture=architecture))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1_000


def test_a_check_leaves_an_encoder_in_training_mode_as_it_was(tmp_path):
    encoder = built(KINDS["ResNet"], tmp_path).train()
    before = copy.deepcopy(encoder.state_dict())
    state = torch.get_rng_state()
    encoder.check()
    assert encoder.training and encoder.clip.visual.training
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
