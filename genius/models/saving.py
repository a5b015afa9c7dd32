"""How a trained part is stored: a folder with config.json and model.safetensors."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import nn

from genius.errors import UserError

M = TypeVar("M", bound=nn.Module)


def save_model(
    model: nn.Module, config: Any, folder: Path, *, half: bool = False, exclude: tuple[str, ...] = ()
) -> None:
    """Write the config (a dataclass) and the weights into `folder`, which exists.

    half: store floating-point weights in half precision. exclude: name prefixes of buffers that are not stored.
    """
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config), indent=1) + "\n")
    if half or exclude:
        model = copy.deepcopy(model)
        for name in [name for name, _ in model.named_buffers(recurse=False) if name.startswith(exclude)]:
            delattr(model, name)
        if half:
            model.half()
    safetensors.save_model(model, str(folder / "model.safetensors"))  # stores tied weights once


def load_model(build: Callable[[Any], M], config_class: type, folder: Path, *, optional: tuple[str, ...] = ()) -> M:
    """Build a model from its config and load its weights strictly, as fp32; returned in eval mode.

    build: makes a model whose weights are replaced, such as its class. optional: name prefixes of weights that may be
    missing. Raises UserError, which names the folder, if config or weights do not fit the code.
    """
    try:
        config = config_class(**json.loads((folder / "config.json").read_text()))
        model = build(config)
        missing, unexpected = safetensors.load_model(model, folder / "model.safetensors", strict=False)
        if wrong := [*unexpected, *(name for name in missing if not name.startswith(optional))]:
            raise ValueError(f"weights are missing or unknown, such as {min(wrong)}")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{folder} cannot be loaded ({first_line}); train this part again") from error
    return model.eval()


@torch.no_grad()
def round_to_half(model: nn.Module) -> None:
    """Round every weight to the value that a reader of its half-precision copy will see, in place.

    Raises UserError, which names the weight, if one is beyond the range of half precision.
    """
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(tensor.half())
            if not tensor.isfinite().all():
                raise UserError(
                    f"the weight {name} does not fit half precision; set the stage's half to false and train it again"
                )
