"""The hostile suite: its marks, generated inputs, and counts of what each attempt came to.

The folders are the classes of attempts. Every test here is marked `hostile`; those marked `sample` as well also run by
default and take a few seconds.
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from multiprocessing import forkserver
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
CLASSES = ("inputs", "artifacts", "kills", "races", "disks", "load", "security")
GOOD = {  # any other outcome fails the test
    "answered",
    "refused in a sentence",
    "identical",  # to what an uninterrupted run leaves
    "unchanged",
    "same results",
    "valid other setting",  # of a run: one that a person or a training may write
    "blocked",
}
LIMIT = int(os.environ.get("GENIUS_HOSTILE_LIMIT", "600"))  # seconds that a test may take: as long as its whole file

settings.register_profile(
    "hostile", derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("hostile")  # here, because @settings(…) copies the profile when a test is defined


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.hostile)
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture
def counts(record_property):
    """counts(class, outcome, number=1) counts attempts; an outcome that is not in GOOD fails the test at its end."""
    counted = Counter()

    def count(kind, outcome, number=1):
        assert kind in CLASSES, f"{kind} is not one of {', '.join(CLASSES)}"
        counted[kind, outcome] += number

    yield count
    for (kind, outcome), number in counted.items():
        record_property("count", json.dumps([kind, outcome, number]))
    assert counted, "nothing was attempted"
    bad = [f"{outcome}: {number} ({kind})" for (kind, outcome), number in counted.items() if outcome not in GOOD]
    if bad:
        pytest.fail("; ".join(bad))


@pytest.fixture
def measured(record_property):
    """measured(class, name, value) keeps a figure, a string or a list of numbers for the report."""

    def keep(kind, name, value):
        assert kind in CLASSES, f"{kind} is not one of {', '.join(CLASSES)}"
        record_property("measured", json.dumps([kind, name, value]))

    return keep


@pytest.fixture(scope="module")
def lab():
    """Where commands run, are killed, and started again: in memory where the system has such a folder."""
    from tests.hostile.commands import Laboratory  # here, for its libraries take seconds

    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="genius-hostile-", dir=memory if memory.is_dir() else None))
    yield Laboratory(folder)
    shutil.rmtree(folder)
    forkserver._forkserver._stop()  # waits for it, so that what the commands took is in this process's account
