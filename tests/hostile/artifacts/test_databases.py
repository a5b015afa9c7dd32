"""SQLite files of other tables, types and rows, and with damaged pages, with fitting checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_other_databases_are_refused(run, attempt):
    attempt(mutants.of_databases(run))
