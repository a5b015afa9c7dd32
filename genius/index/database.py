"""SQLite files that are written once and then only read, by any number of threads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PAGE = 65_536  # bytes: a thumbnail of 3 KB that does not fit into a page of 4 KB wastes a quarter of it


@contextmanager
def new_database(file: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """A database to fill; the schema may be several statements.

    Without a journal: whoever publishes the folder makes it durable and atomic.
    """
    with _opened(file) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(schema)
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


@contextmanager
def begun_database(file: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """A database to fill by one `step` after the other, new or with the steps that a killed process had done.

    The schema may be several statements, which leave alone what is there.
    """
    with _opened(file) as connection:
        connection.executescript(schema)
        yield connection


@contextmanager
def step(connection: sqlite3.Connection, done: int) -> Iterator[None]:
    """A transaction, after which `steps_done` is `done`."""
    connection.execute("BEGIN")
    yield
    connection.execute(f"PRAGMA user_version = {done}")
    connection.execute("COMMIT")


def steps_done(connection: sqlite3.Connection) -> int:
    """What the last `step` that was finished said; 0 if none was."""
    return connection.execute("PRAGMA user_version").fetchone()[0]


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(file, isolation_level=None, uri=True)
    try:
        connection.execute(f"PRAGMA page_size = {PAGE}")
        yield connection
    finally:
        connection.close()


def read_only(file: Path) -> str:
    """What SQLite opens a file by that never changes."""
    return file.resolve().as_uri() + "?mode=ro&immutable=1"


def placeholders(count: int) -> str:
    """A list of parameters for `IN`. Unlike strings in a JSON array, parameters are not cut at a NUL character."""
    return f"({', '.join('?' * count)})"


class ReadOnlyDatabase:
    """A file that never changes, read by any number of threads, one after the other, through one connection.

    A connection for each thread would not be faster, for Python makes the rows of one query at a time, and would use
    up the file descriptors of a server.
    """

    def __init__(self, file: Path):
        self._uri = read_only(file)
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def select(self, query: str, *values: Any) -> list[tuple]:
        """All rows of a query. Raises sqlite3.Error."""
        with self._lock:
            if self._connection is None:
                self._connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
            return self._connection.execute(query, values).fetchall()
