"""A port for a server that cannot take any free one."""

import random
import socket
from contextlib import suppress

PORTS = range(20_000, 32_000)  # below those that systems give to whoever asks for any


def free_port() -> int:
    """Nobody listens there, and no server that asks for any free port is given it."""
    while True:
        port = random.SystemRandom().choice(PORTS)  # another one than that of a test at the same time
        with suppress(OSError), socket.create_server(("", port)):
            return port
