"""Damaged bytes of the maps, the manifest and the files without checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_data_with_damaged_bytes_are_refused(run, attempt):
    attempt(mutants.of_bytes(run, "maps", ""))
