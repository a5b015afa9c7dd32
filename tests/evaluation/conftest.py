from pathlib import Path

import pytest

from genius.search.engine import Engine
from tests.evaluation.micro import publish_micro_run


@pytest.fixture(scope="session")
def run(collection, tmp_path_factory) -> Path:
    return publish_micro_run(tmp_path_factory.mktemp("micro") / "run", collection).path


@pytest.fixture(scope="session")
def engine(run) -> Engine:
    return Engine.load(run, device="cpu")
