"""Damaged bytes of the files of the index, with and without fitting checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_an_index_with_damaged_bytes_is_refused(run, attempt):
    attempt(mutants.of_bytes(run, "index"))
