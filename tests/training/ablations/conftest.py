from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.tiny import TINY
from training import __main__ as pipeline
from training.command_line import Arguments

# nothing that differs between the paper's decoder and ours is on
PLAIN = replace(TINY, encoder=replace(TINY.encoder, epochs=1))


@pytest.fixture(scope="session")
def path(collection, tmp_path_factory) -> Path:
    """A tiny run with its features."""
    path = tmp_path_factory.mktemp("trained") / "run"
    pipeline.train(Arguments(collection.root, path, "small", PLAIN, "cpu"))
    return path
