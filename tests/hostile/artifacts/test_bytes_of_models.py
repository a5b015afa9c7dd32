"""Damaged bytes of the files of the models, with and without fitting checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_models_with_damaged_bytes_are_refused(run, attempt):
    attempt(mutants.of_bytes(run, "encoder", "fusion", "quantizer", "decoder"))
