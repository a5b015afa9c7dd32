"""The small files of an index folder: sizes, and the instructions that users can choose from."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import with_config

from genius.reading import EXACT, Size, damage_explained, one_line, read_json
from genius.schema import Modality
from genius.trie.ids import MAX_CODES

CONFIG = "config.json"
INSTRUCTIONS = "instructions.json"
MAX_ITEMS = 2**31 - 1  # positions are int32
MAX_SEGMENTS = 10_000
MAX_LEVELS = 256
DISTANCES = "distances.npy"
# of the index, not of a segment
ROW_FILES = (CONFIG, "ids.npy", "modalities.npy", DISTANCES)


class Instruction(NamedTuple):
    """A text that says which modality of candidates to retrieve for a modality of queries."""

    query_modality: Modality
    candidate_modality: Modality
    text: str


@with_config(EXACT)
@dataclass(frozen=True)
class IndexConfig:
    """The sizes that the arrays of an index must have."""

    n: int  # items
    dim: Size  # of their embeddings
    code_sizes: tuple[int, ...]  # codes at each level of an ID
    segments: tuple[int, ...]  # items of each segment as it was written
    trained: int  # the first items, which were indexed when the run was trained
    # the highest dataset number of removed items' ids, which no other items get
    last_dataset: int = -1

    @property
    def grown(self) -> int:
        """Items that were added since the run was trained."""
        return self.n - self.trained

    def check(self) -> None:
        """Raises ValueError if a size is out of range."""
        if not (
            0 < self.n == sum(self.segments) <= MAX_ITEMS
            and min(self.segments) > 0
            and 0 <= self.trained <= self.n
            and self.last_dataset >= -1
            and self.dim > 0
            and 0 < len(self.code_sizes) <= MAX_LEVELS
            and len(self.segments) <= MAX_SEGMENTS
            and all(0 < size <= MAX_CODES for size in self.code_sizes)
        ):
            raise ValueError(one_line(f"a size is out of range in {self}"))


def segment_folder(index: Path, number: int) -> Path:
    """The folder of a segment's files; those of the first are in the folder of the index."""
    return index / f"segment-{number}" if number else index


def write_config(file: Path, config: IndexConfig) -> None:
    file.write_text(json.dumps(asdict(config)) + "\n")


def read_config(file: Path) -> IndexConfig:
    """Raises UserError that names the file."""
    with damage_explained(f"{file} is not the config of an index", "build the index again"):
        config = read_json(file, IndexConfig)
        config.check()
        return config


def write_instructions(file: Path, instructions: Iterable[Instruction]) -> None:
    rows = [[query.mbeir, candidate.mbeir, text] for query, candidate, text in instructions]
    file.write_text(json.dumps(rows, indent=1) + "\n")


def read_instructions(file: Path) -> list[Instruction]:
    """Raises UserError that names the file."""
    with damage_explained(f"{file} is not a list of instructions", "build the index again"):
        return [
            Instruction(Modality.from_mbeir(query), Modality.from_mbeir(candidate), text)
            for query, candidate, text in read_json(file, list[tuple[str, str, str]])
        ]
