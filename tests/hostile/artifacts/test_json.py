"""JSON of other values, with fitting checksums.

A file of its own, because a file has ten minutes.
"""

from tests.hostile.artifacts import mutants


def test_json_of_other_values_is_refused_or_a_setting(run, attempt):
    attempt(mutants.of_json(run, each=36))
