"""genius/evaluation/shared_codes.py: what is compared, and with what."""

import io
import json
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from genius.errors import UserError
from genius.evaluation import shared_codes
from genius.evaluation.shared_codes import pair_codes, read_couples
from genius.index.store import Index
from genius.schema import Modality


def picture(row: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (row * 7 % 256, row * 31 % 256, 90)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(autouse=True)
def thumbnails(monkeypatch):
    """The micro index has none."""
    monkeypatch.setattr(Index, "thumbnail", lambda self, row: picture(row))


def test_a_couple_is_a_picture_and_the_text_that_the_collection_answers_it_with(engine, collection):
    couples = read_couples(collection, engine.index, "train", None, seed=0)
    images, texts = (engine.index.items(rows) for rows in (couples.images, couples.texts))
    answers = {query.image: query.positives for query in collection.queries("train") if query.task == 3}
    assert {image.image for image in images} == set(answers) and set(couples.datasets) == {"shapes"}
    for image, text in zip(images, texts, strict=True):
        assert (image.modality, text.modality) == (Modality.IMAGE, Modality.TEXT)
        assert text.id in answers[image.image]


def test_a_sample_is_fixed_by_the_seed_and_pictures_that_cannot_be_shown_are_left_out(engine, collection, monkeypatch):
    two, again, other = (read_couples(collection, engine.index, "train", 2, seed).images.tolist() for seed in (0, 0, 5))
    assert len(two) == 2 and two == again != other
    monkeypatch.setattr(Index, "thumbnail", lambda self, row: None)
    with pytest.raises(UserError, match="no train query of .* is a picture that is also a candidate"):
        read_couples(collection, engine.index, "train", None, seed=0)


@torch.inference_mode()
def test_the_pair_is_both_together_as_a_candidate(engine, collection):
    couples = read_couples(collection, engine.index, "train", 3, seed=0)
    (text,) = engine.index.items(couples.texts[:1])
    shown = Image.open(io.BytesIO(picture(int(couples.images[0])))).convert("RGB")
    z = engine.fusion(engine.encoder.encode([shown], [text.text]))
    codes = pair_codes(engine, couples)
    assert codes[:, 0].tolist() == [Modality.PAIR] * 3
    np.testing.assert_array_equal(codes[0][1:], engine.quantizer.encode(z).numpy()[0][1:])


def test_the_report_compares_all_sides_and_keeps_examples(run, collection, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    shared_codes.main([str(copy), "--split", "train", "--device", "cpu"])
    report = json.loads((copy / "reports" / "shared_codes.json").read_text())
    compared = [(one["first"], one["second"], one["dataset"]) for one in report["agreement"]]
    assert compared == [("image", "text", ""), ("image", "pair", ""), ("text", "pair", "")]
    assert report["couples"] == 8 == report["agreement"][0]["couples"]
    assert [level["level"] for level in report["agreement"][0]["levels"]] == list(range(1, report["levels"]))
    for example in report["examples"]:
        assert [example[side]["codes"][0] for side in shared_codes.SIDES] == [0, 1, 2]
    text = (copy / "reports" / "shared_codes.md").read_text()
    assert "image and pair" in text and "at every level from 1 to this one" in text


def test_a_factor_of_several_datasets_is_carried_over(engine):
    found = shared_codes.factors_elsewhere(engine.index, seed=0)
    assert [one["factor"] for one in found] == []  # candidates of the micro collection name none
