"""Tiny real models and a run made of them, untrained but seeded."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from open_clip.transform import PreprocessCfg
from PIL import Image

from genius.encoding.quantize import squared_distances
from genius.index.writing import write_index
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import QuantizerConfig, ResidualQuantizer
from genius.run import Run
from genius.schema import Item, Modality

DIM, LEVELS, CODES = 12, 4, 5
INSTRUCTIONS = [(Modality.TEXT, Modality.IMAGE, "Find the picture.")]
WORDS = ["red", "blue", "small", "large", "dog", "cat", "house", "tree", "boat", "street"]


def tiny_quantizer(seed: int = 0) -> ResidualQuantizer:
    quantizer = ResidualQuantizer(
        QuantizerConfig(dim=DIM, levels=LEVELS, codebook_size=CODES)
    ).eval()
    generator = torch.Generator().manual_seed(seed)
    for level, codebook in enumerate(quantizer.codebooks):
        codebook.copy_(torch.randn(codebook.shape, generator=generator) * 0.6 ** (level + 2))
    return quantizer


def tiny_decoder(geometry: bool = False, seed: int = 0, **changes) -> IDDecoder:
    torch.manual_seed(seed)
    config = DecoderConfig(
        dim=DIM,
        levels=LEVELS,
        codebook_size=CODES,
        width=16,
        layers=2,
        heads=2,
        head_width=8,
        ff_width=24,
        prefix=3,
        geometry=geometry,
        geometry_scale=3.0,
        embedding_scale=4.0,
    )
    decoder = IDDecoder(replace(config, **changes))
    if decoder.config.dim == DIM and decoder.config.codebook_size == CODES:
        decoder.initialize(tiny_quantizer(seed))
    return decoder.eval()


@cache
def tiny_encoder() -> Encoder:
    torch.manual_seed(0)
    return Encoder(
        EncoderConfig(
            {
                "embed_dim": DIM,
                "vision_cfg": {
                    "image_size": 32,
                    "layers": 1,
                    "width": 32,
                    "head_width": 16,
                    "patch_size": 16,
                },
                "text_cfg": {
                    "context_length": 16,
                    "vocab_size": 49408,
                    "width": 32,
                    "heads": 2,
                    "layers": 1,
                },
            },
            asdict(PreprocessCfg(size=(32, 32))),
        )
    ).eval()


def tiny_fusion() -> Fusion:
    torch.manual_seed(1)
    return Fusion(FusionConfig(dim=DIM, branch=16, hidden=24)).eval()


def tiny_items(n: int, pictures: Path) -> list[Item]:
    """Pictures, texts and pairs in turn; the pictures are written to the folder."""
    rng = np.random.default_rng(0)
    items = []
    for i in range(n):
        modality = Modality(i % 3)
        text = "" if modality is Modality.IMAGE else f"A {' '.join(rng.choice(WORDS, 3))} {i}."
        image = None if modality is Modality.TEXT else f"{i}.png"
        if image:
            pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).resize((40, 30)).save(pictures / image)
        items.append(Item(f"0:{i}", modality, text, image))
    return items


def publish_tiny_run(path: Path, n: int = 40, fused: bool = False) -> Run:
    """A run of n tiny items."""
    pictures = path / "pictures"
    pictures.mkdir(parents=True)
    return publish_run(path, tiny_items(n, pictures), pictures.joinpath, fused=fused)


def publish_run(
    path: Path,
    items: list[Item],
    image_path: Callable[[str], Path],
    fused: bool = False,
    fitted: bool = False,
) -> Run:
    """Encode, quantize, index and publish, as training does. fused: the index keeps fused
    features. fitted: codebooks are initialized from the items.
    """
    encoder, fusion, quantizer, decoder = (
        tiny_encoder(),
        tiny_fusion(),
        tiny_quantizer(),
        tiny_decoder(),
    )
    images = [
        Image.open(image_path(item.image)).convert("RGB") if item.image else None for item in items
    ]
    modalities = torch.tensor([item.modality for item in items])
    features = encoder.encode(images, [item.text for item in items])
    with torch.inference_mode():
        z = fusion(features)
    if fitted:
        quantizer.initialize(z, modalities, seed=0)
        decoder.initialize(quantizer)
    codes = quantizer.encode(z, modalities).numpy()
    write = partial(
        write_index,
        items=items,
        codes=codes,
        embeddings=features.embedding().numpy(),
        code_sizes=quantizer.config.code_sizes,
        instructions=INSTRUCTIONS,
        image_path=image_path,
        fused=z.numpy() if fused else None,
        distances=squared_distances(z.numpy(), codes, quantizer),
    )
    run = Run(path)
    run.publish("encoder", encoder.save)
    run.publish("fusion", fusion.save, ("encoder",))
    run.publish("quantizer", quantizer.save, ("encoder", "fusion"))
    run.publish("decoder", decoder.save, ("quantizer",))
    run.publish("index", write, ("encoder", "fusion", "quantizer"))
    return run
