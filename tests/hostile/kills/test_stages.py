"""Kills of the stages of a training, each a command of its own."""

import pytest

from tests.hostile.kills.killing import stop_at_every_call, stop_at_random_moments

STAGES = ("encoder", "features", "quantizer", "decoder", "index")


@pytest.mark.parametrize("name", STAGES)
def test_killed_at_any_call_a_stage_can_be_repeated(name, lab, counts):
    stop_at_every_call(lab, name, counts)


@pytest.mark.parametrize("name", STAGES)
def test_killed_at_random_moments_a_stage_can_be_repeated(name, lab, counts):
    stop_at_random_moments(lab, name, counts)
