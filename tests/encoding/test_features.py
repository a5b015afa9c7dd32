import os
import signal

import numpy as np
import pytest
import torch
from PIL import Image
from torch.testing import assert_close

from genius.encoding.features import EncoderFeatureCache, EncoderInput, FeatureFiles
from genius.errors import UserError
from genius.models.encoder import Encoder
from tests.search.tiny import DIM, tiny_encoder, tiny_fusion
from tests.waiting import forked

COLORS = ("red", "green", "blue", "white", "black")
INPUTS = [
    EncoderInput(
        color if number % 3 else None,
        [f"a {color} thing" if number % 2 or number % 3 == 0 else "", "again"],
    )
    for number, color in enumerate(COLORS)
]


def open_path(path: str) -> Image.Image:
    return Image.new("RGB", (20, 20), path)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("genius.encoding.features.SHARD", 2)


def created(folder, inputs=INPUTS, source="source") -> FeatureFiles:
    return FeatureFiles.create(folder, len(inputs), len(inputs[0].texts), DIM, source)


def filled(folder, inputs=INPUTS, batch=2, open_image=open_path, **how) -> FeatureFiles:
    files = created(folder, inputs)
    files.fill(tiny_encoder(), inputs, open_image, batch, "test", **how)
    return files


@pytest.mark.parametrize("shard", [2, 3])
def test_features_in_files_are_those_of_the_encoder(tmp_path, shard, monkeypatch):
    """Also if batches do not divide a shard."""
    monkeypatch.setattr("genius.encoding.features.SHARD", shard)
    files = filled(tmp_path)
    for phrasing in (0, 1):
        expected = tiny_encoder().encode(
            [each.image and open_path(each.image) for each in INPUTS],
            [each.texts[phrasing] for each in INPUTS],
        )
        found = files.features(slice(None), phrasing)
        assert_close(found.image, expected.image, atol=2e-3, rtol=2e-3)
        assert_close(found.text, expected.text, atol=2e-3, rtol=2e-3)
        if phrasing == 0:
            assert torch.equal(found.image_mask, expected.image_mask)
            assert torch.equal(found.text_mask, expected.text_mask)
            np.testing.assert_allclose(files.embedding, expected.embedding(), atol=2e-3)


def test_gpus_multiply_in_tf32_while_features_are_computed_and_not_afterwards(
    tmp_path, monkeypatch
):
    precisions = []
    encode = Encoder.encode_present

    def note(self, *arguments):
        precisions.append(torch.backends.cuda.matmul.fp32_precision)
        return encode(self, *arguments)

    monkeypatch.setattr(Encoder, "encode_present", note)
    before = torch.backends.cuda.matmul.fp32_precision
    filled(tmp_path)
    assert set(precisions) == {"tf32"}
    assert torch.backends.cuda.matmul.fp32_precision == before != "tf32"


def test_a_phrasing_can_be_chosen_for_each_row(tmp_path):
    files = filled(tmp_path)
    found = files.features(np.array([4, 0]), np.array([1, 0]))
    alone = [files.features(slice(4, 5), 1), files.features(slice(0, 1), 0)]
    assert_close(found.text, torch.cat([features.text for features in alone]))


def test_a_killed_run_encodes_no_finished_shard_again(tmp_path):
    whole = filled(tmp_path / "whole")
    assert forked(fill_until_killed, tmp_path / "killed") == -signal.SIGKILL

    opened = []
    assert created(tmp_path / "killed").unfinished() == [1, 2]
    again = filled(
        tmp_path / "killed", open_image=lambda path: opened.append(path) or open_path(path)
    )
    assert set(opened) == {"blue", "black"}  # the third to the fifth input that have an image
    same(again, whole)


def fill_until_killed(folder) -> None:
    def open_until_black(path: str) -> Image.Image:
        if path == "black":
            os.kill(os.getpid(), signal.SIGKILL)
        return open_path(path)

    torch.set_num_threads(1)  # a forked process has no other threads
    filled(folder, [*INPUTS[:3], INPUTS[4], INPUTS[3]], 1, open_until_black)


def same(some: FeatureFiles, others: FeatureFiles) -> None:
    for name in ("image", "text", "embedding", "masks"):
        np.testing.assert_array_equal(getattr(some, name), getattr(others, name), name)


@pytest.mark.parametrize("workers", [0, 2])
def test_shards_that_are_filled_separately_make_the_same_files(tmp_path, workers):
    whole = filled(tmp_path / "whole", batch=1)
    for shards in ([1], [2], [0]):
        assert set(shards) <= set(created(tmp_path / "apart").unfinished())
        files = filled(tmp_path / "apart", batch=1, shards=shards, workers=workers)
    assert not files.unfinished() and not (tmp_path / "apart" / "shards").exists()
    same(FeatureFiles.finished(tmp_path / "apart", "source"), whole)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_input_whose_image_is_skipped_keeps_its_text(tmp_path, workers):
    files = filled(tmp_path, batch=3, open_image=without_green, workers=workers)
    expected = tiny_encoder().encode(
        [None if each.image in (None, "green") else open_path(each.image) for each in INPUTS],
        [each.texts[0] for each in INPUTS],
    )
    assert files.masks[:, 0].tolist() == expected.image_mask.tolist()
    np.testing.assert_allclose(files.embedding, expected.embedding(), atol=2e-3)


def without_green(path: str) -> Image.Image | None:
    return None if path == "green" else open_path(path)


def test_another_source_starts_again(tmp_path):
    filled(tmp_path)
    assert created(tmp_path).progress["done"] == len(INPUTS)
    assert created(tmp_path, source="other source").progress["done"] == 0


def test_fewer_inputs_than_expected_are_an_error(tmp_path):
    files = created(tmp_path, [*INPUTS, INPUTS[0]])
    with pytest.raises(UserError, match="only 5 of 6 were found"):
        files.fill(tiny_encoder(), INPUTS, open_path, 2, "test")


def test_fused_features_are_those_of_the_fusion(tmp_path):
    files = filled(tmp_path)
    with pytest.raises(UserError, match="python -m training.quantizer"):
        files.fused("digest")
    files.fuse(tiny_fusion(), "digest", batch_size=2)
    with pytest.raises(UserError, match="python -m training.quantizer"):
        FeatureFiles.finished(tmp_path, "source").fused("another digest")
    with torch.inference_mode():
        expected = tiny_fusion()(files.features(slice(None), 1))
    np.testing.assert_allclose(
        FeatureFiles.finished(tmp_path, "source").fused("digest")[:, 1], expected, atol=1e-3
    )


def test_missing_incomplete_and_outdated_features_name_the_command_that_makes_them(tmp_path):
    for make, source in ((str, "source"), (created, "source"), (filled, "other source")):
        make(tmp_path)
        with pytest.raises(UserError, match=r"python -m training\.features"):
            FeatureFiles.finished(tmp_path, source)


def test_an_image_of_several_inputs_is_opened_once_and_a_known_one_never(tmp_path):
    opened = []

    def counting(path: str) -> Image.Image:
        opened.append(path)
        return open_path(path)

    pictured = [("red", "a"), ("red", "b"), ("blue", "c"), ("green", "d"), ("red", "e")]
    inputs = [EncoderInput(color, [text]) for color, text in pictured]
    encoder = tiny_encoder()
    green = encoder.encode([open_path("green")], [""]).image[0]
    known = EncoderFeatureCache(
        images=lambda paths: {path: green for path in paths if path == "green"}
    )
    files = filled(tmp_path, inputs, open_image=counting, cache=known)
    assert sorted(opened) == ["blue", "red"]
    expected = encoder.encode(
        [open_path(color) for color, _ in pictured], [text for _, text in pictured]
    )
    assert_close(files.features(slice(None)).image, expected.image, atol=2e-3, rtol=2e-3)


def test_a_further_lookup_is_asked_for_what_the_first_does_not_know():
    one = torch.ones(DIM)
    two = torch.zeros(DIM)
    asked = []

    def further(paths):
        asked.extend(paths)
        return dict.fromkeys(paths, two)

    first = EncoderFeatureCache(
        images=lambda paths: {path: one for path in paths if path == "red"}, texts=lambda texts: {}
    )
    first.add_images({"blue": one})
    both = first.with_image_lookup(further)
    found = both.images(["red", "blue"])
    assert found["red"] is one and found["blue"] is two and asked == ["blue"]
    assert both.texts is first.texts


def test_a_text_that_inputs_share_is_encoded_once(tmp_path, monkeypatch):
    encoded = []
    encode = Encoder.encode

    def counting(encoder, images, texts):
        encoded.extend(texts)
        return encode(encoder, images, texts)

    monkeypatch.setattr(Encoder, "encode", counting)
    inputs = [EncoderInput("red", ["find it", "look"]), EncoderInput("blue", ["look", "find it"])]
    files = filled(tmp_path, inputs)
    assert sorted(encoded) == ["Find it.", "Look."]
    np.testing.assert_array_equal(files.text[0, 0], files.text[1, 1])
