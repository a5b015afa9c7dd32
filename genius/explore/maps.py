"""The maps of a run: where its items, and some queries, lie in a plane. Made by training/maps.py, drawn by the page.

    places.npy     (v, m + q, 2) int16, the items' places first; one scale for all views
    rows.npy       (m,) int32, row in the index of each item drawn, ascending
    datasets.npy   (m,) int32, the number of its dataset
    queries.json   columns of the q queries
    config.json    the views, names of datasets, how many items there are, health of both quantizers

Shapes: v views, m items drawn, q queries drawn, n items of the index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from genius.artifacts import Run
from genius.errors import UserError
from genius.schema import Modality

PART = "maps"
COMMAND = "python -m training.maps COLLECTION RUN"
STEPS = np.iinfo(np.int16).max    # from the middle of a map to its edge


@dataclass(frozen=True)
class View:
    """One map: what its vectors were."""

    depth: int = 0              # codes whose codewords were summed; 0: the features z, before quantization
    contrastive: bool = True    # whether fusion and quantizer were trained with the contrastive loss

    @property
    def name(self) -> str:
        """Unique among the views of a run."""
        return f"{'features' if not self.depth else f'codes-{self.depth}'}{'' if self.contrastive else '-plain'}"


@dataclass(frozen=True)
class MappedQuery:
    """A query that is drawn beside the items, as the person asked it; its picture is not kept."""

    id: str
    modality: Modality
    text: str
    instruction: str
    answers: tuple[int, ...]    # index rows


@dataclass(frozen=True, eq=False)
class Maps:
    """The views of a run."""

    views: tuple[View, ...]
    places: np.ndarray              # (v, m + q, 2) float32, from -1 to 1
    rows: np.ndarray                # (m,) int32, ascending
    datasets: np.ndarray            # (m,) int32
    queries: tuple[MappedQuery, ...]
    names: Mapping[int, str]        # of the datasets
    n: int
    split: str                      # that the queries are of
    health: Mapping[str, Mapping[str, Any]]    # of the IDs "with" and "without" the contrastive loss

    @property
    def sampled(self) -> bool:
        """Whether some items of the index are left out."""
        return len(self.rows) < self.n

    def points(self, rows: np.ndarray | Sequence[int]) -> np.ndarray:
        """Index rows -> the numbers of their points; rows that are not drawn are left out."""
        rows = np.asarray(rows, dtype=np.int64)
        at = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        return at[self.rows[at] == rows]

    def save(self, folder: Path) -> None:
        for name, array in (("places", np.rint(self.places * STEPS).astype(np.int16)),
                            ("rows", self.rows), ("datasets", self.datasets)):
            np.save(folder / f"{name}.npy", array, allow_pickle=False)
        instructions = list(dict.fromkeys(query.instruction for query in self.queries))
        _write(folder / "queries.json", {
            "instructions": instructions, "id": [query.id for query in self.queries],
            "modality": [query.modality for query in self.queries], "text": [query.text for query in self.queries],
            "instruction": [instructions.index(query.instruction) for query in self.queries],
            "answers": [query.answers for query in self.queries]})
        _write(folder / "config.json", {
            "views": [asdict(view) for view in self.views], "datasets": self.names, "items": self.n,
            "split": self.split, "health": self.health})

    @classmethod
    def load(cls, folder: Path) -> Maps:
        """Raises UserError for files that do not belong together."""
        try:
            places, rows, datasets = (np.load(folder / f"{name}.npy", allow_pickle=False)
                                      for name in ("places", "rows", "datasets"))
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            asked = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
            queries = tuple(
                MappedQuery(id, Modality(modality), text, asked["instructions"][instruction], tuple(answers))
                for id, modality, text, instruction, answers in zip(
                    *(asked[name] for name in ("id", "modality", "text", "instruction", "answers")), strict=True))
            maps = cls(tuple(View(**view) for view in config["views"]), places.astype(np.float32) / STEPS, rows,
                       datasets, queries, {int(number): name for number, name in config["datasets"].items()},
                       config["items"], config["split"], config["health"])
            fits = places.shape == (len(maps.views), len(rows) + len(queries), 2) and rows.shape == datasets.shape
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise UserError(f"the maps in {folder} cannot be read ({error}); make them again: {COMMAND}") from None
        if not fits:
            raise UserError(f"the arrays in {folder} do not fit each other; make the maps again: {COMMAND}")
        return maps


def read_maps(path: Path) -> Maps | None:
    """The maps of a run, None if it has none. Raises UserError if they are damaged or of another index."""
    run = Run(path)
    return Maps.load(run.folder(PART)) if run.has(PART) else None


def _write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
