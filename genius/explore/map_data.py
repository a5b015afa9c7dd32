"""The map of a run: where its items lie by meaning, with how many codes, and the names of its
regions.

    places.npy     (v, m, 2) int16, places in each view; one scale for all
    keys.npy       (m,) int64, id keys of the items (genius/collections/keys.py), ascending
    regions.npy    (m,) uint16, the smallest region of each item
    map.json       views, regions, names of datasets

training/stages/maps.py makes it, the page draws it. Items are identified by id, because rows change
when an index grows. Regions are nested in TIERS sizes, largest first; a region's number is its
place in the list.

Shapes: v views, m items on the map, r regions.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import BaseModel, Field, with_config

from genius.collections.keys import key_dataset, key_id
from genius.files import write_compact
from genius.reading import EXACT, damage_explained, read_array, read_json
from genius.run import Run

PART = "maps"
COMMAND = "python -m training.maps COLLECTION RUN"
SCALE = np.iinfo(np.int16).max  # int16 value of the edge of a map
TIERS = 3  # sizes of regions

RegionNumber = Annotated[int, Field(ge=0, le=65_535)]


@with_config(EXACT)
@dataclass(frozen=True)
class Moved:
    """A region whose neighbours are others than with everything kept."""

    region: RegionNumber
    share: float  # of the neighbours of its items
    left: RegionNumber | None  # the region whose items it has fewer of among its neighbours
    joined: RegionNumber | None  # whose it has more of


@with_config(EXACT)
@dataclass(frozen=True)
class View:
    """Where the items lie if so much of each is kept."""

    depth: Annotated[int, Field(ge=0, le=256)]  # codes kept; 0: everything
    distinct: Annotated[int, Field(ge=1)]  # places that are different
    moved: tuple[Moved, ...] = ()  # most first


@with_config(EXACT)
@dataclass(frozen=True)
class Region:
    """Items that lie together when everything is kept."""

    tier: Annotated[int, Field(ge=0, lt=TIERS)]  # 0: the largest
    parent: RegionNumber | None  # the region of the size above that it is part of
    # no two regions of one size have the same; empty: mixed
    words: tuple[Annotated[str, Field(max_length=100)], ...]
    items: Annotated[int, Field(ge=1)]  # all were tried
    fits: Annotated[int, Field(ge=0)]  # of these, those that one of the words fits
    portrait: Annotated[str, Field(max_length=200)]  # id of an item that stands for it; empty: none


@dataclass(frozen=True, eq=False)
class Maps:
    """All views of the map of a run."""

    views: tuple[View, ...]  # the first keeps everything
    places: np.ndarray  # (v, m, 2) float32, from -1 to 1
    keys: np.ndarray  # (m,) int64, ascending
    regions: tuple[Region, ...]
    region_of: np.ndarray  # (m,) int64, number of the smallest region
    names: Mapping[int, str]  # of the datasets

    @property
    def datasets(self) -> np.ndarray:
        """(m,) dataset number of each item."""
        return key_dataset(self.keys)

    def ids(self) -> list[str]:
        """The m item ids."""
        return [key_id(key) for key in self.keys.tolist()]

    @cached_property
    def lineage(self) -> np.ndarray:
        """(r, TIERS) the region of each size that a region lies in, itself included; −1 for smaller
        sizes.
        """
        found = np.full((len(self.regions), TIERS), -1)
        for number, region in enumerate(self.regions):
            if region.parent is not None:
                found[number] = found[region.parent]
            found[number, region.tier] = number
        return found

    def save(self, folder: Path) -> None:
        np.save(
            folder / "places.npy", np.rint(self.places * SCALE).astype(np.int16), allow_pickle=False
        )
        np.save(folder / "keys.npy", self.keys, allow_pickle=False)
        np.save(folder / "regions.npy", self.region_of.astype(np.uint16), allow_pickle=False)
        views, regions = ([asdict(one) for one in some] for some in (self.views, self.regions))
        write_compact(
            folder / "map.json", {"views": views, "regions": regions, "datasets": self.names}
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load a map. Raises UserError for damaged or inconsistent files, or those of an older
        program.
        """
        with damage_explained(f"the map in {folder} cannot be read", f"make it again: {COMMAND}"):
            file = read_json(folder / "map.json", MapFile)
            keys = read_array(folder / "keys.npy", (None,), np.int64)
            if not len(keys):
                raise ValueError("keys.npy names no item")
            if (keys < 0).any() or (np.diff(keys) <= 0).any():
                raise ValueError("keys.npy does not ascend")
            places = read_array(folder / "places.npy", (len(file.views), len(keys), 2), np.int16)
            region_of = read_array(folder / "regions.npy", (len(keys),), np.uint16).astype(np.int64)
            if region_of.max() >= len(file.regions):
                raise ValueError("an item lies in a region that is not listed")
            for number, region in enumerate(file.regions):
                if region.parent is not None and region.parent >= number:
                    raise ValueError("a region comes before the one that it is part of")
            listed = {None, *range(len(file.regions))}
            moved = (one for view in file.views for one in view.moved)
            if not all({one.region, one.left, one.joined} <= listed for one in moved):
                raise ValueError("a region that moved is not listed")
        names = {int(number): name for number, name in file.datasets.items()}
        return cls(
            file.views, places.astype(np.float32) / SCALE, keys, file.regions, region_of, names
        )


class MapFile(BaseModel):
    """map.json."""

    model_config = EXACT
    views: Annotated[tuple[View, ...], Field(min_length=1, max_length=100)]
    regions: Annotated[tuple[Region, ...], Field(min_length=1, max_length=65_536)]
    datasets: dict[Annotated[str, Field(pattern=r"^[0-9]{1,6}$")], str]


def read_maps(path: Path) -> Maps | None:
    """The map of a run, or None. Raises UserError if it is damaged or was made with another
    quantizer.
    """
    run = Run(path)
    return Maps.load(run.folder(PART)) if run.has(PART) else None
