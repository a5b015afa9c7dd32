"""What stands for a part that a run lacks: an encoder, where it was made of vectors alone, or
codewords, where somebody else made its IDs. Whoever needs the part gets a UserError that says so in
one sentence.

    absent.json     in the folder of the part, in place of its config and weights

Shapes: b queries, d dim, M levels.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import torch
from pydantic import with_config
from torch import Tensor, nn

from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.models.quantizer import ResidualQuantizer
from genius.reading import EXACT, Size, damage_explained, read_json
from genius.trie.ids import check_code_sizes

FILE = "absent.json"


class Absent(nn.Module):
    """A part that only knows its sizes."""

    config_type: ClassVar[type]
    sentence: ClassVar[str]  # why something cannot be done, and what to do

    def __init__(self, config: Any):
        super().__init__()
        self.config = config
        self.dim = config.dim

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raises UserError, always."""
        raise UserError(self.sentence)

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self.config)) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Raises UserError if the folder does not hold one."""
        with damage_explained(f"{folder} cannot be loaded", "make the run again"):
            return cls(read_json(folder / FILE, cls.config_type))


@with_config(EXACT)
@dataclass(frozen=True)
class NoEncoderConfig:
    dim: Size  # of the vectors


class NoEncoder(Absent):
    """In place of an encoder: the items' embeddings came from elsewhere."""

    config_type = NoEncoderConfig
    sentence = (
        "This run was made of vectors, without the encoder that made them, so it reads neither "
        "words nor pictures: search with one of its items, or make it again with --model."
    )
    encode = embed = check = preprocess = tokenize = wording = Absent.refuse

    def for_inference(self) -> Self:
        return self


@with_config(EXACT)
@dataclass(frozen=True)
class NoCodewordsConfig:
    dim: Size  # of the fused features
    code_sizes: tuple[Size, ...]
    modality_code: str = "none"

    def __post_init__(self) -> None:
        check_code_sizes(self.code_sizes)


class NoCodewords(Absent):
    """In place of a quantizer: the items' codes came from elsewhere, and no vectors belong to
    them.
    """

    config_type = NoCodewordsConfig
    sentence = (
        "The IDs of this run were made elsewhere and have no codewords, so nothing can be scanned, "
        "quantized or added: choose the mode generate."
    )
    decode = Absent.refuse

    def encode(self, z: Tensor, modality: Tensor | None = None) -> Tensor:
        """Codes (b, 0) of queries z (b, d): none are known. Raises UserError for items, which have
        a modality (b,) and need codes.
        """
        if modality is not None:
            self.refuse()
        return torch.empty(len(z), 0, dtype=torch.long)


def expect_present(folder: Path) -> None:
    """Raises UserError, which says what cannot be done, if something only stands for the part in
    this folder.
    """
    if (folder / FILE).exists():
        raise UserError((NoEncoder if folder.name.startswith("encoder") else NoCodewords).sentence)


def load_encoder(folder: Path) -> Encoder | NoEncoder:
    """The encoder of a run, in eval mode."""
    return (NoEncoder if (folder / FILE).exists() else Encoder).load(folder)


def load_quantizer(folder: Path) -> ResidualQuantizer | NoCodewords:
    """The quantizer of a run, in eval mode."""
    return (NoCodewords if (folder / FILE).exists() else ResidualQuantizer).load(folder)
