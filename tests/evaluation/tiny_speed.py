"""A benchmark that takes a second: a decoder just large enough to read the geometry of 24 dimensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from genius.evaluation.speed import floor, world
from genius.evaluation.speed.world import WORLDS, World
from genius.models.decoder import DecoderConfig
from genius.trie.pool import Pool

CONFIG = DecoderConfig(
    dim=48, levels=4, codebook_size=16, width=128, layers=2, heads=3, head_width=25, ff_width=208, prefix=3, dropout=0.0
)
ITEMS = 600


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn codebooks and confidence from fewer vectors, and the matrix rate from smaller matrices."""
    monkeypatch.setattr(world, "SAMPLE", 1)
    monkeypatch.setattr(world, "VIEWS", 64)
    monkeypatch.setattr(floor, "SIDE", 64)


def tiny_world(kind: str, work: Path, items: int = ITEMS) -> tuple[World, Pool]:
    made = WORLDS[kind](items, CONFIG, work, 0)
    return made, Pool.build(made.packed[:items], CONFIG.code_sizes)
