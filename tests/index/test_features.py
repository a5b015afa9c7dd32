import numpy as np
import pytest
import torch
from PIL import Image

from genius.errors import UserError
from genius.index.features import FeatureFiles, batched
from tests.search.tiny import DIM, tiny_encoder, tiny_fusion

COLOURS = ("red", "green", "blue", "white", "black")
THINGS = [(colour if number % 3 else None, [f"a {colour} thing" if number % 2 or number % 3 == 0 else "", "again"])
          for number, colour in enumerate(COLOURS)]


def open_path(path: str) -> Image.Image:
    return Image.new("RGB", (20, 20), path)


def filled(folder, things=THINGS, batch=2) -> FeatureFiles:
    files = FeatureFiles.create(folder, len(things), 2, DIM, "facts")
    files.fill(tiny_encoder(), things, open_path, batch, "test")
    return files


def test_features_in_files_are_those_of_the_encoder(tmp_path):
    files = filled(tmp_path)
    for phrasing in (0, 1):
        expected = tiny_encoder().encode([path and open_path(path) for path, _ in THINGS],
                                         [texts[phrasing] for _, texts in THINGS])
        found = files.features(slice(None), phrasing)
        torch.testing.assert_close(found.image, expected.image, atol=2e-3, rtol=2e-3)
        torch.testing.assert_close(found.text, expected.text, atol=2e-3, rtol=2e-3)
        if phrasing == 0:
            assert torch.equal(found.image_mask, expected.image_mask)
            assert torch.equal(found.text_mask, expected.text_mask)
            np.testing.assert_allclose(files.embedding, expected.embedding(), atol=2e-3)


def test_a_phrasing_can_be_chosen_for_each_row(tmp_path):
    files = filled(tmp_path)
    found = files.features(np.array([4, 0]), np.array([1, 0]))
    alone = [files.features(slice(4, 5), 1), files.features(slice(0, 1), 0)]
    torch.testing.assert_close(found.text, torch.cat([features.text for features in alone]))


def test_a_killed_run_goes_on_after_the_last_whole_block(tmp_path, monkeypatch):
    monkeypatch.setattr("genius.index.features.BLOCK", 1)
    whole = filled(tmp_path / "whole")

    class Killed(BaseException):
        pass

    def things():
        yield from THINGS[:3]
        raise Killed

    files = FeatureFiles.create(tmp_path / "killed", len(THINGS), 2, DIM, "facts")
    with pytest.raises(Killed):
        files.fill(tiny_encoder(), things(), open_path, 2, "test")

    opened = []
    again = FeatureFiles.create(tmp_path / "killed", len(THINGS), 2, DIM, "facts")
    again.fill(tiny_encoder(), THINGS, lambda path: opened.append(path) or open_path(path), 2, "test")

    assert "green" not in opened
    assert np.array_equal(again.image, whole.image) and np.array_equal(again.text, whole.text)


def test_other_facts_start_anew(tmp_path):
    filled(tmp_path)
    assert FeatureFiles.create(tmp_path, len(THINGS), 2, DIM, "facts").progress["done"] == len(THINGS)
    assert FeatureFiles.create(tmp_path, len(THINGS), 2, DIM, "other facts").progress["done"] == 0


def test_fewer_things_than_announced_are_an_error(tmp_path):
    files = FeatureFiles.create(tmp_path, len(THINGS) + 1, 2, DIM, "facts")
    with pytest.raises(UserError, match="5 of 6 were found"):
        files.fill(tiny_encoder(), THINGS, open_path, 2, "test")


def test_fused_features_are_those_of_the_fusion(tmp_path):
    files = filled(tmp_path)
    with pytest.raises(UserError, match="python -m training.quantizer"):
        files.fused("digest")
    files.fuse(tiny_fusion(), "digest", batch=2)
    with pytest.raises(UserError, match="python -m training.quantizer"):
        FeatureFiles.finished(tmp_path, "facts").fused("of another fusion")
    with torch.inference_mode():
        expected = tiny_fusion()(files.features(slice(None), 1))
    np.testing.assert_allclose(FeatureFiles.finished(tmp_path, "facts").fused("digest")[:, 1], expected, atol=1e-3)


def test_features_that_are_missing_unfinished_or_of_something_else_say_how_to_make_them(tmp_path):
    with pytest.raises(UserError, match="python -m training.features"):
        FeatureFiles.finished(tmp_path, "facts")
    FeatureFiles.create(tmp_path, len(THINGS), 2, DIM, "facts")
    with pytest.raises(UserError, match="python -m training.features"):
        FeatureFiles.finished(tmp_path, "facts")
    filled(tmp_path)
    with pytest.raises(UserError, match="python -m training.features"):
        FeatureFiles.finished(tmp_path, "other facts")


def test_batches_keep_the_order_and_the_rest():
    assert list(batched(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batched([], 2)) == []
