"""How a trained part is stored: a folder with config.json and model.safetensors.

The same weights give the same bytes. Weights that are not finite, or of another shape or type than
the config says, are refused.
"""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import torch
from safetensors import safe_open
from safetensors import torch as safetensors
from torch import Tensor, nn

from genius.errors import UserError
from genius.reading import one_line, read_json, size_of

M = TypeVar("M", bound=nn.Module)
SCALE = ".scale"  # after the name of an 8-bit matrix
LARGE = 2**16  # numbers of a matrix that is stored in 8 bits
WEIGHTS = "model.safetensors"
FLOATS = (torch.float16, torch.float32)  # that this project writes


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

    half: store floating-point weights in half precision. eight_bit: as half, but large matrices as
    8-bit integers with a scale for each row, except those whose names start with one of the model's
    `half_weights`. exclude: name prefixes of buffers that are not stored. Tied weights are stored
    once.
    """
    (folder / "config.json").write_text(json.dumps(dataclasses.asdict(config), indent=1) + "\n")
    tensors = {}
    stored = set[int]()
    for name, tensor in model.state_dict().items():
        if name.startswith(exclude) or tensor.data_ptr() in stored:
            continue
        stored.add(tensor.data_ptr())
        if eight_bit and _gets_eight_bits(model, name, tensor):
            tensors[name], tensors[name + SCALE] = quantize_rows(tensor)
        else:
            halved = (half or eight_bit) and tensor.is_floating_point()
            tensors[name] = (tensor.half() if halved else tensor).contiguous()
    safetensors.save_file(tensors, folder / WEIGHTS)


def load_model(
    build: Callable[[Any], M], config_class: type, folder: Path, *, optional: tuple[str, ...] = ()
) -> M:
    """Build a model from its config and load its weights strictly, as fp32; returned in eval mode.

    build: makes a model whose weights are replaced, such as its class. optional: name prefixes of
    weights that may be missing. Raises UserError, which names the folder, if config or weights do
    not fit the code.
    """
    try:
        config = read_json(folder / "config.json", config_class)
        size_of(folder / WEIGHTS)  # a pipe would be waited for
        # which refuses a file that is not as long as its header says
        with safe_open(folder / WEIGHTS, "pt") as stored:
            model = build(config)
            _load_weights(model, stored, optional)
    except UserError:
        raise
    except Exception as error:  # open_clip, timm, transformers and tokenizers raise many types
        raise UserError(
            f"{folder} cannot be loaded ({one_line(error)}); train this part again"
        ) from error
    return model.eval()


class SavedModule(nn.Module):
    """A module that is a part of a run: it is built from `config` and saved with it."""

    config_type: ClassVar[type]
    # name prefixes of buffers that only training needs
    training_buffers: ClassVar[tuple[str, ...]] = ()

    def save(self, folder: Path, half: bool = False) -> None:
        """Write config and weights into `folder`; half: in half precision. Buffers of training stay
        in checkpoints.
        """
        save_model(self, self.config, folder, half=half, exclude=self.training_buffers)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """A saved module in eval mode. Raises UserError if the folder does not hold one."""
        return load_model(cls, cls.config_type, folder, optional=cls.training_buffers)


def _load_weights(model: nn.Module, stored: safe_open, optional: tuple[str, ...]) -> None:
    """Load weights, 8-bit ones too. Raises ValueError if they are not those of the model."""
    weights = model.state_dict()
    names = set(stored.keys())
    scales = {name + SCALE for name in names if stored.get_slice(name).get_dtype() == "I8"}
    loaded = {weight.data_ptr() for name, weight in weights.items() if name in names}
    missing = [
        name
        for name in weights.keys() - names
        # else tied to a loaded weight
        if not name.startswith(optional) and weights[name].data_ptr() not in loaded
    ]
    if wrong := [*missing, *(names - weights.keys() - scales)]:
        raise ValueError(f"weights are missing or unknown, such as {min(wrong)}")
    tensors = {name: _read_weight(stored, name, weights[name]) for name in sorted(names - scales)}
    model.load_state_dict(tensors, strict=False)


def _read_weight(stored: safe_open, name: str, weight: Tensor) -> Tensor:
    """A stored weight that can replace this one: fp32 if it was stored in 8 bits, else as it was
    stored.
    """
    if (shape := tuple(stored.get_slice(name).get_shape())) != weight.shape:
        raise ValueError(f"{name} has the shape {shape}, its config says {tuple(weight.shape)}")
    tensor = stored.get_tensor(name)
    if tensor.dtype == torch.int8 and weight.is_floating_point():
        if name + SCALE not in stored.keys() or weight.ndim != 2:  # noqa: SIM118
            raise ValueError(f"{name} has no scales that fit it")
        scale = stored.get_tensor(name + SCALE)
        if scale.shape != tensor.shape[:1] or not scale.is_floating_point():
            raise ValueError(f"{name} has no scales that fit it")
        tensor = restore_rows(tensor, scale)
    elif tensor.dtype != weight.dtype and not (
        tensor.dtype in FLOATS and weight.is_floating_point()
    ):
        raise ValueError(f"{name} holds {tensor.dtype}, not {weight.dtype}")
    if not tensor.isfinite().all():
        raise ValueError(f"{name} holds a number that is not finite")
    return tensor


def _gets_eight_bits(model: nn.Module, name: str, tensor: Tensor) -> bool:
    """Whether a weight is stored in 8 bits where its model is: large matrices.

    Not convolutions: those of EfficientNet-Lite2 save 5 MB, but its outputs lose much (cosine 0.996
    with the exact ones, 0.970 at worst), the matrices of a text tower lose little (0.9994, 0.9990
    at worst).
    """
    whole = name.startswith(getattr(model, "half_weights", ()))
    return not whole and tensor.is_floating_point() and tensor.ndim == 2 and tensor.numel() >= LARGE


def quantize_rows(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """(n, m) -> 8-bit rows (n, m) and their scales (n,), in half precision: a row is its integers
    times its scale.

    Repeated on restored rows it gives the same integers and scales.
    """
    scale = (matrix.float().abs().amax(1) / 127).half().clamp(min=torch.finfo(torch.float16).tiny)
    rows = (matrix.float() / scale.float()[:, None]).round().clamp(-127, 127).to(torch.int8)
    return rows, scale


def restore_rows(rows: Tensor, scale: Tensor) -> Tensor:
    """8-bit rows (n, m) and scales (n,) -> (n, m) fp32."""
    return rows.float() * scale.float()[:, None]


@torch.no_grad()
def round_to_half(model: nn.Module, eight_bit: bool = False) -> None:
    """Round every weight to the value that a reader of its half-precision or 8-bit copy will see,
    in place.

    Raises UserError, which names the weight, if one is beyond the range of half precision.
    """
    for name, tensor in model.state_dict().items():
        if eight_bit and _gets_eight_bits(model, name, tensor):
            tensor.copy_(restore_rows(*quantize_rows(tensor)))
        elif tensor.is_floating_point():
            tensor.copy_(tensor.half())
            if not tensor.isfinite().all():
                raise UserError(
                    f"the weight {name} does not fit half precision; set the stage's half "
                    "to false and train it again"
                )
