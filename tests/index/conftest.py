from pathlib import Path

import pytest

from tests.search.tiny import publish_tiny_run


@pytest.fixture
def run(tmp_path) -> Path:
    """A run of twelve items."""
    return publish_tiny_run(tmp_path / "run", 12).path
