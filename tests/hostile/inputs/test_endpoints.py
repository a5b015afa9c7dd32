"""Texts, numbers and shapes at the four endpoints for programs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.inputs import odd

ENDPOINTS = {  # valid arguments
    "search": ["a dog", None, "Find the picture.", 5, 20, "any"],
    "item": ["0:1"],
    "code_items": ["0.*", 5, 0],
    "neighbours": ["0:1", 5],
}
TEXTS = [("search", 0), ("search", 2), ("search", 5), ("item", 0), ("code_items", 0), ("neighbours", 0)]
NUMBERS = [("search", 3), ("search", 4), ("code_items", 1), ("code_items", 2), ("neighbours", 1)]


def call(client, endpoint, place, value):
    arguments = list(ENDPOINTS[endpoint])
    arguments[place] = value
    return client.call(endpoint, *arguments)


@pytest.mark.parametrize("text", odd.TEXTS.values(), ids=odd.TEXTS)
def test_a_text(client, judge, text):
    for endpoint, place in TEXTS:
        judge(call(client, endpoint, place, text), endpoint, place, text)


@pytest.mark.parametrize("endpoint, place", [("item", 0), ("neighbours", 0)])
def test_an_id_is_a_whole_text(client, judge, endpoint, place):
    for id in ("0:1\0", "0:1\0junk", "0:1 ", " 0:1", "0:01", "0:%", "0:1\ud800", "0:１"):
        assert not judge(call(client, endpoint, place, id), id).success


@pytest.mark.parametrize("number", odd.NUMBERS, ids=lambda number: str(number)[:20].encode("unicode_escape").decode())
def test_a_number(client, judge, number):
    for endpoint, place in NUMBERS:
        judge(call(client, endpoint, place, number), endpoint, place, number)


@pytest.mark.parametrize("shape", odd.SHAPES.values(), ids=odd.SHAPES)
def test_a_shape(client, judge, shape):
    for endpoint, arguments in ENDPOINTS.items():
        judge(client.call(endpoint, *[shape] * len(arguments)), endpoint, shape)
        judge(client.post(f"/gradio_api/call/{endpoint}", {"data": shape}), endpoint, shape)
    judge(client.post("/gradio_api/call/v2/search", shape), shape)
    judge(client.post("/gradio_api/call/v2/search", {"text": shape, "picture": shape}), shape)


@pytest.mark.parametrize("number", [0, 1, 7, 10_000])
def test_another_number_of_arguments(client, judge, number):
    for endpoint in ENDPOINTS:
        judge(client.call(endpoint, *[None] * number), endpoint, number)


@settings(max_examples=100)
@given(st.sampled_from(TEXTS), odd.texts)
def test_a_generated_text(client, judge, where, text):
    judge(call(client, *where, text), where, text)


@settings(max_examples=60)
@given(st.sampled_from(["item", "neighbours"]), odd.ids)
def test_a_generated_id(client, judge, endpoint, id):
    judge(call(client, endpoint, 0, id), endpoint, id)


@settings(max_examples=50)
@given(odd.patterns)
def test_a_generated_pattern(client, judge, pattern):
    judge(call(client, "code_items", 0, pattern), pattern)


@settings(max_examples=70)
@given(st.sampled_from(NUMBERS), odd.numbers)
def test_a_generated_number(client, judge, where, number):
    judge(call(client, *where, number), where, number)


@settings(max_examples=80)
@given(st.sampled_from([*ENDPOINTS]), st.lists(odd.values, max_size=7))
def test_generated_arguments(client, judge, endpoint, arguments):
    judge(client.call(endpoint, *arguments), endpoint, arguments)
