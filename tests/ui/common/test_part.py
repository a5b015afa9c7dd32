import pytest

from genius.errors import UserError
from genius.ui.common.components import part_of

BOX = {"left": 0.25, "top": 0, "right": 0.5, "bottom": 1}


def test_a_box_is_four_edges_and_nothing_is_the_whole_picture():
    assert part_of(BOX) == (0.25, 0, 0.5, 1) and part_of(None) is None and part_of("") is None


@pytest.mark.parametrize(
    "value",
    [[], "0,0,1,1", {}, {**BOX, "left": "0"}, {**BOX, "right": None}, {**BOX, "top": True}, {"left": 0, "top": 0}],
)
def test_what_is_no_box_gets_one_sentence(value):
    with pytest.raises(UserError, match="is not a box; mark it again"):
        part_of(value)


@pytest.mark.parametrize(
    "edges", [{"left": 0.5}, {"left": 0.6}, {"right": 1.01}, {"top": -0.1}, {"bottom": float("nan")}, {"bottom": 1e400}]
)
def test_a_box_outside_of_the_picture_or_without_extent_gets_one_sentence(edges):
    with pytest.raises(UserError, match="lies outside of the picture"):
        part_of(BOX | edges)
