"""The callbacks of a page in this process: several odd calls of one visitor, whose state each of them finds."""

import asyncio
import logging

import gradio as gr
import pytest
from gradio.state_holder import SessionState
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.inputs import odd
from tests.hostile.inputs.served import Answer, make_run

SEARCH = ["a dog", None, None, None, "", [], 20, 5, True, "set", "any", "cosine", 0.25, None]
VALID = {  # what the browser sends, by the type of an input
    "textbox": st.sampled_from(["a dog", "0.*", "0:1", ""]),
    "dropdown": st.sampled_from([0, 1, "modality", "code", "Find the picture.", None]),
    "slider": st.integers(1, 50),
    "checkbox": st.booleans(),
    "radio": st.sampled_from(["any", "image", "exact", "set", "fast", "features", None]),
    "file": st.none(),
    "image": st.none(),
}
EVENTS = [
    *({"index": at} for at in range(-1, 3)),
    *({"id": f"0:{at}", "column": 0, "value": at, "group": at, "page": at} for at in (-1, 0, 1, 2, 39, 40)),
    *({"value": "0.1", "codes": [0, 1], "key": "0.1"}, {"modality": "text", "page": 0}, {"instruction": "Find it."}),
    {"points": [{"value": 1}, {"value": 2}, {"value": "x"}], "total": 5},
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from genius.search.engine import Engine
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build

    run = make_run(tmp_path_factory.mktemp("page") / "run")
    return build(Engine.load(run, "cpu"), ServedRun.read(run, editable=True))


class Visitor:
    """One session of the page."""

    def __init__(self, page, caplog):
        self.page, self.state, self.caplog = page, SessionState(page), caplog

    def send(self, function, inputs, event=None):
        self.caplog.clear()
        try:
            asyncio.run(self.called(function, inputs, event))
        except gr.Error as error:
            return Answer(500, False, error.message, self.log() + "Traceback" * error.print_exception, to_program=False)
        except Exception as error:
            return Answer(500, False, None, f"Traceback … {error!r}")
        return Answer(200, True, None, self.log())

    async def called(self, function, inputs, event):
        await self.page.process_api(
            block_fn=function, inputs=inputs, state=self.state, event_data=gr.EventData(None, event)
        )

    def log(self):
        formatter = logging.Formatter()
        return "".join(f"{formatter.format(record)}\n" for record in self.caplog.records)


def odd_calls(page):
    functions = [function for function in page.fns.values() if callable(function.fn)]

    @st.composite
    def call(draw):
        function = draw(st.sampled_from(functions))
        kinds = [block.get_block_name() for block in function.inputs]
        valid = draw(st.booleans())  # a valid form with odd event data, or the reverse, or both odd
        inputs = [draw(VALID.get(kind, odd.values) if valid else odd.values) for kind in kinds]
        return function, inputs, draw(st.one_of(st.sampled_from(EVENTS), odd.events))

    return st.lists(call(), min_size=1, max_size=4)


@settings(max_examples=40)
@given(st.data())
def test_generated_calls_of_one_visitor(page, caplog, judge, data):
    visitor = Visitor(page, caplog)
    if data.draw(st.booleans()):
        search = next(function for function in page.fns.values() if function.name == "on_search")
        assert judge(visitor.send(search, list(SEARCH))).success
    for function, inputs, event in data.draw(odd_calls(page)):
        judge(visitor.send(function, inputs, event), function.name, inputs, event)
