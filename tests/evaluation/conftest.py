import shutil
from pathlib import Path

import pytest

from genius.collections.mbeir import Collection
from genius.search.engine import Engine
from tests.evaluation.micro import publish_micro_run


@pytest.fixture(scope="session")
def run(collection, tmp_path_factory) -> Path:
    return publish_micro_run(tmp_path_factory.mktemp("micro") / "run", collection).path


@pytest.fixture(scope="session")
def engine(run) -> Engine:
    return Engine.load(run, device="cpu")


@pytest.fixture
def copy(collection, tmp_path) -> Collection:
    """A collection to spoil."""
    return Collection(shutil.copytree(collection.root, tmp_path / "collection"))


@pytest.fixture
def own_run(run, tmp_path) -> Path:
    """A run to write reports in."""
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture(scope="session")
def partly_unknown(collection, tmp_path_factory) -> Collection:
    """Of 0:7 the only answer is no candidate, of 0:11 one of two."""
    root = shutil.copytree(collection.root, tmp_path_factory.mktemp("unknown") / "collection")
    file = root / "qrels/test/mbeir_shapes_task0_test_qrels.txt"
    qrels = file.read_text(encoding="utf-8")
    file.write_text(qrels.replace("0:0 1 0", "0:99 1 0").replace("0:4 1 0", "7:4 1 0"))
    return Collection(root)
