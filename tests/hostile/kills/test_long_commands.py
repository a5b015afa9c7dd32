"""Kills of the commands that take seconds: where they publish."""

import pytest

from tests.hostile.kills.killing import PUBLISHING, stop_at_every_call, stop_at_random_moments

SINGLE = ("locked", "maps")
WHOLE = ("training", "folder")  # whose stages are killed in test_stages.py at every call


@pytest.mark.parametrize("name", SINGLE)
def test_killed_where_it_publishes_a_command_can_be_repeated(name, lab, counts):
    stop_at_every_call(lab, name, counts, PUBLISHING)


@pytest.mark.parametrize("name", WHOLE)
def test_killed_where_it_publishes_a_whole_training_can_be_repeated(name, lab, counts):
    stop_at_every_call(lab, name, counts, PUBLISHING - {"unlink"})


@pytest.mark.parametrize("name", (*SINGLE, *WHOLE))
def test_killed_at_random_moments_a_command_can_be_repeated(name, lab, counts):
    stop_at_random_moments(lab, name, counts)
