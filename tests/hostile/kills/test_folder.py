"""Kills of folder."""

import pytest

from tests.hostile.kills.killing import PUBLISHING, kill_at_every_call, kill_at_random_moments


@pytest.mark.parametrize("name", ["folder"])
def test_killed_where_it_publishes_the_command_can_be_repeated(name, lab, counts):
    kill_at_every_call(lab, name, counts, PUBLISHING)


@pytest.mark.parametrize("name", ["folder"])
def test_killed_at_random_moments_the_command_can_be_repeated(name, lab, counts):
    kill_at_random_moments(lab, name, counts)
