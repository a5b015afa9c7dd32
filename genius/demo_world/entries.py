"""An entry of a dataset: a few candidates, the queries that they answer, and the images of both."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from genius.demo_world import grammar
from genius.demo_world.picture import Picture
from genius.schema import Item, LabeledQuery, Modality

PER_ENTRY = 64  # ids reserved for an entry
IN_POOL = ("val", "test")  # splits whose global pools contain test and validation items
EVERYWHERE = ("train", *IN_POOL)


@dataclass(frozen=True)
class Role:
    """The pools that contain an entry's candidates and the splits that contain its queries."""

    pools: tuple[str, ...]
    query_splits: tuple[str, ...]

    @property
    def unseen(self) -> bool:
        """Whether combinations that are held out of training may appear."""
        return "train" not in self.pools


ROLES = {
    "test": Role(IN_POOL, ("test",)),
    "val": Role(IN_POOL, ("val",)),
    "train": Role(("train",), ("train",)),
    "shared": Role(EVERYWHERE, ("train",)),
    "extra": Role(IN_POOL, ()),
    # entities are candidates in all splits; see datasets.py
    "known test": Role(EVERYWHERE, ("test",)),
    "known val": Role(EVERYWHERE, ("val",)),
    "known": Role(EVERYWHERE, ()),
}


@dataclass(frozen=True)
class ImageFile:
    """A picture and its path relative to the collection's root."""

    path: str
    picture: Picture


@dataclass
class DemoEntry:
    """The candidates, queries and pictures of one entry number of a dataset."""

    seed: int
    dataset: str
    dataset_id: int
    number: int
    role: Role
    rng: random.Random
    candidates: list[tuple[Item, tuple[int, ...], tuple[str, ...]]] = field(default_factory=list)  # tasks, pools
    queries: list[tuple[str, LabeledQuery]] = field(default_factory=list)  # split, query
    drawings: dict[str, Picture] = field(default_factory=dict)

    def drawing(self, picture: Picture, name: str) -> ImageFile:
        """Add a picture to draw."""
        path = f"images/{self.dataset}/{self.number // 1000:03d}/{self.number}{name}.jpg"
        self.drawings[path] = picture
        return ImageFile(path, picture)

    def candidate(
        self, tasks: tuple[int, ...], made_of: Picture, text: str = "", drawing: ImageFile | None = None
    ) -> Item:
        """Add a candidate to the local pools of these tasks. made_of: the picture that defines its factors."""
        image = drawing.path if drawing else None
        item = Item(self._id(len(self.candidates)), Modality.of(text, image), text, image, _factors_json(made_of))
        self.candidates.append((item, tasks, self.role.pools))
        return item

    def query(
        self,
        task: int,
        split: str,
        positives: Sequence[Item],
        made_of: Picture,
        text: str = "",
        drawing: ImageFile | None = None,
    ) -> None:
        """Add a query to a split. made_of: the picture that defines its factors."""
        image = drawing.path if drawing else None
        self.queries.append(
            (
                split,
                LabeledQuery(
                    self._id(len(self.queries)),
                    Modality.of(text, image),
                    task,
                    text,
                    image,
                    tuple(item.id for item in positives),
                    source=_factors_json(made_of),
                ),
            )
        )

    def _id(self, count: int) -> str:
        assert count < PER_ENTRY
        return f"{self.dataset_id}:{self.number * PER_ENTRY + count + 1}"


def _factors_json(picture: Picture) -> str:
    return json.dumps(grammar.factors(picture), separators=(",", ":"))
