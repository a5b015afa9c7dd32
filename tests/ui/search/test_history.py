from dataclasses import asdict

import pytest

from genius.errors import UserError
from genius.ui.search.history import MAX_ENTRIES, Entry, add_entry, address_fields, entry_at, history_view, read_entries


def test_the_latest_comes_first_and_each_once():
    stored = []
    for text in ("a", "b", "a"):
        stored = add_entry(stored, Entry(text, "Find it."))
    assert read_entries(stored) == [Entry("a", "Find it."), Entry("b", "Find it.")]


def test_no_more_than_the_last_ones_are_kept():
    stored = []
    for number in range(MAX_ENTRIES + 5):
        stored = add_entry(stored, Entry(str(number)))
    assert [entry.text for entry in read_entries(stored)] == [
        str(MAX_ENTRIES + 4 - place) for place in range(MAX_ENTRIES)
    ]


def test_an_uploaded_picture_alone_leaves_nothing_to_ask_again():
    stored = add_entry([], Entry("mug"))
    assert add_entry(stored, Entry(instruction="Find it.", picture=True)) == stored


@pytest.mark.parametrize("stored", [None, {}, "x", 3, [None, 3, "x", []]])
def test_what_is_no_history_is_an_empty_one(stored):
    assert read_entries(stored) == [] and history_view(read_entries(stored)) == {"entries": []}


def test_what_a_browser_sends_is_made_texts_of_bounded_length():
    (entry,) = read_entries([{"text": "x" * 50_000, "instruction": ["<b>"], "item": 5, "picture": "yes", "more": 1}])
    assert entry == Entry("x" * 10_000, "['<b>']", "5", False)
    assert len(read_entries([{"text": "x"}] * 1000)) == MAX_ENTRIES


@pytest.mark.parametrize("index", [1, -1, True, None, "0", 0.0])
def test_an_entry_that_is_not_there_gets_one_sentence(index):
    stored = [asdict(Entry("mug"))]
    assert entry_at(stored, 0) == Entry("mug")
    with pytest.raises(UserError, match="no longer in the history"):
        entry_at(stored, index)


def test_an_address_tells_words_or_an_item_and_nothing_of_a_picture():
    assert address_fields(Entry("mug", "Find it.")) == ("mug", "Find it.", "", "")
    assert address_fields(Entry(item="5:1")) == ("", "", "5:1", "")
    assert address_fields(Entry("mug", "Find it.", picture=True)) == ("",) * 4
    assert address_fields(Entry("mug", pictured="5:1")) == ("mug", "", "", "5:1")


def test_a_past_search_is_named_by_its_words_and_by_what_its_item_is_called():
    entries = [Entry("mug", "Find it."), Entry(item="5:1"), Entry("blue", pictured="5:1"), Entry(item="9:9")]
    items = [(None, None), ("“a cup”", b"webp"), ("“a cup”", None), (None, None)]
    shown = history_view(entries, items)["entries"]
    assert [entry["title"] for entry in shown] == [
        "“mug”",
        "Like “a cup”",
        "“blue” and the picture of “a cup”",
        "Like an item that was removed",
    ]
    assert [entry["thumbnail"] for entry in shown] == [None, "data:image/webp;base64,d2VicA==", None, None]
