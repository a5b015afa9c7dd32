import pytest

from genius.schema import Item, Modality
from genius.ui.common import formatting


@pytest.mark.parametrize(
    "one, other, length",
    [((1, 2, 3), (1, 2, 4), 2), ((1, 2, 3), (1, 2, 3), 3), ((0,), (1,), 0), ((), (1, 2), 0), ((5, 0, 5), (5, 1, 5), 1)],
)
def test_only_leading_codes_count_as_shared(one, other, length):
    assert formatting.shared_prefix(one, other) == length


@pytest.mark.parametrize("origin", ["https://example.org/a?b=c", "http://example.org"])
def test_an_origin_on_the_web_is_a_link(origin):
    assert formatting.provenance_view({"origin": origin}) == {"origin": origin, "link": origin}


@pytest.mark.parametrize(
    "origin",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)//https://example.org",
        "data:text/html,hello",
        "ftp://example.org",
        "//example.org",
        "https:example.org",
        "https://",
        "https://[",
        "https://example.org/\njavascript:",
        "https://example.org and more",
        " https://example.org",
        "A set of photographs",
    ],
)
def test_any_other_origin_is_text(origin):
    assert formatting.provenance_view({"origin": origin}) == {"origin": origin}


def test_provenance_is_shown_only_where_it_is_known_and_long_fields_are_cut():
    assert formatting.provenance_view({}) is None
    shown = formatting.provenance_view({"credit": "a" * 1000, "licence": "CC BY 2.0"})
    assert shown == {"credit": "a" * formatting.LONGEST_FIELD, "licence": "CC BY 2.0"}


def test_suggestions_come_once_those_that_fit_first_then_by_target():
    known = [
        (Modality.TEXT, Modality.PAIR, "b"),
        (Modality.TEXT, Modality.IMAGE, "a"),
        (Modality.IMAGE, Modality.TEXT, "c"),
        (Modality.TEXT, Modality.IMAGE, "a"),
    ]
    assert formatting.suggest_instructions(known, Modality.TEXT) == ["a", "b", "c"]
    assert formatting.suggest_instructions(known, Modality.IMAGE) == ["c", "a", "b"]
    assert formatting.suggest_instructions(known, None) == ["a", "c", "b"]
    assert formatting.suggest_instructions([], Modality.PAIR) == []


def test_the_shortest_instruction_stands_for_each_target_texts_first():
    known = [
        (Modality.IMAGE, Modality.IMAGE, "Find similar pictures."),
        (Modality.IMAGE, Modality.TEXT, "Name what this is."),
        (Modality.IMAGE, Modality.TEXT, "What is this?"),
        (Modality.TEXT, Modality.TEXT, "?"),
    ]
    shortest = formatting.shortest_instructions
    assert shortest(known, Modality.IMAGE) == ["What is this?", "Find similar pictures."]
    assert shortest(known, Modality.PAIR) == []


@pytest.mark.parametrize(
    ("text", "source", "label"),
    [
        ("A red\n mug.", '{"title": "cup"}', "A red mug."),
        ("", '{"kind": "food", "category": "apple"}', "Image: apple"),
        ("", '{"category": "shoes", "title": "shoes for children"}', "Image: shoes for children"),
        ("", '{"category": 3, "credit": "Ada"}', "Image 5:611"),
        ("", "not JSON", "Image 5:611"),
    ],
)
def test_an_item_is_called_by_its_text_or_by_what_it_shows(text, source, label):
    assert formatting.item_label(Item("5:611", Modality.IMAGE, text, source=source)) == label


def test_a_rounded_zero_has_no_sign():
    assert [formatting.number(value, 2) for value in (-0.004, 0.004, -0.006)] == ["0.00", "0.00", "−0.01"]
