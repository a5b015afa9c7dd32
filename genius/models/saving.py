"""How a learned part is kept: a folder with config.json and model.safetensors."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import nn

from genius.errors import UserError

M = TypeVar("M", bound=nn.Module)


def save_model(
    model: nn.Module, config: Any, folder: Path, *, half: bool = False, without: tuple[str, ...] = ()
) -> None:
    """Write the config (a dataclass) and the weights into `folder`, which exists.

    half: floating-point weights are stored in half precision. without: how the names of buffers begin
    that no reader needs.
    """
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config), indent=1) + "\n")
    if half or without:
        model = copy.deepcopy(model)
        for name in [name for name, _ in model.named_buffers(recurse=False) if name.startswith(without)]:
            delattr(model, name)
        if half:
            model.half()
    safetensors.save_model(model, str(folder / "model.safetensors"))  # stores tied weights once


def load_model(kind: type[M], config_kind: type, folder: Path, *, without: tuple[str, ...] = ()) -> M:
    """Build `kind` from its config and load its weights, strictly and in fp32; the model is in eval mode.

    without: how the names of weights begin that may be missing. Raises UserError that names the folder if config
    or weights do not fit the code.
    """
    try:
        config = config_kind(**json.loads((folder / "config.json").read_text()))
        model = kind(config)
        missing, unexpected = safetensors.load_model(model, folder / "model.safetensors", strict=False)
        if wrong := [*unexpected, *(name for name in missing if not name.startswith(without))]:
            raise ValueError(f"weights are missing or unknown, such as {min(wrong)}")
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{folder} cannot be loaded ({first_line}); train this part again") from error
    return model.eval()


@torch.no_grad()
def round_to_half(model: nn.Module) -> None:
    """Give every weight the value that a reader of its half-precision copy will see.

    Raises UserError that names a weight beyond half precision's range.
    """
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            tensor.copy_(tensor.half())
            if not tensor.isfinite().all():
                raise UserError(
                    f"the weight {name} does not fit half precision; set the stage's half to false and train it again"
                )
