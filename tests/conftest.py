"""Settings of all tests."""

import pytest

SLOW = 3_600  # seconds that a test marked slow may take; others: `timeout` in pyproject.toml


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))
