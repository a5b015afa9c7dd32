"""A published checkpoint: a pickle, of which only the weights are read.

The file holds a dict: `model` with the weights, and beside it the optimizer's state and one OmegaConf configuration.
It is opened by torch's restricted unpickler. The classes that such a configuration is pickled as are allowed by
name, and each of them is read as an object that does nothing: OmegaConf is not needed, and no code of the file or
of another package is run. Tensors are mapped from the file, so what is not taken is never read.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from genius.errors import UserError

WEIGHTS = "model"  # the entry of the file that holds them


class Inert:
    """Stands for an object of the pickled configuration: takes whatever it is given and keeps nothing."""

    def __init__(self, *given: Any):
        pass

    def __setstate__(self, state: Any) -> None:
        pass


CONFIGURATION = tuple(
    (Inert, name)
    for name in (  # what OmegaConf pickles a configuration as
        "omegaconf.dictconfig.DictConfig",
        "omegaconf.listconfig.ListConfig",
        "omegaconf.base.ContainerMetadata",
        "omegaconf.base.Metadata",
        "omegaconf.nodes.AnyNode",
        "omegaconf.nodes.StringNode",
        "omegaconf.nodes.IntegerNode",
        "omegaconf.nodes.FloatNode",
        "omegaconf.nodes.BooleanNode",
        "typing.Any",
        "collections.defaultdict",
        "builtins.dict",
        "builtins.list",
        "builtins.str",
        "builtins.int",
        "builtins.float",
        "builtins.bool",
    )
)


class Checkpoint:
    """The weights of a file. Each is taken, or left out for a reason; `close` refuses one that is neither."""

    def __init__(self, file: Path, weights: dict[str, Tensor], beside: list[str]):
        """beside: what the file holds that is no weight."""
        self.file = file
        self.left_out = dict.fromkeys(beside, "beside the weights")  # name -> why
        self._weights = dict(weights)

    @classmethod
    def read(cls, file: Path) -> Checkpoint:
        """Raises UserError if the file is no such checkpoint, or pickles anything that is not on the list."""
        if not file.is_file():
            raise UserError(f"there is no file {file}")
        try:
            with torch.serialization.safe_globals(list(CONFIGURATION)):
                strange = torch.serialization.get_unsafe_globals_in_checkpoint(file)
                found = {} if strange else torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        except (OSError, RuntimeError, ValueError, TypeError, EOFError, UnpicklingError) as error:
            raise UserError(
                f"{file} is not a checkpoint as torch.save writes it "
                f"({str(error).splitlines()[0] if str(error) else type(error).__name__})"
            ) from None
        if strange:
            raise UserError(
                f"{file} pickles {', '.join(sorted(strange))}; only weights and an OmegaConf "
                "configuration are read, and nothing of this file was run"
            )
        weights = found.get(WEIGHTS) if isinstance(found, dict) else None
        if not isinstance(weights, dict) or not weights or not all(map(torch.is_tensor, weights.values())):
            raise UserError(f"{file} holds no weights under {WEIGHTS!r}, as UniIR's and GENIUS's checkpoints do")
        return cls(file, weights, [str(name) for name in found if name != WEIGHTS])

    def has(self, prefix: str) -> bool:
        """Whether any weight that was not yet taken begins so."""
        return any(name.startswith(prefix) for name in self._weights)

    def shape(self, name: str, axes: int) -> tuple[int, ...]:
        """Of a weight with so many axes. Raises UserError if there is none."""
        found = tuple(self._weight(name).shape)
        if len(found) != axes:
            raise UserError(f"{self.file}: {name} has the shape {found}, expected {axes} axes")
        return found

    def count(self, prefix: str) -> int:
        """How many numbered modules there are directly below a prefix. Raises UserError if there are none."""
        pattern = re.compile(re.escape(prefix) + r"(\d+)\.")
        numbers = {int(match[1]) for match in map(pattern.match, self._weights) if match}
        if not numbers or max(numbers) != len(numbers) - 1:
            raise UserError(
                f"{self.file}: expected weights {prefix}0, {prefix}1 and so on, found {len(numbers)} of such modules"
            )
        return len(numbers)

    def take(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Raises UserError if the weight is missing, has another shape, or holds what is not a number."""
        weight = self._weight(name)
        if weight.shape != shape:
            raise UserError(f"{self.file}: {name} has the shape {tuple(weight.shape)}, expected {tuple(shape)}")
        if not weight.isfinite().all():
            raise UserError(f"{self.file}: {name} holds values that are not numbers")
        return self._weights.pop(name)

    @torch.no_grad()
    def fill(self, module: nn.Module, prefix: str) -> None:
        """Give a module all its weights: those of the same names below the prefix.

        Raises UserError if one is missing or does not fit, or if copies that the module ties are not equal.
        """
        filled: dict[int, str] = {}  # place in memory -> name
        for name, own in module.state_dict().items():
            given = self.take(prefix + name, own.shape)
            tied = filled.setdefault(own.data_ptr(), name)
            if tied == name:
                own.copy_(given)
            elif not torch.equal(own, given.to(own.dtype)):
                raise UserError(
                    f"{self.file}: {prefix + name} and {prefix + tied} differ, expected one weight under two names"
                )

    def leave_out(self, pattern: str, reason: str) -> None:
        """Do without the weights of this name; * stands for anything."""
        for name in [name for name in self._weights if fnmatchcase(name, pattern)]:
            self._weights.pop(name)
            self.left_out[name] = reason

    def close(self) -> None:
        """Raises UserError that names the weights which were neither taken nor left out."""
        if rest := sorted(self._weights):
            raise UserError(
                f"{self.file}: it is not known what {len(rest)} weights are for ({', '.join(rest[:3])}"
                f"{', …' if len(rest) > 3 else ''}); if a search does without them, say so: "
                f"--leave-out {rest[0].split('.')[0]}.*"
            )

    def _weight(self, name: str) -> Tensor:
        try:
            return self._weights[name]
        except KeyError:
            raise UserError(f"{self.file} lacks the weight {name}") from None
