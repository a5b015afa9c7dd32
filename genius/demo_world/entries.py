"""An entry of a dataset: a few candidates, the queries that they answer, and the pictures of both."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from genius.demo_world import grammar
from genius.demo_world.picture import Picture
from genius.schema import Item, LabelledQuery, Modality

PER_ENTRY = 64  # ids that an entry may use
IN_POOL = ("val", "test")  # splits whose global pools hold what is no training item
EVERYWHERE = ("train", *IN_POOL)


@dataclass(frozen=True)
class Role:
    """What an entry is for: the pools that hold its candidates and the splits that ask for them."""

    pools: tuple[str, ...]
    asked_in: tuple[str, ...]

    @property
    def unseen(self) -> bool:
        """Combinations that are held out of training may appear."""
        return "train" not in self.pools


ROLES = {
    "test": Role(IN_POOL, ("test",)),
    "val": Role(IN_POOL, ("val",)),
    "train": Role(("train",), ("train",)),
    "shared": Role(EVERYWHERE, ("train",)),
    "extra": Role(IN_POOL, ()),
    # entities are known to all splits; see datasets.py
    "known test": Role(EVERYWHERE, ("test",)),
    "known val": Role(EVERYWHERE, ("val",)),
    "known": Role(EVERYWHERE, ()),
}


@dataclass(frozen=True)
class Drawing:
    """A picture and where it lies, relative to the collection's root."""

    path: str
    picture: Picture


@dataclass
class Entry:
    """What one number of a dataset gives."""

    seed: int
    dataset: str
    dataset_id: int
    number: int
    role: Role
    rng: random.Random
    candidates: list[tuple[Item, tuple[int, ...], tuple[str, ...]]] = field(default_factory=list)  # tasks, pools
    queries: list[tuple[str, LabelledQuery]] = field(default_factory=list)  # split, query
    drawings: dict[str, Picture] = field(default_factory=dict)

    def drawing(self, picture: Picture, name: str) -> Drawing:
        """A picture of this entry, to be drawn."""
        path = f"images/{self.dataset}/{self.number // 1000:03d}/{self.number}{name}.jpg"
        self.drawings[path] = picture
        return Drawing(path, picture)

    def candidate(
        self, tasks: tuple[int, ...], made_of: Picture, text: str = "", drawing: Drawing | None = None
    ) -> Item:
        """A candidate of the local pools of these tasks. made_of: what its factors are."""
        image = drawing.path if drawing else None
        item = Item(self._id(len(self.candidates)), Modality.of(text, image), text, image, _source(made_of))
        self.candidates.append((item, tasks, self.role.pools))
        return item

    def query(
        self,
        task: int,
        split: str,
        positives: Sequence[Item],
        made_of: Picture,
        text: str = "",
        drawing: Drawing | None = None,
    ) -> None:
        """A query of a split that these candidates answer."""
        image = drawing.path if drawing else None
        self.queries.append(
            (
                split,
                LabelledQuery(
                    self._id(len(self.queries)),
                    Modality.of(text, image),
                    task,
                    text,
                    image,
                    tuple(item.id for item in positives),
                    source=_source(made_of),
                ),
            )
        )

    def _id(self, count: int) -> str:
        assert count < PER_ENTRY
        return f"{self.dataset_id}:{self.number * PER_ENTRY + count + 1}"


def _source(picture: Picture) -> str:
    return json.dumps(grammar.factors(picture), separators=(",", ":"))
