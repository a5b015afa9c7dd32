"""One of the mutants of each kind."""

from itertools import islice

import pytest

from tests.hostile.artifacts import mutants


@pytest.mark.sample
def test_a_few_mutants_of_each_kind_are_refused(run, attempt):
    attempt(islice(mutants.of_bytes(run, "decoder"), 0, None, 29))
    attempt(islice(mutants.of_json(run, each=1), 0, None, 5))
    attempt(islice(mutants.of_arrays(run), 0, None, 53))
    attempt(islice(mutants.of_weights(run), 0, None, 61))
    attempt(islice(mutants.of_databases(run), 0, None, 37))
