"""Every command that changes a run, while the run is served; and commands of other folders, twice at once."""

import pytest

from tests.hostile.commands import COMMANDS
from tests.hostile.races.racing import ALONE, COMMON, beside_a_page, race


@pytest.mark.parametrize("name", COMMON)
def test_a_run_that_is_served_can_be_changed(name, lab, counts):
    beside_a_page(lab, name, counts)


@pytest.mark.parametrize("name", ALONE)
def test_a_command_that_is_started_twice_leaves_what_one_leaves(name, lab, counts):
    race(lab, name, name, counts, COMMANDS[name].state)


@pytest.mark.sample
def test_a_removal_that_is_started_twice_leaves_what_one_leaves(lab, counts):
    race(lab, "remove at once", "remove at once", counts, "untrained")
