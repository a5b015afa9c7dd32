"""Kills of the commands that build a collection, convert checkpoints, evaluate and ship a run."""

import pytest

from tests.hostile.kills.killing import stop_at_every_call, stop_at_random_moments

OTHERS = ("collections", "published", "evaluation", "growing", "ship")


@pytest.mark.parametrize("name", OTHERS)
def test_killed_at_any_call_a_command_can_be_repeated(name, lab, counts):
    stop_at_every_call(lab, name, counts)


@pytest.mark.parametrize("name", OTHERS)
def test_killed_at_random_moments_a_command_can_be_repeated(name, lab, counts):
    stop_at_random_moments(lab, name, counts)
