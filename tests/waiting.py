"""Waiting for what another thread or process does."""

import time
from collections.abc import Callable

WAIT = 60.0  # seconds; reached only by a test that fails


def wait_until(condition: Callable[[], object], seconds: float = WAIT) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)
