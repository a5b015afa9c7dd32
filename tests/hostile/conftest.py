"""The hostile suite: attempts to break the program.

Every test here is marked `hostile`; those marked `sample` as well also run by default and take a
few seconds.
"""

from multiprocessing import forkserver
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT = 600  # seconds that a test may take


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.hostile)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Where commands run, are killed, and started again."""
    from tests.hostile.commands import Laboratory  # here, for its libraries take seconds

    yield Laboratory(tmp_path_factory.mktemp("laboratory"))
    forkserver._forkserver._stop()  # waits for it
