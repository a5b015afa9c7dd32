"""How a learned part is kept: a folder with config.json and model.safetensors."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import nn

from genius.errors import UserError

M = TypeVar("M", bound=nn.Module)


def save_model(model: nn.Module, config: Any, folder: Path) -> None:
    """Write the config (a dataclass) and the weights into `folder`, which exists."""
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config), indent=1) + "\n")
    safetensors.save_model(model, str(folder / "model.safetensors"))   # stores tied weights once


def load_model(kind: type[M], config_kind: type, folder: Path) -> M:
    """Build `kind` from its config and load its weights, strictly; the model is in eval mode.

    Raises UserError that names the folder if config or weights do not fit the code.
    """
    try:
        config = config_kind(**json.loads((folder / "config.json").read_text()))
        model = kind(config)
        safetensors.load_model(model, folder / "model.safetensors", strict=True)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{folder} cannot be loaded ({first_line}); train this part again") from error
    return model.eval()
