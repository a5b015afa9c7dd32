"""Pretrained towers with random weights, and a collection that heads behind them can learn."""

import io
from itertools import product
from pathlib import Path

import numpy as np
import timm
import torch
from PIL import Image
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, BertTokenizer

from genius.collections.mbeir import Collection
from genius.collections.writer import new_collection
from genius.schema import Item, LabeledQuery, Modality
from tests.training.tiny import tiny
from training.settings import Settings, with_values

SIDE = 32
COLORS = {
    "red": (220, 20, 20),
    "green": (20, 200, 20),
    "blue": (20, 20, 220),
    "white": (240, 240, 240),
    "black": (5, 5, 5),
    "yellow": (230, 230, 20),
}
COPIES = 4  # pictures of each pair of colors for training; one more for validation
INSTRUCTIONS = ["find the picture", "show the picture", "which picture is this"]
WORDS = sorted(
    {word for text in [*INSTRUCTIONS, *COLORS, "on describe it"] for word in text.split()}
)


def write_towers(folder: Path, seed: int = 0) -> tuple[str, str]:
    """Write an image tower and a text tower; -> their names for encoder.image_tower and
    encoder.text_tower.
    """
    torch.manual_seed(seed)
    folder.mkdir()
    image = timm.create_model("resnet10t")
    with torch.no_grad():  # running statistics that fit, so that outputs differ
        for _ in range(3):
            image.train()(
                torch.rand(64, 1, 1, 3).expand(-1, SIDE, SIDE, -1).permute(0, 3, 1, 2) * 2 - 1
            )
    save_file(image.state_dict(), folder / "image.safetensors")
    text = folder / "text"
    config = BertConfig(
        vocab_size=len(WORDS) + 6,
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
    )
    BertModel(config).save_pretrained(text)
    (text / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS])
    )
    BertTokenizer(str(text / "vocab.txt")).save_pretrained(text)
    return tower_names(folder)


def tower_names(folder: Path) -> tuple[str, str]:
    return f"resnet10t.c3_in1k:{folder / 'image.safetensors'}", str(folder / "text")


def write_color_collection(root: Path) -> Collection:
    """Pictures of one color on another; texts find pictures (task 0), pictures find texts (task
    3).
    """
    rng = np.random.default_rng(0)
    with new_collection(root) as writer:
        for number, (copy, one, two) in enumerate(product(range(COPIES + 1), COLORS, COLORS)):
            split = "train" if copy < COPIES else "val"
            text = f"{one} on {two}"
            pixels = np.empty((20, 30, 3))
            pixels[:], pixels[5:15, 8:22] = COLORS[two], COLORS[one]
            pixels = (pixels + rng.normal(0, 4, pixels.shape)).clip(0, 255).astype(np.uint8)
            stream = io.BytesIO()
            path = f"images/{number}.png"
            Image.fromarray(pixels).save(stream, "PNG")
            writer.image(path, stream.getvalue())
            shown, said = f"0:{number}", f"0:{1000 + number}"
            for task, item, query in (
                (
                    0,
                    Item(shown, Modality.IMAGE, image=path),
                    LabeledQuery(shown, Modality.TEXT, 0, text, positives=(shown,)),
                ),
                (
                    3,
                    Item(said, Modality.TEXT, text),
                    LabeledQuery(said, Modality.IMAGE, 3, image=path, positives=(said,)),
                ),
            ):
                writer.candidate(item, "colors", [task], [split])
                writer.query(query, "colors", split)
        writer.instructions(0, "colors", Modality.TEXT, Modality.IMAGE, INSTRUCTIONS)
        writer.instructions(0, "colors", Modality.IMAGE, Modality.TEXT, ["describe it"])
    return Collection(root)


def locked_settings(image_tower: str, text_tower: str, **changes) -> Settings:
    """Settings that train heads in a second; changes: of the encoder's settings."""
    encoder = {
        "image_tower": image_tower,
        "text_tower": text_tower,
        "epochs": 20,
        "batch": 48,
        "group": 1,
        "learning_rate": 1e-2,
        "bf16": False,
        "min_crop": 0.9,
        "modality_weight": 0.0,
        "instruction_swap_prob": 0.0,
        "towers": {"dim": 12, "image_size": SIDE, "resize_mode": "squash"},
        "locked": {"enabled": True, "views": 2, "phrasings": 2},
    }
    return with_values(tiny(encoder=encoder), {"encoder": changes})
