"""The page's own events, which are private: every one of them, through the queue and past it."""

from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.inputs import odd

EVENTS = [None, {}, [], 5, "x", {name: [] for name in odd.FIELDS}, dict.fromkeys(odd.FIELDS, -1)]
EVENTS += [dict.fromkeys(odd.FIELDS, "\x00"), dict.fromkeys(odd.FIELDS, 10**30), {"points": [None, 5, {}]}]
EVENTS += [{"codes": [0, "x", None]}, {"codes": [True]}, {"id": {"a": 1}, "modality": [], "page": 2.0, "value": {}}]


def new_events(client, editor):
    """(client, number, name) of all events; the page that visitors may edit has those of the other one and more."""
    known = set(client.functions.values())
    yield from ((client, number, name) for number, name in client.functions.items())
    yield from ((editor, number, name) for number, name in editor.functions.items() if name not in known)


@pytest.mark.parametrize("start", range(4))
def test_shapes_at_every_event(client, editor, judge, start):
    shapes, events = cycle(odd.SHAPES.items()), cycle(EVENTS)
    for _ in range(5 * start):
        next(shapes)
    for sender, number, name in new_events(client, editor):
        shape, value = next(shapes)
        judge(sender.join(number, [value] * len(sender.inputs[number]), next(events)), name, shape)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event)[:40])
def test_event_data_at_every_event_that_reads_it(client, editor, judge, event):
    for sender, number, name in new_events(client, editor):
        if not sender.inputs[number] or name == "on_page":
            judge(sender.join(number, [None] * len(sender.inputs[number]), event), name, event)


@pytest.mark.parametrize("number", [40])
def test_another_number_of_inputs_at_every_event(client, judge, number):
    for function, name in client.functions.items():
        judge(client.join(function, [None] * number), name)


def test_every_event_past_the_queue(client, judge):
    for number, name in client.functions.items():
        data = [None] * len(client.inputs[number])
        judge(client.post("/gradio_api/run/predict", {"fn_index": number, "data": data}), name)


@pytest.mark.parametrize("file", odd.FILES, ids=odd.FILES)
def test_a_forged_file_among_the_pictures_to_add(editor, judge, file):
    (number,) = (number for number, name in editor.functions.items() if name == "on_add")
    assert not judge(editor.join(number, [odd.FILES[file], "dog"]), file).success


@pytest.mark.parametrize("text", odd.TEXTS, ids=odd.TEXTS)
def test_a_text_to_add_or_ids_to_remove(editor, judge, text):
    for number, name in editor.functions.items():
        if name == "on_ids":
            judge(editor.join(number, [odd.TEXTS[text], odd.TEXTS[text], None]), text)
        elif name == "on_take_out":
            judge(editor.join(number, [], {"id": odd.TEXTS[text]}), text)
        elif name == "on_add" and len(odd.TEXTS[text]) < 10**5:
            judge(editor.join(number, [None, odd.TEXTS[text]]), text)


def test_an_id_with_junk_removes_nothing(editor, judge):
    remove = {name: number for number, name in editor.functions.items() if name in ("on_ids", "on_take_out")}
    for id in ("0:8\0", "0:8\0junk", "0:8\ud800"):
        judge(editor.join(remove["on_ids"], [id, id, None]), id)
        judge(editor.join(remove["on_take_out"], [], {"id": id}), id)
    judge(editor.join(remove["on_take_out"], [], {"id": "0:8 "}), "with a space")
    assert judge(editor.call("item", "0:8")).success  # "0:1 " in the list of ids is one of the texts above


@settings(max_examples=100)
@given(st.data())
def test_generated_inputs(client, judge, data):
    number = data.draw(st.sampled_from([*client.functions]))
    values = [data.draw(OF_TYPE.get(kind, odd.values)) for kind in client.inputs[number]]
    event = data.draw(odd.events)
    judge(client.join(number, values, event), client.functions[number], values, event)


OF_TYPE = {
    "textbox": st.one_of(odd.texts, odd.patterns, odd.values),
    "slider": st.one_of(odd.numbers, st.integers(1, 60)),
    "image": odd.files,
    "file": odd.files,
    "checkbox": st.one_of(st.booleans(), odd.values),
}


@settings(max_examples=60)
@given(st.data())
def test_generated_event_data(client, judge, data):
    number = data.draw(st.sampled_from([number for number, types in client.inputs.items() if not types]))
    event = data.draw(odd.events)
    if number in client.functions:
        judge(client.join(number, [], event), client.functions[number], event)
