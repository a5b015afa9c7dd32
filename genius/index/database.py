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

    It has no journal: the caller publishes its folder atomically.
    """
    with _opened(file) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(schema)
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


@contextmanager
def resumable_database(file: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """A database to fill in transactions; it may hold those that a killed process had finished.

    The schema may be several statements, which must not change existing tables.
    """
    with _opened(file) as connection:
        connection.executescript(schema)
        yield connection


@contextmanager
def transaction(connection: sqlite3.Connection, done: int) -> Iterator[None]:
    """A transaction, after which `saved_progress` returns `done`."""
    connection.execute("BEGIN")
    yield
    connection.execute(f"PRAGMA user_version = {done}")
    connection.execute("COMMIT")


def saved_progress(connection: sqlite3.Connection) -> int:
    """`done` of the last finished transaction; 0 if there is none."""
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
    """The URI by which SQLite opens a file that never changes."""
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
