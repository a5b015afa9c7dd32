"""Arrays and weights of other types, shapes, orders and numbers, with fitting checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_other_arrays_are_refused(run, attempt):
    attempt(mutants.of_arrays(run))


def test_other_weights_are_refused(run, attempt):
    attempt(mutants.of_weights(run))
