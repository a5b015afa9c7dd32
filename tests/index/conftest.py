import shutil
from pathlib import Path

import pytest

from genius.index.item_source import ItemSource
from tests.index.changes import WHOLE, N
from tests.search.tiny import publish_tiny_run, tiny_items


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """Two runs: one of the first items, and one of all."""
    root = tmp_path_factory.mktemp("runs")
    publish_tiny_run(root / "run", N, fused=True)
    publish_tiny_run(root / "whole", WHOLE, fused=True)
    return root


@pytest.fixture
def run(trained, tmp_path) -> Path:
    """A run of twelve items."""
    return shutil.copytree(trained / "run", tmp_path / "run")


@pytest.fixture(scope="session")
def others(tmp_path_factory) -> ItemSource:
    """The items that the whole run has besides."""
    pictures = tmp_path_factory.mktemp("pictures")
    items = tiny_items(WHOLE, pictures)[N:]
    return ItemSource(lambda: items, pictures.joinpath)
