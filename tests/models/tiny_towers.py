"""Tiny pretrained towers in files, and encoders made of them."""

import json
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import BertConfig, BertModel, BertTokenizer

from genius.models import pretrained
from genius.models.encoder import Encoder
from genius.models.encoder_config import TowerSettings

TINY = "test_efficientnet"  # timm's own architecture for tests
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "red", "dog", "."]


def write_image_tower(folder: Path, architecture: str = TINY) -> tuple[nn.Module, str]:
    """A timm model in safetensors, and its name for `image_tower`."""
    torch.manual_seed(0)
    model = timm.create_model(architecture.partition(".")[0]).eval()
    save_file(model.state_dict(), folder / "weights.safetensors")
    return model, f"{architecture}:{folder / 'weights.safetensors'}"


def write_timm_folder(folder: Path, **facts: Any) -> nn.Module:
    """A model in timm's format, and what it says of itself."""
    model, _ = write_image_tower(folder)
    (folder / "weights.safetensors").rename(folder / "model.safetensors")
    facts = {"num_classes": 1000, "input_size": [3, 160, 160], **facts}
    (folder / "config.json").write_text(json.dumps({"architecture": TINY, "pretrained_cfg": facts}))
    return model


def write_tokenizer(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def write_text_tower(folder: Path, tokenizer: bool = True) -> BertModel:
    """A text tower in transformers' format."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = BertModel(BertConfig(vocab_size=len(WORDS), intermediate_size=16, **sizes)).eval()
    model.save_pretrained(folder)
    if tokenizer:
        write_tokenizer(folder)
    return model


def tiny_towers_encoder(folder: Path, image: str = TINY, **settings: Any) -> Encoder:
    """An encoder of both; image: its architecture, or the name of a file of weights."""
    name = image if ":" in image else write_image_tower(folder, image)[1]
    write_text_tower(folder / "text")
    settings = {"dim": 12, "image_size": 64} | settings
    return pretrained.towers_encoder(name, str(folder / "text"), TowerSettings(**settings))
