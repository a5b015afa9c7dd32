import re

from genius.schema import Item, Modality
from genius.ui.common.saved_page import saved_strip
from genius.ui.search import strip as strip_view
from tests.ui.common.test_saved_page import HOSTILE, Reader
from tests.ui.search.test_strip_view import FOUND, ITEMS


def drawn(items=ITEMS):
    return strip_view.strip(FOUND, items, True, levels=4)


def test_each_level_is_a_column_with_its_code_name_probabilities_items_and_other_codes():
    read = Reader(saved_strip(drawn(), {"2.17": "cups, bowls"}))
    tags = [tag for tag, _ in read.tags]
    assert tags.count("tr") == 8 and tags.count("img") == 4 + 3 + 2
    for part in ("Modality", "Level 1", "2 Pair", "cups, bowls", "98 %", "30 %", "40", "5 60 %", "One ID is left"):
        assert part in read.text
    assert "Ruled out50 %0 %" in read.text


def test_hostile_names_and_items_stay_texts():
    items = {row: (Item(HOSTILE, Modality.TEXT, HOSTILE), None) for row in ITEMS}
    page = saved_strip(drawn(items), {"2.17": HOSTILE})
    read = Reader(page)
    assert {tag for tag, _ in read.tags}.isdisjoint({"script", "img", "style"}) and HOSTILE in read.text
    assert not re.search(r"<[^>]* on\\w+=", page)
