import pytest

from genius.collections.mbeir import Collection
from tests.evaluation.micro import write_micro_collection


@pytest.fixture(scope="session")
def collection(tmp_path_factory) -> Collection:
    return write_micro_collection(tmp_path_factory.mktemp("micro") / "collection")
