import re

import pytest

from genius.ui.common.components import UI_FOLDER
from genius.ui.common.links import MAX_FIELD_LENGTH, SEARCH_FIELDS, parse_address
from genius.ui.page import TABS
from genius.ui.serving import page_head


def selected(tabs):
    """None: the tab that is open stays so, which is Search when the page is loaded."""
    return tabs.get("selected")


@pytest.mark.parametrize(
    "address, tab, rest",
    [
        ({}, None, (None, None, None)),
        ({"q": "a mug", "instruction": "Find one."}, None, ({"text": "a mug", "instruction": "Find one."}, None, None)),
        ({"instruction": "Find one."}, None, ({"text": "", "instruction": "Find one."}, None, None)),
        ({"picture": "7:12"}, None, ({"text": "", "instruction": "", "picture": "7:12"}, None, None)),
        ({"item": "7:12", "q": "a mug"}, None, (None, "7:12", None)),
        ({"tab": "codes", "code": "0.17.*.5", "q": "a mug"}, "codes", (None, None, "0.17.*.5")),
        ({"tab": "map", "code": "0.17"}, "map", (None, None, None)),
        ({"tab": "search", "q": "a mug"}, "search", ({"text": "a mug", "instruction": ""}, None, None)),
        ({"tab": "elsewhere", "q": "a mug"}, None, ({"text": "a mug", "instruction": ""}, None, None)),
    ],
)
def test_an_address_opens_its_tab_and_what_was_asked_there(address, tab, rest):
    tabs, *sent = parse_address(address, TABS)
    assert selected(tabs) == tab and tuple(sent) == rest


@pytest.mark.parametrize("address", [None, [], "q=x", {"q": ["a"]}, {"q": None}, {"tab": 3}])
def test_an_address_that_is_none_asks_nothing(address):
    assert parse_address(address, TABS)[1:] == (None, None, None)


def test_a_long_address_is_cut():
    assert len(parse_address({"q": "x" * 10 * MAX_FIELD_LENGTH}, TABS)[1]["text"]) == MAX_FIELD_LENGTH


def test_the_script_knows_the_same_tabs_and_fields():
    script = (UI_FOLDER / "common/links.js").read_text()
    (names,) = re.findall(r"const PARAMETERS = \[(.*)\];", script)
    assert {*SEARCH_FIELDS} < {*re.findall(r"'(\w+)'", names)}
    assert "TAB_NAMES.includes(" in script and f"const TAB_NAMES = {[*TABS]};" in page_head()
