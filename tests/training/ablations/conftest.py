from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.tiny import TINY
from training import __main__ as pipeline
from training.command_line import Arguments


@pytest.fixture(scope="session")
def path(collection, tmp_path_factory) -> Path:
    """A tiny run with its features."""
    path = tmp_path_factory.mktemp("trained") / "run"
    settings = replace(TINY, encoder=replace(TINY.encoder, epochs=1))
    pipeline.train(Arguments(collection.root, path, "small", settings, "cpu"))
    return path
