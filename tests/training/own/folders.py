"""Folders of pictures, and the runs that training.folder makes of them."""

from pathlib import Path

import numpy as np
from PIL import Image

from genius.index.store import Index
from genius.run import Run
from genius.schema import Item
from training.own.folder import main


def photographs(path: Path, n: int = 24, first: int = 0) -> Path:
    """Pictures that differ, 00.png and so on, but those before the first."""
    path.mkdir(exist_ok=True)
    for number in range(first, n):
        pixels = np.random.default_rng(number).integers(256, size=(12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path / f"{number:02d}.png")
    return path


def make(source: Path, run: Path, *options: str) -> Index:
    """Run the command on one source; the index that it leaves."""
    main([str(source), str(run), *options])
    return index_of(run)


def index_of(run: Path) -> Index:
    return Index.load(Run(run).folder("index"))


def items_of(run: Path) -> list[Item]:
    index = index_of(run)
    return index.items(range(index.n))
