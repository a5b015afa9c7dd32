"""How a trained part is stored: a folder with config.json and model.safetensors."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors import torch as safetensors
from torch import Tensor, nn

from genius.errors import UserError

M = TypeVar("M", bound=nn.Module)
SCALE = ".scale"  # after the name of an 8-bit matrix
LARGE = 2**16  # numbers of a matrix that is stored in 8 bits


def save_model(
    model: nn.Module,
    config: Any,
    folder: Path,
    *,
    half: bool = False,
    eight_bit: bool = False,
    exclude: tuple[str, ...] = (),
) -> None:
    """Write the config (a dataclass) and the weights into `folder`, which exists.

    half: store floating-point weights in half precision. eight_bit: as half, but large matrices as 8-bit integers with
    a scale for each row, except those whose names start with one of the model's `half_weights`. exclude: name prefixes
    of buffers that are not stored.
    """
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config), indent=1) + "\n")
    if half or eight_bit or exclude:
        model = copy.deepcopy(model)
        for name in [name for name, _ in model.named_buffers(recurse=False) if name.startswith(exclude)]:
            delattr(model, name)
        if eight_bit:
            _save_eight_bit(model, folder / "model.safetensors")
            return
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
        missing, unexpected = _load_weights(model, folder / "model.safetensors")
        if wrong := [*unexpected, *(name for name in missing if not name.startswith(optional))]:
            raise ValueError(f"weights are missing or unknown, such as {min(wrong)}")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{folder} cannot be loaded ({first_line}); train this part again") from error
    return model.eval()


def _save_eight_bit(model: nn.Module, file: Path) -> None:
    tensors = {}
    for name, tensor in model.state_dict().items():
        if _gets_eight_bits(model, name, tensor):
            tensors[name], tensors[name + SCALE] = quantize_rows(tensor)
        else:
            tensors[name] = (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
    safetensors.save_file(tensors, file)


def _load_weights(model: nn.Module, file: Path) -> tuple[list[str], list[str]]:
    """Load weights, 8-bit ones too; returns the names of those that are missing, and unexpected."""
    with safe_open(file, "pt") as stored:
        matrices = [name for name in stored.keys() if stored.get_slice(name).get_dtype() == "I8"]  # noqa: SIM118
    if not matrices:
        missing, unexpected = safetensors.load_model(model, file, strict=False)
        return sorted(missing), unexpected
    tensors = safetensors.load_file(file)
    for name in matrices:
        rows, scale = tensors[name], tensors.pop(name + SCALE, None)
        if scale is None or rows.ndim != 2 or scale.shape != rows.shape[:1]:
            raise ValueError(f"{name} has no scales that fit it")
        tensors[name] = restore_rows(rows, scale)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    return missing, unexpected


def _gets_eight_bits(model: nn.Module, name: str, tensor: Tensor) -> bool:
    """Whether a weight is stored in 8 bits where its model is: large matrices.

    Not convolutions: those of EfficientNet-Lite2 save 5 MB, but its outputs lose much (cosine 0.996 with the exact
    ones, 0.970 at worst), the matrices of a text tower lose little (0.9994, 0.9990 at worst).
    """
    whole = name.startswith(getattr(model, "half_weights", ()))
    return not whole and tensor.is_floating_point() and tensor.ndim == 2 and tensor.numel() >= LARGE


def quantize_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """(n, m) -> 8-bit rows (n, m) and their scales (n,), in half precision: a row is its integers times its scale.

    Repeated on restored rows it gives the same integers and scales.
    """
    scale = (matrix.float().abs().amax(1) / 127).half().clamp(min=torch.finfo(torch.float16).tiny)
    rows = (matrix.float() / scale.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
    return rows, scale


def restore_rows(rows: Tensor, scale: Tensor) -> Tensor:
    """8-bit rows (n, m) and scales (n,) -> (n, m) fp32."""
    return rows.float() * scale.float()[:, None]


@torch.no_grad()
def round_to_eight_bit(model: nn.Module) -> None:
    """Round every weight to the value that a reader of its 8-bit copy will see, in place.

    Raises UserError as `round_to_half` does.
    """
    for name, tensor in model.state_dict().items():
        if _gets_eight_bits(model, name, tensor):
            tensor.copy_(restore_rows(*quantize_rows(tensor)))
        else:
            _round_to_half(name, tensor)


@torch.no_grad()
def round_to_half(model: nn.Module) -> None:
    """Round every weight to the value that a reader of its half-precision copy will see, in place.

    Raises UserError, which names the weight, if one is beyond the range of half precision.
    """
    for name, tensor in model.state_dict().items():
        _round_to_half(name, tensor)


def _round_to_half(name: str, tensor: Tensor) -> None:
    if tensor.is_floating_point():
        tensor.copy_(tensor.half())
        if not tensor.isfinite().all():
            raise UserError(
                f"the weight {name} does not fit half precision; set the stage's half to false and train it again"
            )
