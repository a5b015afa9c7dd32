"""The world on disk: an M-BEIR directory, the same for the same seed."""

import io
import json

import pytest
from PIL import Image

from genius.collections.__main__ import main as collections
from genius.collections.instructions import read_instructions
from genius.collections.layout import HELD_OUT_INSTRUCTIONS
from genius.collections.mbeir import Collection, record_digest
from genius.demo_world import write
from genius.demo_world.__main__ import main
from genius.demo_world.write import write_world
from genius.errors import UserError


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The smallest world, with the pictures of its test queries alone."""
    root = tmp_path_factory.mktemp("world") / "small"
    return root, write_world(root, seed=5, scale=1_000, pixels=32, workers=1, pictures=lambda path: "/000/12" in path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A world of another seed, as the command writes it, with one picture in the place of all."""
    root = tmp_path_factory.mktemp("world") / "whole"
    one = io.BytesIO()
    Image.linear_gradient("L").resize((32, 32)).save(one, "JPEG")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "render", lambda picture, pixels: one.getvalue())
        main([str(root), "--seed", "6", "--scale", "1000", "--pixels", "32", "--workers", "1"])
    return root


def test_records_depend_on_the_seed_and_not_on_the_pictures_drawn(world, whole, tmp_path):
    root, facts = world
    again = write_world(tmp_path / "again", seed=5, scale=1_000, pixels=32, workers=2, pictures=never)
    assert again == facts
    assert record_digest(root) == facts["digest"] != record_digest(whole)


def test_world_json_records_seed_scale_and_pixels(world):
    root, facts = world
    assert json.loads((root / "world.json").read_text()) == facts
    assert (facts["seed"], facts["scale"], facts["pixels"]) == (5, 1_000, 32)


def test_only_selected_pictures_are_drawn(world):
    root, _ = world
    drawn = sorted(root.glob("images/**/*.jpg"))
    assert drawn
    assert all("/000/12" in file.as_posix() for file in drawn)
    assert Image.open(drawn[0]).size == (32, 32)


def test_a_whole_world_passes_the_checker(whole, capsys):
    assert collections(["--check", str(whole)]) == 0
    assert "problems: 0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_world_of_which_all_is_drawn_passes_the_checker(tmp_path, capsys):
    main([str(tmp_path / "world"), "--scale", "1000", "--pixels", "32", "--workers", "2"])
    assert collections(["--check", str(tmp_path / "world")]) == 0
    assert "problems: 0" in capsys.readouterr().out


def test_sixteen_rows_in_three_splits(world):
    rows = Collection(world[0]).rows()
    assert len(rows) == 16
    assert all(row.splits == ("train", "val", "test") for row in rows)


def test_held_out_instructions_are_in_their_own_file(world):
    root, _ = world
    shown = Collection(root).instructions()
    held = read_instructions(root / HELD_OUT_INSTRUCTIONS)
    assert set(shown) == set(held)
    assert {len(texts) for texts in shown.values()} == {4}
    assert {len(texts) for texts in held.values()} == {2}


@pytest.mark.parametrize(
    ("size", "name"),
    [
        ({"scale": 10}, "--scale 10"),
        ({"scale": 2_000_000}, "--scale 2000000"),
        ({"pixels": 4}, "--pixels 4"),
        ({"workers": 0}, "--workers 0"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path, size, name):
    with pytest.raises(UserError, match=f"{name}: expected"):
        write_world(tmp_path / "world", **size)


def test_an_existing_directory_is_not_overwritten(world):
    with pytest.raises(UserError, match="exists and is not empty"):
        write_world(world[0], scale=1_000)


def never(path: str) -> bool:
    return False
