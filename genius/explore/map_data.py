"""The maps of a run: 2-D positions of its items and of some queries. training/maps.py makes them, the page draws them.

    places.npy     (v, m + q, 2) int16, positions, items first; one scale for all views
    keys.npy       (m,) int64, id keys of the items (genius/collections/keys.py), ascending
    queries.json   columns of the q queries
    config.json    the views, names of datasets, health of both quantizers

A point is an item or a query on the map. Items are identified by id, because rows change when an index grows.

Shapes: v views, m items on the map, q queries on the map.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, Field, with_config

from genius.collections.keys import id_key, key_dataset, key_id
from genius.files import write_compact
from genius.reading import EXACT, damage_explained, read_array, read_json
from genius.run import Run
from genius.schema import Modality

PART = "maps"
COMMAND = "python -m training.maps COLLECTION RUN"
SCALE = np.iinfo(np.int16).max  # int16 value of the edge of a map


@with_config(EXACT)
@dataclass(frozen=True)
class View:
    """One map: which vectors it shows."""

    depth: Annotated[int, Field(ge=0, le=256)] = 0  # levels whose codewords are summed; 0: the features z themselves
    contrastive: bool = True  # whether fusion and quantizer were trained with the contrastive loss

    @property
    def name(self) -> str:
        """Unique among the views of a run."""
        return f"{'features' if not self.depth else f'codes-{self.depth}'}{'' if self.contrastive else '-plain'}"


@dataclass(frozen=True)
class MappedQuery:
    """A query on the map. Its image is not stored."""

    id: str
    modality: Modality
    text: str
    instruction: str
    answers: tuple[str, ...]  # ids of items


@dataclass(frozen=True, eq=False)
class Maps:
    """All maps of a run."""

    views: tuple[View, ...]
    places: np.ndarray  # (v, m + q, 2) float32, from -1 to 1
    keys: np.ndarray  # (m,) int64, ascending
    queries: tuple[MappedQuery, ...]
    names: Mapping[int, str]  # of the datasets
    split: str  # split of the queries
    health: Mapping[str, Mapping[str, Any]]  # code health "with" and "without" the contrastive loss

    @property
    def datasets(self) -> np.ndarray:
        """(m,) dataset number of each item."""
        return key_dataset(self.keys)

    def ids(self) -> list[str]:
        """The m item ids."""
        return [key_id(key) for key in self.keys.tolist()]

    def points(self, ids: Sequence[str]) -> np.ndarray:
        """Point numbers of the items with these ids, int64; items that are not on the map are left out."""
        keys = np.array([id_key(id) for id in ids], dtype=np.int64)
        points = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return points[self.keys[points] == keys]

    def save(self, folder: Path) -> None:
        np.save(folder / "places.npy", np.rint(self.places * SCALE).astype(np.int16), allow_pickle=False)
        np.save(folder / "keys.npy", self.keys, allow_pickle=False)
        instructions = list(dict.fromkeys(query.instruction for query in self.queries))
        queries = {
            "instructions": instructions,
            "id": [query.id for query in self.queries],
            "modality": [query.modality for query in self.queries],
            "text": [query.text for query in self.queries],
            "instruction": [instructions.index(query.instruction) for query in self.queries],
            "answers": [query.answers for query in self.queries],
        }
        write_compact(folder / "queries.json", queries)
        views = [asdict(view) for view in self.views]
        config = {"views": views, "datasets": self.names, "split": self.split, "health": self.health}
        write_compact(folder / "config.json", config)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load maps. Raises UserError for damaged or inconsistent files."""
        with damage_explained(f"the maps in {folder} cannot be read", f"create them again: {COMMAND}"):
            config = read_json(folder / "config.json", MapsFile)
            columns = read_json(folder / "queries.json", QueryColumns)
            if max(columns.instruction, default=-1) >= len(columns.instructions):
                raise ValueError("a query has an instruction that is not listed")
            queries = tuple(
                MappedQuery(id, Modality(modality), text, columns.instructions[instruction], tuple(answers))
                for id, modality, text, instruction, answers in zip(
                    columns.id, columns.modality, columns.text, columns.instruction, columns.answers, strict=True
                )
            )
            for query in queries:
                for answer in query.answers:
                    id_key(answer)
            keys = read_array(folder / "keys.npy", (None,), np.int64)
            if not len(keys):
                raise ValueError("keys.npy names no item")
            if (keys < 0).any() or (np.diff(keys) <= 0).any():
                raise ValueError("keys.npy does not ascend")
            points = len(keys) + len(queries)
            places = read_array(folder / "places.npy", (len(config.views), points, 2), np.int16)
            if len({view.name for view in config.views}) < len(config.views):
                raise ValueError("two views show the same")
        return cls(
            config.views,
            places.astype(np.float32) / SCALE,
            keys,
            queries,
            {int(number): name for number, name in config.datasets.items()},
            config.split,
            config.health,
        )


class MapsFile(BaseModel):
    """config.json."""

    model_config = EXACT
    views: Annotated[tuple[View, ...], Field(min_length=1, max_length=100)]
    datasets: dict[Annotated[str, Field(pattern=r"^[0-9]{1,6}$")], str]
    split: str
    health: dict[Literal["with", "without"], dict[str, int | float]]


class QueryColumns(BaseModel):
    """queries.json."""

    model_config = EXACT
    instructions: list[str]
    id: list[str]
    modality: list[Literal[0, 1, 2]]
    text: list[str]
    instruction: list[Annotated[int, Field(ge=0)]]  # number in `instructions`
    answers: list[list[str]]


def read_maps(path: Path) -> Maps | None:
    """The maps of a run, or None. Raises UserError if they are damaged or were made with another quantizer."""
    run = Run(path)
    return Maps.load(run.folder(PART)) if run.has(PART) else None
