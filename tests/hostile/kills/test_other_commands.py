"""Kills of collections, published, evaluation, growing, ship."""

import pytest

from tests.hostile.kills.killing import kill_at_every_call, kill_at_random_moments


@pytest.mark.parametrize("name", ["collections", "published", "evaluation", "growing", "ship"])
def test_killed_at_any_call_the_command_can_be_repeated(name, lab, counts):
    kill_at_every_call(lab, name, counts)


@pytest.mark.parametrize("name", ["collections", "published", "evaluation", "growing", "ship"])
def test_killed_at_random_moments_the_command_can_be_repeated(name, lab, counts):
    kill_at_random_moments(lab, name, counts)
