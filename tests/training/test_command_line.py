"""Which preset a training has that names none."""

import sys

import pytest
import torch

from genius.run import BUILT_FROM, Run
from tests.search.tiny import DIM, tiny_encoder
from training import command_line, shipped
from training.command_line import Arguments, parse_arguments
from training.encoder import new_encoder
from training.presets import SMALL


@pytest.fixture
def parsed(collection, tmp_path, monkeypatch):
    """What is parsed of these words after COLLECTION and RUN; the shipped run has a tiny encoder."""
    photos = Run(tmp_path / "photos")
    photos.publish("encoder", tiny_encoder().save)
    for part in shipped.LINKED[1:]:
        photos.publish(part, lambda path: (path / "config.json").write_text("{}"), tuple(BUILT_FROM[part]))
    monkeypatch.setattr(shipped, "PHOTOS", photos.path)
    monkeypatch.setattr(command_line, "PHOTOS", photos.path)

    def parse(*words: str) -> Arguments:
        monkeypatch.setattr(sys, "argv", ["training", str(collection.root), str(tmp_path / "run"), *words])
        return parse_arguments("training", "")

    return parse


def test_few_pictures_begin_with_the_shipped_encoder_in_sizes_that_fit_them(parsed, capsys):
    arguments = parsed("--set", "encoder.epochs=3")
    assert (
        "has few pictures: training begins with the shipped encoder (else: --preset small)" in capsys.readouterr().out
    )
    settings = arguments.settings
    assert (arguments.preset, settings.encoder.epochs, settings.encoder.locked.enabled) == ("shipped", 3, True)
    assert settings.quantizer.quantizer.dim == DIM and settings.quantizer.quantizer.codebook_size == 16
    begun = new_encoder(settings.encoder).state_dict()
    assert all(torch.equal(weight, begun[name]) for name, weight in tiny_encoder().state_dict().items())


def test_random_weights_are_for_many_pictures_or_on_request_and_a_run_goes_on_as_it_began(
    parsed, tmp_path, monkeypatch
):
    assert parsed("--preset", "small").settings == SMALL
    Run(tmp_path / "run").record(preset="toy")
    assert parsed().preset == "toy"
    Run(tmp_path / "run").record(preset="folder")
    monkeypatch.setattr(command_line, "FEW", 3)
    assert parsed().preset == "small"
