import os
import signal
import sqlite3
from contextlib import closing

import pytest

from genius.errors import UserError
from genius.index.database import (
    PAGE,
    ReadOnlyDatabase,
    resumable_database,
    saved_progress,
    transaction,
)
from tests.waiting import forked

TABLE = "CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY, text TEXT)"


def write_until_killed(file):
    with resumable_database(file, TABLE) as database:
        database.execute("PRAGMA cache_size = 2")  # pages: the file is written before the step ends
        for first in (0, 100):
            with transaction(database, first + 100):
                rows = ((number, "x" * 9000) for number in range(first, first + 100))
                database.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
                if first:
                    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_leaves_whole_steps(tmp_path):
    file = tmp_path / "numbers.sqlite"
    assert forked(write_until_killed, file) == -signal.SIGKILL
    assert file.stat().st_size > 150 * 9000  # much of the second step is in the file

    with resumable_database(file, TABLE) as database:
        assert saved_progress(database) == 100
        assert database.execute("SELECT count(*), max(number) FROM numbers").fetchone() == (100, 99)
        with transaction(database, 101):
            database.execute("INSERT INTO numbers VALUES (100, 'y')")
    with closing(sqlite3.connect(file)) as database:
        assert saved_progress(database) == 101


def test_a_file_with_a_damaged_page_is_refused(tmp_path):
    file = tmp_path / "numbers.sqlite"
    with resumable_database(file, TABLE) as database, transaction(database, 1):
        database.execute("INSERT INTO numbers VALUES (0, 'x')")
    assert ReadOnlyDatabase(file).select("SELECT text FROM numbers WHERE number = ?", 0) == [("x",)]
    whole = file.read_bytes()
    file.write_bytes(whole[:PAGE] + b"\xff" * 100 + whole[PAGE + 100 :])
    with pytest.raises(UserError, match="cannot be read"):
        ReadOnlyDatabase(file).select("SELECT 1")
