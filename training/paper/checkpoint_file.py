"""Read the weights of a published checkpoint, which is a pickle, without executing anything in it.

A checkpoint is a path, or hf://OWNER/REPOSITORY[@REVISION]/FILE on the Hugging Face hub.

The file has a dict: `model` with the weights, the state of the optimizer and an OmegaConf
configuration. torch's restricted unpickler opens it. The classes of such a configuration are
allowed by name, and each is replaced by an object that does nothing: OmegaConf is not needed, and
no code of the file or of another package runs. Tensors are memory-mapped, so weights that are not
used are not read.
"""

from fnmatch import fnmatchcase
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Self

import torch
from huggingface_hub import hf_hub_download
from torch import Tensor, nn

from genius.errors import UserError
from genius.hub import SCHEME, hub_errors

CLIP_SF = f"{SCHEME}TIGER-Lab/UniIR/checkpoint/CLIP_SF/clip_sf_large.pth"
GENIUS = f"{SCHEME}Sungyeon/GENIUS/checkpoint/GENIUS_t5small.pth"
WEIGHTS = "model"  # the entry of the file with the weights


class Inert:
    """Replaces an object of the pickled configuration: accepts any arguments and stores nothing."""

    def __init__(self, *given: Any):
        pass

    def __setstate__(self, state: Any) -> None:
        pass


CONFIGURATION = {  # module: the classes of it in a pickled OmegaConf configuration
    "omegaconf.base": "ContainerMetadata Metadata",
    "omegaconf.dictconfig": "DictConfig",
    "omegaconf.listconfig": "ListConfig",
    "omegaconf.nodes": "AnyNode StringNode IntegerNode FloatNode BooleanNode",
    "typing": "Any",
    "collections": "defaultdict",
    "builtins": "dict list str int float bool",
}


class Checkpoint:
    """The weights of a file. Each is taken, or left out for a reason; `close` raises an error for
    any other.
    """

    def __init__(self, file: Path, weights: dict[str, Tensor], others: list[str]):
        """others: the entries of the file other than the weights."""
        self.file = file
        self.left_out = dict.fromkeys(others, "not a weight")  # name -> reason
        self._weights = dict(weights)

    @classmethod
    def read(cls, file: Path) -> Self:
        """Raises UserError if the file is not such a checkpoint, or pickles a class that is not
        allowed.
        """
        if not file.is_file():
            raise UserError(f"{file} does not exist")
        try:
            inert = [
                f"{module}.{name}"
                for module, names in CONFIGURATION.items()
                for name in names.split()
            ]
            with torch.serialization.safe_globals([(Inert, name) for name in inert]):
                strange = torch.serialization.get_unsafe_globals_in_checkpoint(file)
                content = (
                    {}
                    if strange
                    else torch.load(file, map_location="cpu", weights_only=True, mmap=True)
                )
        except (OSError, RuntimeError, ValueError, TypeError, EOFError, UnpicklingError) as error:
            raise UserError(
                f"{file} is not a checkpoint written by torch.save "
                f"({str(error).splitlines()[0] if str(error) else type(error).__name__})"
            ) from None
        if strange:
            raise UserError(
                f"{file} pickles {', '.join(sorted(strange))}; only weights and an OmegaConf "
                "configuration are read, and nothing of this file was run"
            )
        weights = content.get(WEIGHTS) if isinstance(content, dict) else None
        if (
            not isinstance(weights, dict)
            or not weights
            or not all(map(torch.is_tensor, weights.values()))
        ):
            raise UserError(
                f"{file} has no weights under {WEIGHTS!r}, unlike the checkpoints of "
                "UniIR and GENIUS"
            )
        return cls(file, weights, [str(name) for name in content if name != WEIGHTS])

    def has(self, prefix: str) -> bool:
        """Whether the name of any weight that is not taken yet has this prefix."""
        return any(name.startswith(prefix) for name in self._weights)

    def take(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Take a weight. Raises UserError if it is missing, has another shape, or is not finite."""
        weight = self._weights.get(name)
        if weight is None:
            raise UserError(f"{self.file} lacks the weight {name}")
        if weight.shape != shape:
            raise UserError(
                f"{self.file}: {name} has the shape {tuple(weight.shape)}, expected {tuple(shape)}"
            )
        if not weight.isfinite().all():
            raise UserError(f"{self.file}: {name} has NaN or infinite values")
        return self._weights.pop(name)

    @torch.no_grad()
    def fill(self, module: nn.Module, prefix: str) -> None:
        """Load all weights of a module from those of the same names below the prefix.

        Raises UserError if one is missing or has another shape, or if copies of a tied weight
        differ.
        """
        filled: dict[int, str] = {}  # memory address -> name
        for name, weight in module.state_dict().items():
            given = self.take(prefix + name, weight.shape)
            tied = filled.setdefault(weight.data_ptr(), name)
            if tied == name:
                weight.copy_(given)
            elif not torch.equal(weight, given.to(weight.dtype)):
                raise UserError(
                    f"{self.file}: {prefix + name} and {prefix + tied} differ, expected "
                    "one weight under two names"
                )

    def leave_out(self, pattern: str, reason: str) -> None:
        """Leave out the weights of this name; * matches anything."""
        for name in [name for name in self._weights if fnmatchcase(name, pattern)]:
            self._weights.pop(name)
            self.left_out[name] = reason

    def close(self) -> None:
        """Raises UserError if weights were neither taken nor left out."""
        if unknown := sorted(self._weights):
            raise UserError(
                f"{self.file} has {len(unknown)} unknown weights ({', '.join(unknown[:3])}"
                f"{', …' if len(unknown) > 3 else ''}); if search does not need them: "
                f"--leave-out {unknown[0].split('.')[0]}.*"
            )


def local_file(name: str) -> Path:
    """The path itself, or the local copy of a file on the hub. Raises UserError if it cannot be
    downloaded.
    """
    if not name.startswith(SCHEME):
        return Path(name)
    owner, _, path = name.removeprefix(SCHEME).partition("/")
    repository, _, file = path.partition("/")
    if not (owner and repository and file):
        raise UserError(f"{name}: expected {SCHEME}OWNER/REPOSITORY/FILE")
    name, _, revision = repository.partition("@")
    repository = f"{owner}/{name}"
    advice = "check the name and the network, or download the file elsewhere and give its path"
    with hub_errors(f"{file} of {repository} was not downloaded", advice):
        return Path(hf_hub_download(repository, file, revision=revision or None))
