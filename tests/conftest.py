"""Settings of all tests."""

import os

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch starts: several processes share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

SLOW = 3_600  # seconds that a test marked slow may take; others: `timeout` in pyproject.toml


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))
