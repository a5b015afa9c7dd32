import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from genius.errors import UserError
from genius.index.database import PAGE, ReadOnlyDatabase, resumable_database, saved_progress, transaction

TABLE = "CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY, text TEXT)"
KILLED = f"""
import os, signal, sys
from genius.index.database import ReadOnlyDatabase, resumable_database, transaction

with resumable_database(sys.argv[1], "{TABLE}") as database:
    database.execute("PRAGMA cache_size = 2")               # pages: the file is written before the step ends
    for first in (0, 100):
        with transaction(database, first + 100):
            database.executemany("INSERT INTO numbers VALUES (?, ?)",
                                 ((number, "x" * 9000) for number in range(first, first + 100)))
            if first:
                os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_whole_steps(tmp_path):
    file = tmp_path / "numbers.sqlite"
    ended = subprocess.run([sys.executable, "-c", KILLED, file], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert file.stat().st_size > 150 * 9000  # much of the second step is in the file

    with resumable_database(file, TABLE) as database:
        assert saved_progress(database) == 100
        assert database.execute("SELECT count(*), max(number) FROM numbers").fetchone() == (100, 99)
        with transaction(database, 101):
            database.execute("INSERT INTO numbers VALUES (100, 'y')")
    with closing(sqlite3.connect(file)) as database:
        assert saved_progress(database) == 101


def test_a_step_that_fails_changes_nothing(tmp_path):
    file = tmp_path / "numbers.sqlite"
    with pytest.raises(sqlite3.IntegrityError), resumable_database(file, TABLE) as database, transaction(database, 2):
        database.execute("INSERT INTO numbers VALUES (0, 'x')")
        database.execute("INSERT INTO numbers VALUES (0, 'y')")

    with resumable_database(file, TABLE) as database:
        assert saved_progress(database) == 0
        assert database.execute("SELECT count(*) FROM numbers").fetchone() == (0,)


def test_a_long_query_aside_delays_no_other(tmp_path):
    file = tmp_path / "numbers.sqlite"
    with resumable_database(file, TABLE) as database, transaction(database, 1):
        database.execute("INSERT INTO numbers VALUES (0, 'x')")
    opened = ReadOnlyDatabase(file)
    with opened._lock, opened.aside() as aside:  # another thread's query
        assert aside.select("SELECT text FROM numbers WHERE number = ?", 0) == [("x",)]
    assert opened.select("SELECT count(*) FROM numbers") == [(1,)]


def test_a_connection_aside_checks_a_file_that_nobody_has_checked_and_no_other(tmp_path, monkeypatch):
    file = tmp_path / "numbers.sqlite"
    with resumable_database(file, TABLE) as database, transaction(database, 1):
        database.execute("INSERT INTO numbers VALUES (0, 'x')")
    opened = ReadOnlyDatabase(file)
    opened.select("SELECT 1")
    with monkeypatch.context() as patch:
        patch.setattr("genius.index.database.CHECKED", None)  # so that no check can be made
        with opened.aside() as aside:
            assert aside.select("SELECT text FROM numbers") == [("x",)]
    whole = file.read_bytes()
    file.write_bytes(whole[:PAGE] + b"\xff" * 100 + whole[PAGE + 100 :])
    with ReadOnlyDatabase(file).aside() as aside, pytest.raises(UserError, match="cannot be read"):
        aside.select("SELECT 1")
