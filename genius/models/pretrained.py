"""Encoders with pretrained weights: a model of open_clip, or two towers with new heads."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import open_clip
from open_clip.transform import PreprocessCfg

from genius.errors import UserError
from genius.models.class_bridge import classes_of
from genius.models.encoder import Encoder
from genius.models.encoder_config import EncoderConfig, TowerSettings
from genius.models.model_hubs import is_hub_unreachable, quiet_hub
from genius.models.towers import image_tower, text_tower
from genius.reading import one_line

LOCAL_FOLDER = "local-dir:"
MODEL_SOURCES = ("hf-hub:", LOCAL_FOLDER)  # hold a model configuration with its weights
CONTEXT = 77  # tokens of a text, of pretrained towers
OF_RESIDUAL_HEADS = ("hidden", "image_dropout", "text_dropout")  # settings


@quiet_hub()
def open_clip_encoder(architecture: str, pretrained: str = "") -> Encoder:
    """A pretrained open_clip model, with its weights unchanged.

    architecture: a name that open_clip knows, with `pretrained`, a tag (downloaded) or a local
    checkpoint file; or hf-hub:OWNER/REPOSITORY or local-dir:FOLDER, which hold configuration and
    weights (`pretrained` is ignored). Raises UserError if the architecture is unknown, or weights
    or tokenizer cannot be loaded.
    """
    pretrained = "" if architecture.startswith(MODEL_SOURCES) else pretrained
    try:
        model = open_clip.get_model_config(architecture)
        text = model["text_cfg"]
        quick = open_clip.get_pretrained_cfg(architecture, pretrained).get("quick_gelu", False)
        clip = open_clip.create_model(
            architecture, pretrained or None, require_pretrained=True, force_quick_gelu=quick
        )  # otherwise some tags get another activation
        if quick:
            model["quick_gelu"] = True
        if "hf_model_name" in text:
            text["hf_model_pretrained"] = False  # its weights are part of the checkpoint
        if "hf_tokenizer_name" in text and architecture.startswith(LOCAL_FOLDER):
            folder = Path(architecture.removeprefix(LOCAL_FOLDER))
            text["hf_tokenizer_name"] = str(folder.resolve())
        preprocess = dict(open_clip.get_model_preprocess_cfg(clip))
        source = f"{architecture} {Path(pretrained).name}".strip()
        encoder = Encoder(EncoderConfig(model, preprocess, source))
        encoder.clip.load_state_dict(clip.state_dict())
        encoder.eval().check()
    except Exception as error:  # open_clip, the hub and the network raise many types
        named = f"{architecture} with weights {pretrained!r}" if pretrained else architecture
        if is_hub_unreachable(error):
            raise UserError(
                f"open_clip cannot download {named}: the hub is out of reach, and no earlier "
                "download is in its cache; download the file on a machine with a network, and give "
                "its path"
            ) from error
        raise UserError(
            f"open_clip cannot load {named} ({one_line(error)}); give an architecture of open_clip "
            "and a tag or a checkpoint file, hf-hub:OWNER/REPOSITORY or local-dir:FOLDER"
        ) from error
    return encoder


def towers_encoder(image_name: str, text_name: str, settings: TowerSettings) -> Encoder:
    """An encoder with pretrained towers and random heads, in eval mode.

    Names are those of towers.py. Raises UserError if a tower is missing, cannot be loaded or does
    not fit.
    """
    image: Any = image_tower(image_name)  # timm has no types
    text = text_tower(text_name)
    classifier = image.get_classifier()
    known = {name: image.pretrained_cfg[name] for name in ("mean", "std", "interpolation")}
    preprocess = PreprocessCfg(size=settings.image_size, resize_mode=settings.resize_mode, **known)
    try:
        model = _model_config(image, text.source, text.pooler, settings)
        source = f"{image_name} {text_name}"
        encoder = Encoder(EncoderConfig(model, asdict(preprocess), source, settings.apart))
        image.reset_classifier(0)
        encoder.clip.visual.trunk.load_state_dict(image.state_dict())
        encoder.clip.text.transformer.load_state_dict(text.weights())
        if "bridge" in model:
            encoder.clip.visual.head.set_classifier(classifier)
        encoder.eval().check()
    except Exception as error:  # timm, transformers and open_clip raise many types
        raise UserError(
            f"the towers {image_name} and {text_name} do not make an encoder for "
            f"{settings.image_size} pixels ({one_line(error)}); set encoder.image_tower, "
            "encoder.text_tower or the image size"
        ) from error
    return encoder


def _model_config(image: Any, source: str, pooler: str, settings: TowerSettings) -> dict[str, Any]:
    """open_clip's configuration of these towers with new heads, and ours of the heads."""
    residual = settings.head == "residual"
    head = "linear" if residual else settings.head
    model: dict[str, Any] = {
        "embed_dim": settings.dim,
        "custom_text": True,
        "vision_cfg": {
            "image_size": settings.image_size,
            "timm_model_name": image.pretrained_cfg["architecture"],
            "timm_pool": "",  # as timm pools for its classifier
            "timm_proj": head,
            "timm_proj_bias": True,
            "timm_drop": 0.0 if residual else settings.image_dropout,
        },
        "text_cfg": {
            "context_length": CONTEXT,
            "hf_model_name": source,
            "hf_tokenizer_name": source,
            "hf_model_pretrained": False,
            "hf_pooler_type": pooler,
            "hf_proj_type": head,
        },
    }
    if residual:
        model["residual_heads"] = {name: getattr(settings, name) for name in OF_RESIDUAL_HEADS}
    if settings.bridge and (labels := classes_of(image)):
        model["bridge"] = {
            "labels": labels,
            "temperature": settings.bridge_temperature,
            "gain": settings.bridge_gain,
        }
    return model
