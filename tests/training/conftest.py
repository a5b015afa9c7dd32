import shutil
from pathlib import Path

import pytest

from genius.collections.mbeir import Collection
from tests.training.tiny import arguments
from tests.training.tiny_towers import write_color_collection, write_towers
from training import __main__ as pipeline


@pytest.fixture(scope="session")
def trained_run(collection, tmp_path_factory) -> Path:
    """A run of every stage, trained on the collection; who writes into it copies it before."""
    path = tmp_path_factory.mktemp("trained") / "run"
    pipeline.train(arguments(collection, path))
    return path


@pytest.fixture(scope="module")
def path(trained_run, tmp_path_factory) -> Path:
    """A copy of it, for the tests of one file."""
    return shutil.copytree(trained_run, tmp_path_factory.mktemp("copied") / "run")


@pytest.fixture
def copied_run(trained_run, tmp_path) -> Path:
    """A copy of it, for one test."""
    return shutil.copytree(trained_run, tmp_path / "run")


@pytest.fixture
def root(collection, tmp_path) -> Path:
    """A copy of the collection, to be changed."""
    return shutil.copytree(collection.root, tmp_path / "collection")


@pytest.fixture(scope="session")
def towers(tmp_path_factory) -> tuple[str, str]:
    """The names of pretrained towers for images and for texts."""
    return write_towers(tmp_path_factory.mktemp("towers") / "towers")


@pytest.fixture(scope="session")
def colors(tmp_path_factory) -> Collection:
    """What heads behind the towers can learn; who changes it copies it before."""
    return write_color_collection(tmp_path_factory.mktemp("colors") / "collection")
