"""genius/evaluation/shared_codes.py: what is compared, and with what."""

import io
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from genius.errors import UserError
from genius.evaluation import shared_codes
from genius.evaluation.shared_codes import pair_codes, read_couples
from genius.index.segments import ItemRecords
from genius.reports import Report
from genius.schema import Modality

PAIRS = ("image and text", "image and pair", "text and pair")


def picture(row: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (row * 7 % 256, row * 31 % 256, 90)).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture(autouse=True)
def thumbnails(engine, monkeypatch):
    """The micro index has none."""
    monkeypatch.setattr(engine.index, "thumbnail", picture)
    monkeypatch.setattr(ItemRecords, "thumbnail", lambda self, row: picture(row))


def test_a_couple_is_a_picture_and_the_text_that_the_collection_answers_it_with(engine, collection):
    couples = read_couples(collection, engine.index, "train", None, seed=0)
    images = engine.index.items([couple.image for couple in couples])
    texts = engine.index.items([couple.text for couple in couples])
    answers = {query.image: query.positives for query in collection.queries("train") if query.task == 3}
    assert {image.image for image in images} == set(answers) and {couple.dataset for couple in couples} == {"shapes"}
    for image, text in zip(images, texts, strict=True):
        assert (image.modality, text.modality) == (Modality.IMAGE, Modality.TEXT)
        assert text.id in answers[image.image]


def test_a_sample_is_fixed_by_the_seed_and_pictures_that_cannot_be_shown_are_left_out(engine, collection, monkeypatch):
    two, again, other = [read_couples(collection, engine.index, "train", 2, seed) for seed in (0, 0, 5)]
    assert len(two) == 2 and two == again != other
    monkeypatch.setattr(engine.index, "thumbnail", lambda row: None)
    with pytest.raises(UserError, match="no train query of .* is a picture that is also a candidate"):
        read_couples(collection, engine.index, "train", None, seed=0)


@torch.inference_mode()
def test_the_pair_is_both_together_as_a_candidate(engine, collection):
    couples = read_couples(collection, engine.index, "train", 3, seed=0)
    (text,) = engine.index.items([couples[0].text])
    shown = Image.open(io.BytesIO(picture(couples[0].image))).convert("RGB")
    z = engine.fusion(engine.encoder.encode([shown], [text.text]))
    codes = pair_codes(engine, couples)
    assert codes[:, 0].tolist() == [Modality.PAIR] * 3
    np.testing.assert_array_equal(codes[0][1:], engine.quantizer.encode(z).numpy()[0][1:])


def test_the_report_compares_all_sides_with_chance_and_has_examples(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    shared_codes.main([str(copy), "--split", "train", "--device", "cpu"])
    same, so_far, examples = Report.load(copy / "reports" / "shared_codes.json").tables
    assert [row[:3] for row in same.rows[::2]] == [[f"{sides}", "all", 8] for sides in PAIRS]
    assert [row[0] for row in same.rows[1::2]] == ["by chance"] * 3
    for row, chance, together in zip(same.rows[::2], same.rows[1::2], so_far.rows[::2], strict=True):
        assert len(row) == 3 + 3 and row[3][0] == together[3] >= together[5]  # three semantic levels
        assert all(low <= share <= high for share, low, high in row[3:]) and 0 <= chance[3] <= 1
    for row in examples.rows:
        assert [codes.split()[0] for codes in row[2:]] == ["0", "1", "2"]


def test_a_factor_of_several_datasets_is_carried_over(engine, monkeypatch):
    assert shared_codes.elsewhere_tables(engine.index, seed=0) == []  # candidates of the micro collection name none
    kinds = np.arange(engine.index.n) % 2
    monkeypatch.setattr(shared_codes, "read_factors", lambda items: {"kind": kinds})
    (table,) = shared_codes.elsewhere_tables(engine.index, seed=0)
    assert [row[0] for row in table.rows] == ["kind", "without codes"] and table.rows[0][1] == engine.index.n
