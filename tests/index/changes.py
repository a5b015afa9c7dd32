"""Changes of tiny runs: what is added, and the index after it."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.index.update import Added, Models, add
from genius.run import Run
from genius.schema import Item, Modality
from tests.search.tiny import tiny_encoder, tiny_fusion, tiny_quantizer

N, WHOLE = 12, 29  # items of a run, and of the run that has all of them


@cache
def tiny_models() -> Models:
    """Those of every tiny run."""
    return Models(tiny_encoder(), tiny_fusion(), tiny_quantizer())


def opened(run: Path) -> Index:
    return Index.load(Run(run).folder("index"))


def texts(*ids: str) -> list[Item]:
    return [Item(id, Modality.TEXT, f"Text {id}.") for id in ids]


def add_source(run: Path, source: ItemSource, replaces: bool = False) -> Added:
    return add(run, lambda dataset: source, tiny_models(), replaces)


def add_items(
    run: Path, items: Sequence[Item], pictures: Path = Path(), replaces: bool = False
) -> Added:
    return add_source(run, ItemSource(lambda: items, pictures.joinpath), replaces)


def raise_zero_division(*given: object, **named: object) -> None:
    1 / 0  # noqa: B018
