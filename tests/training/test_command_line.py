"""The arguments that the commands of training share."""

import sys

import pytest

from genius.errors import UserError
from training import folder
from training.command_line import parse_arguments, reported_command


@pytest.mark.parametrize("option", ["--seed", "--workers"])
@pytest.mark.parametrize("value", ["-1", "1.5", "two"])
def test_a_number_below_zero_or_none_is_refused(tmp_path, monkeypatch, option, value):
    monkeypatch.setattr(sys, "argv", ["training", "collection", str(tmp_path), option, value])
    with pytest.raises(UserError, match=f"{option} {value}: expected an integer of at least 0"):
        parse_arguments("training", "")


def test_a_collection_is_not_trained_into(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["training", str(tmp_path), f"{tmp_path}/../{tmp_path.name}"])
    with pytest.raises(UserError, match="is the collection; name another directory for the run"):
        parse_arguments("training", "")


def test_every_command_that_trains_refuses_a_negative_seed(tmp_path):
    with pytest.raises(UserError, match="--seed -1: expected an integer of at least 0"):
        folder.main([str(tmp_path), str(tmp_path / "run"), "--seed", "-1"])
    assert not (tmp_path / "run").exists()


def test_a_reported_command_names_no_path(tmp_path):
    words = [str(tmp_path), "run", "--limit", "3"]
    assert reported_command("training.ablations", words, {tmp_path: "COLLECTION"}) == (
        "python -m training.ablations COLLECTION run --limit 3"
    )
