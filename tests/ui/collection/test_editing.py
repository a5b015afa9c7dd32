from pathlib import Path

import pytest

from genius.errors import UserError
from genius.ui.collection.editing import MAX_ITEMS, parse_items


def test_lines_are_the_captions_of_the_pictures_in_their_order():
    assert parse_items(["a.png", "b.png", "c.png"], "  A red dog. \n\nA boat.\n") == [
        ("A red dog.", Path("a.png")),
        ("", Path("b.png")),
        ("A boat.", Path("c.png")),
    ]
    assert parse_items(["a.png"], None) == parse_items(["a.png"], "\n") == [("", Path("a.png"))]


def test_a_first_picture_may_be_without_a_caption():
    assert parse_items(["a.png", "b.png"], " \nA boat.") == [("", Path("a.png")), ("A boat.", Path("b.png"))]


def test_without_pictures_every_line_is_an_item():
    assert parse_items([], "A red dog.\n\n A boat.\n") == [("A red dog.", None), ("A boat.", None)]


@pytest.mark.parametrize(
    "pictures, lines, said",
    [
        ([], "", "Choose pictures, write texts"),
        ([], None, "Choose pictures"),
        ([], " \n ", "Choose pictures"),
        (["a.png"], "one\ntwo", "2 lines for 1 picture"),
        ([], "x" * 10_001, "shorten it to"),
        (["a.png"], "\ud800", "invalid Unicode character"),
        ([], "a\n" * (MAX_ITEMS + 1), f"at most {MAX_ITEMS} at once"),
        (["a.png"] * (MAX_ITEMS + 1), "", f"at most {MAX_ITEMS} at once"),
    ],
)
def test_what_cannot_be_added_is_said(pictures, lines, said):
    with pytest.raises(UserError, match=said):
        parse_items(pictures, lines)
