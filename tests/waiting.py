"""Waiting for what another thread or process does, and ports for their servers."""

import multiprocessing
import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress

WAIT = 60.0  # seconds; reached only by a test that fails
PORTS = range(20_000, 32_000)  # below those that systems give to whoever asks for any


def wait_until(condition: Callable[[], object], seconds: float = WAIT) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def forked(work: Callable[..., object], *given: object) -> int | None:
    """Do it in a copy of this process, which has the libraries: its status, negative for a signal
    that killed it.
    """
    child = multiprocessing.get_context("fork").Process(target=work, args=given)
    child.start()
    child.join()
    return child.exitcode


def free_port() -> int:
    """Nobody listens there, and no server that asks for any free port is given it."""
    while True:
        # another one than that of a test at the same time
        port = random.SystemRandom().choice(PORTS)
        with suppress(OSError), socket.create_server(("", port)):
            return port
