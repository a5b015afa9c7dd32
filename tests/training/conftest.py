from pathlib import Path

import pytest

from tests.training.tiny import TINY
from training import __main__ as pipeline
from training.command_line import Arguments


@pytest.fixture(scope="session")
def trained_run(collection, tmp_path_factory) -> Path:
    """A run of every stage, trained on the collection; who writes into it copies it before."""
    path = tmp_path_factory.mktemp("trained") / "run"
    pipeline.train(Arguments(collection.root, path, "small", TINY, "cpu"))
    return path
