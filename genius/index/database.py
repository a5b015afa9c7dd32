"""SQLite files that are written once and then only read, by any number of threads."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from genius.errors import UserError
from genius.reading import one_line

MAX_VALUE = 2**26  # bytes of a text or thumbnail
STEPS = 1_000_000  # instructions of SQLite between two looks at the clock
MAX_SECONDS = 120  # that a query may take: a damaged file may have tables without an end
CHECKED = 2**28  # bytes; all pages of a larger file are not read before it is used
# bytes: a thumbnail of 3 KB that does not fit into a page of 4 KB wastes a quarter of it
PAGE = 32_768


@contextmanager
def resumable_database(file: Path, schema: str) -> Iterator[sqlite3.Connection]:
    """A database to fill in transactions; it may hold those that a killed process had finished.

    The schema may be several statements, which must not change existing tables.
    """
    with closing(sqlite3.connect(file, isolation_level=None, uri=True)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE}")
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


def read_only(file: Path) -> str:
    """The URI by which SQLite opens a file that never changes."""
    return file.resolve().as_uri() + "?mode=ro&immutable=1"


def placeholders(count: int) -> str:
    """A list of parameters for `IN`. Unlike strings in a JSON array, parameters are not cut at a
    NUL character.
    """
    return f"({', '.join('?' * count)})"


class ReadOnlyDatabase:
    """A file that never changes, read by any number of threads, one after the other, through one
    connection.

    A connection for each thread would not be faster, for Python makes the rows of one query at a
    time, and would use up the file descriptors of a server. Long queries are asked in parts, so
    that other threads get their turn.
    """

    def __init__(self, file: Path):
        self.file = file
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._deadline = 0.0

    def select(self, query: str, *values: Any) -> list[tuple]:
        """All rows of a query. Raises UserError that names the file if it is damaged or another
        database.
        """
        with self._lock:
            self._deadline = time.monotonic() + MAX_SECONDS
            try:
                if self._connection is None:
                    self._connection = self._open()
                return self._connection.execute(query, values).fetchall()
            except (sqlite3.Error, OverflowError, MemoryError, UnicodeDecodeError) as error:
                raise UserError(
                    f"{self.file} cannot be read ({one_line(error)}); copy the run again"
                ) from None

    def _open(self) -> sqlite3.Connection:
        """Raises sqlite3.Error."""
        connection = sqlite3.connect(read_only(self.file), uri=True, check_same_thread=False)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.set_progress_handler(lambda: time.monotonic() > self._deadline, STEPS)
        if self.file.stat().st_size <= CHECKED:
            ((result,),) = connection.execute("PRAGMA integrity_check(1)")
            if result != "ok":
                raise sqlite3.DatabaseError(result)
        return connection
