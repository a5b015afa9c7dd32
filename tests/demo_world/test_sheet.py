"""The contact sheet and the frames that pictures are printed in."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from genius.demo_world import sheet
from genius.demo_world.__main__ import main
from genius.demo_world.frames import FRAMES
from genius.demo_world.picture import Picture, render
from genius.demo_world.placement import RELATIONS, Figure
from genius.demo_world.scenes import SCENES, TIMES
from genius.demo_world.things import THINGS
from genius.errors import UserError


def test_the_sheet_shows_every_kind_scene_time_and_relation(tmp_path):
    shown = [*sheet.kinds(), *sheet.settings(), *sheet.arrangements()]
    assert {(picture.figures[0].kind, picture.figures[0].style) for picture in sheet.kinds()} == {
        (name, style) for name, thing in THINGS.items() for style in thing.styles
    }
    assert {(picture.scene, picture.time) for picture in shown} >= {(scene, time) for scene in SCENES for time in TIMES}
    assert {picture.relation for picture in shown} >= set(RELATIONS)
    main(["--sheet", str(tmp_path / "sheet.png")])
    image = Image.open(tmp_path / "sheet.png")
    assert image.size == (sheet.COLUMNS * sheet.CELL, -(-len(shown) // sheet.COLUMNS) * sheet.CELL)


@pytest.mark.parametrize(
    ("name", "message"),
    [("sheet", "no known ending"), ("sheet.txt", "no known ending"), ("gone/s.png", "make it first")],
)
def test_a_sheet_that_cannot_be_written_is_refused_before_it_is_drawn(tmp_path, monkeypatch, name, message):
    monkeypatch.setattr(sheet, "render", lambda *_: pytest.fail("drawn"))
    with pytest.raises(UserError, match=message):
        main(["--sheet", str(tmp_path / name)])


@pytest.mark.parametrize("other", [["world"], ["--seed", "3"], ["--pixels", "64"]])
def test_a_sheet_and_a_world_at_once_are_refused(tmp_path, capsys, other):
    with pytest.raises(SystemExit):
        main(["--sheet", str(tmp_path / "sheet.png"), *other])
    assert "--sheet draws no world" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize("frame", [name for name in FRAMES if name])
def test_a_frame_changes_the_edge_and_leaves_the_middle(frame):
    bare = Picture((Figure("cat", "red", "plain", "sitting"),), scene="meadow", variant=3)
    plain, framed = (
        np.asarray(Image.open(io.BytesIO(render(replace(bare, frame=name), 128)))).astype(int) for name in ("", frame)
    )
    changed = np.abs(plain - framed).max(2) > 40
    assert 0.03 < changed.mean() < 0.25
    assert not changed[32:96, 32:96].any()
