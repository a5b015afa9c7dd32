"""Checkpoints with random weights, of the layout in which UniIR and GENIUS published theirs.

Written from the documented names and shapes alone, without the package's models. Each file holds
what `torch.save({"model": …, "optimizer": …, "scheduler": …, "config": …, "epoch": …, "scaler":
…})` writes there, with a configuration pickled under OmegaConf's class names.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Sizes:
    """The published ones: ViT-L/14, M = 9, K = 4096, T5-small."""

    dim: int = 768  # of the space that images and texts share
    image: int = 224
    patch: int = 14
    vision_width: int = 1024
    vision_layers: int = 24
    text_width: int = 768
    text_layers: int = 12
    vocabulary: int = 49_408
    context: int = 77
    branch: int = 2560  # of the fusion
    hidden: int = 5120
    levels: int = 9
    codes: int = 4096
    width: int = 512  # of T5
    layers: int = 6
    heads: int = 8
    head_width: int = 64
    ff_width: int = 2048
    prefix: int = 30

    @property
    def tokens(self) -> int:
        return 3 + 3 + (self.levels - 1) * self.codes


TRUE = Sizes()
SMALL = Sizes(
    dim=24,
    image=32,
    patch=16,
    vision_width=128,
    vision_layers=2,
    text_width=64,
    text_layers=2,
    context=12,
    branch=20,
    hidden=28,
    levels=4,
    codes=7,
    width=16,
    layers=2,
    heads=2,
    head_width=5,
    ff_width=18,
    prefix=3,
)


def clip_weights(sizes: Sizes, seed: int = 0) -> Weights:
    """Under OpenAI's names, after `clip_model.`."""
    draw = torch.Generator().manual_seed(seed)
    grid = sizes.image // sizes.patch
    found = {}

    def add(name: str, *shape: int, scale: float = 0.02, centre: float = 0.0) -> None:
        found[f"clip_model.{name}"] = centre + scale * torch.randn(shape, generator=draw)

    def transformer(name: str, width: int, layers: int) -> None:
        for block in (f"{name}.resblocks.{layer}" for layer in range(layers)):
            for norm in ("ln_1", "ln_2"):
                add(f"{block}.{norm}.weight", width, scale=0.1, centre=1)
                add(f"{block}.{norm}.bias", width)
            for layer, out, into in (
                ("attn.in_proj_", 3 * width, width),
                ("attn.out_proj.", width, width),
                ("mlp.c_fc.", 4 * width, width),
                ("mlp.c_proj.", width, 4 * width),
            ):
                add(f"{block}.{layer}weight", out, into, scale=1 / math.sqrt(into))
                add(f"{block}.{layer}bias", out)

    add("positional_embedding", sizes.context, sizes.text_width)
    add("text_projection", sizes.text_width, sizes.dim, scale=1 / math.sqrt(sizes.text_width))
    add("logit_scale", scale=0.0, centre=math.log(100))
    add("visual.class_embedding", sizes.vision_width)
    add("visual.positional_embedding", grid * grid + 1, sizes.vision_width)
    add("visual.proj", sizes.vision_width, sizes.dim, scale=1 / math.sqrt(sizes.vision_width))
    add("visual.conv1.weight", sizes.vision_width, 3, sizes.patch, sizes.patch)
    transformer("visual.transformer", sizes.vision_width, sizes.vision_layers)
    transformer("transformer", sizes.text_width, sizes.text_layers)
    add("token_embedding.weight", sizes.vocabulary, sizes.text_width)
    for norm, width in (
        ("visual.ln_pre", sizes.vision_width),
        ("visual.ln_post", sizes.vision_width),
        ("ln_final", sizes.text_width),
    ):
        add(f"{norm}.weight", width, scale=0.1, centre=1)
        add(f"{norm}.bias", width)
    return found


def quantizer_weights(sizes: Sizes, seed: int = 1) -> Weights:
    """Fusion and codebooks, with `vq` as a second name of level 0."""
    draw = torch.Generator().manual_seed(seed)
    found: Weights = {}
    both = 2 * sizes.branch
    for name, out, into in (
        ("text_projection_layer", sizes.branch, sizes.dim),
        ("image_projection_layer", sizes.branch, sizes.dim),
        ("combiner_layer", sizes.hidden, both),
        ("output_layer", sizes.dim, sizes.hidden),
        ("dynamic_scalar.0", sizes.hidden, both),
        ("dynamic_scalar.3", 1, sizes.hidden),
    ):
        found[f"encoder.{name}.weight"] = torch.randn(out, into, generator=draw) / math.sqrt(into)
        found[f"encoder.{name}.bias"] = 0.1 * torch.randn(out, generator=draw)
    for level in range(sizes.levels):
        size = sizes.codes if level else 3
        embed = (
            0.6
            * 0.85**level
            * torch.randn(1, size, sizes.dim, generator=draw)
            / math.sqrt(sizes.dim)
        )
        hits = 2 + 4 * torch.rand(1, size, generator=draw)
        book = {
            "initted": torch.tensor([1.0]),
            "cluster_size": hits,
            "embed_avg": embed * hits[..., None],
        }
        book["embed"] = embed
        for name, tensor in book.items():
            found[f"residual_rq.layers.{level}._codebook.{name}"] = tensor
            if level == 0:
                found[f"vq._codebook.{name}"] = tensor
    return found


def decoder_weights(sizes: Sizes, seed: int = 2) -> Weights:
    """The T5 decoder, its empty encoder's norm, the prefix, and a projection that no search
    uses.
    """
    draw = torch.Generator().manual_seed(seed)
    found: Weights = {}

    def add(name: str, *shape: int, scale: float, centre: float = 0.0) -> None:
        found[name] = centre + scale * torch.randn(shape, generator=draw)

    m = sizes.width
    inner = sizes.heads * sizes.head_width
    add("embed_projector.0.weight", sizes.prefix * m, sizes.dim, scale=1.0)
    add("embed_projector.0.bias", sizes.prefix * m, scale=0.1)
    add("contra_projector.weight", m, sizes.dim, scale=0.02)
    add("contra_projector.bias", m, scale=0.02)
    add("id_generator.shared.weight", sizes.tokens, m, scale=2.0)
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"):
        found[f"id_generator.{name}.weight"] = found["id_generator.shared.weight"]
    for stack in ("encoder", "decoder"):
        add(f"id_generator.{stack}.final_layer_norm.weight", m, scale=0.2, centre=1)
    for block in (f"id_generator.decoder.block.{layer}.layer." for layer in range(sizes.layers)):
        for number, kind in ((0, "SelfAttention"), (1, "EncDecAttention")):
            for name in "qkv":
                add(
                    f"{block}{number}.{kind}.{name}.weight",
                    inner,
                    m,
                    scale=(0.2 if name == "q" else 1) / math.sqrt(m),
                )
            add(f"{block}{number}.{kind}.o.weight", m, inner, scale=1 / math.sqrt(inner))
        add(f"{block}2.DenseReluDense.wi.weight", sizes.ff_width, m, scale=1 / math.sqrt(m))
        add(
            f"{block}2.DenseReluDense.wo.weight",
            m,
            sizes.ff_width,
            scale=1 / math.sqrt(sizes.ff_width),
        )
        for number in range(3):
            add(f"{block}{number}.layer_norm.weight", m, scale=0.2, centre=1)
    add(
        "id_generator.decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        32,
        sizes.heads,
        scale=1.0,
    )
    return found


def genius_weights(sizes: Sizes) -> Weights:
    """A decoder's checkpoint, its quantizer included."""
    own = {f"quantizer.{name}": tensor for name, tensor in quantizer_weights(sizes).items()}
    return own | decoder_weights(sizes)


def save(file: Path, weights: Weights, **entries: Any) -> Path:
    """As the training scripts save, without the moments of the optimizer; `entries` replace what
    lies beside the weights.
    """
    beside = {
        "optimizer": {"state": {0: {"step": torch.tensor(9.0)}}, "param_groups": [{"lr": 1e-5}]},
        "scheduler": {"last_epoch": 9, "_last_lr": [1e-5]},
        "epoch": 19,
        "scaler": {"scale": 65536.0},
    }
    with omegaconf_names() as configuration:
        torch.save({"model": weights, **beside, "config": configuration, **entries}, file)
    return file


@contextmanager
def omegaconf_names() -> Iterator[Any]:
    """A configuration as OmegaConf would pickle it, while classes of its names can be found."""
    modules: dict[str, ModuleType] = {}

    def kind(module: str, name: str) -> type:
        made = type(name, (), {"__module__": module, "__qualname__": name})
        modules.setdefault(module, ModuleType(module))
        setattr(modules[module], name, made)
        return made

    def built(of: type, **state: Any) -> Any:
        made = of()
        made.__dict__.update(state)
        return made

    modules["omegaconf"] = ModuleType("omegaconf")
    dictionary = kind("omegaconf.dictconfig", "DictConfig")
    sequence = kind("omegaconf.listconfig", "ListConfig")
    of_many = kind("omegaconf.base", "ContainerMetadata")
    of_one = kind("omegaconf.base", "Metadata")
    node = kind("omegaconf.nodes", "AnyNode")
    facts = {"object_type": dict, "optional": True, "key": None, "element_type": Any}
    facts |= {"resolver_cache": defaultdict(dict), "flags": {}}
    root = built(dictionary, _metadata=built(of_many, **facts), _parent=None)
    of_levels = built(of_one, **facts | {"object_type": int})
    levels = built(node, _metadata=of_levels, _parent=root, _val=8)
    of_sizes = built(of_many, **facts | {"object_type": list})
    sizes = built(sequence, _metadata=of_sizes, _parent=root, _content=[levels])
    root.__dict__["_content"] = {"codebook_level": levels, "sizes": sizes}
    sys.modules.update(modules)
    try:
        yield root
    finally:  # these alone: a thread may be importing others
        for name in modules:
            del sys.modules[name]
