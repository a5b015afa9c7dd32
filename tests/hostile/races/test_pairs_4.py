"""Two commands at once on one run: a quarter of all pairs."""

import pytest

from tests.hostile.races.racing import FILES, PAIRS, race


@pytest.mark.parametrize("one, other", PAIRS[3::FILES])
def test_two_commands_at_once_leave_what_they_leave_in_turn(one, other, lab, counts):
    race(lab, one, other, counts)
