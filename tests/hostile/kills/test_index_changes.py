"""Kills while the index of a run changes."""

import pytest

from tests.hostile.kills.killing import PUBLISHING, kill_at_every_call, stop_at_every_call, stop_at_random_moments

CHANGES = ("add", "remove", "compact")


@pytest.mark.parametrize("name", CHANGES)
def test_killed_at_any_call_a_change_can_be_repeated(name, lab, counts):
    stop_at_every_call(lab, name, counts)


@pytest.mark.parametrize("name", CHANGES)
def test_killed_at_random_moments_a_change_can_be_repeated(name, lab, counts):
    stop_at_random_moments(lab, name, counts)


@pytest.mark.parametrize("name", CHANGES)
def test_really_killed_where_it_publishes_a_change_can_be_repeated(name, lab, counts):
    kill_at_every_call(lab, name, counts, PUBLISHING)


@pytest.mark.sample
def test_killed_where_it_publishes_a_removal_can_be_repeated(lab, counts):
    kill_at_every_call(lab, "remove at once", counts, PUBLISHING - {"link", "unlink"})
