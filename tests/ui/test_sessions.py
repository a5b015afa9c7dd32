import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import httpx

from genius.ui import serving
from genius.ui.runs import HostedRun
from genius.ui.serving import Hosting, serve
from tests.waiting import wait_until


@contextmanager
def counting() -> Iterator[SimpleNamespace]:
    """A page that counts the clicks of each visitor: url, page, its state, count(visitor), and call(visitor), an
    event without a state."""
    with gr.Blocks(analytics_enabled=False) as page:
        state, shown = gr.State(0), gr.Number()
        gr.Button().click(lambda before: (before + 1, before + 1), state, [state, shown], queue=False)
        gr.Button().click(lambda: 7, None, shown, queue=False)
    server = serve([HostedRun(Path("made-up"), lambda: page)], Hosting(port=0))
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:

        def ask(event, visitor, *data):
            asked = {"data": data, "session_hash": visitor, "fn_index": event}
            return client.post("/gradio_api/run/predict", json=asked).json()["data"]

        yield SimpleNamespace(
            url=server.address,
            page=page,
            state=state,
            count=lambda visitor: ask(0, visitor, None)[1],
            call=lambda visitor: ask(1, visitor),
        )
    server.close()


def test_sessions_keep_the_states_of_each_visitor_and_describe_no_components():
    with counting() as served:
        assert [served.count(visitor) for visitor in ("ada", "ada", "bob", "ada")] == [1, 2, 1, 3]
        for session in served.page.state_holder.session_data.values():
            assert {*session.config_values} <= {served.state._id}


def test_calls_of_programs_do_not_push_out_the_sessions_of_visitors(monkeypatch):
    monkeypatch.setattr(serving, "MAX_SESSIONS", 3)
    with counting() as served:
        for visitor in ("ada", "bob", "eve"):
            served.count(visitor)
        assert [served.call(f"program {number}") for number in range(5)] == [[7]] * 5
        assert [served.count(visitor) for visitor in ("ada", "bob", "eve")] == [2, 2, 2]
        assert len(served.page.state_holder.session_data) <= 4


def test_of_too_many_visitors_the_one_who_left_the_page_alone_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(serving, "MAX_SESSIONS", 3)
    with counting() as served:
        for visitor in ("ada", "bob", "eve", "ada", "dan", "fay", "ada"):
            served.count(visitor)
        assert served.count("ada") == 4 and served.count("bob") == 1
        assert len(served.page.state_holder.session_data) <= 4


def test_the_states_of_a_page_that_was_closed_are_deleted_later(monkeypatch):
    with counting() as served, httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        served.count("ada")
        session = served.page.state_holder.session_data["ada"]
        assert session.STATE_TTL_WHEN_CLOSED == 3600  # seconds; the page says an hour
        monkeypatch.setattr(session, "STATE_TTL_WHEN_CLOSED", 0.1)
        with client.stream("GET", "/gradio_api/heartbeat/ada") as stream:  # open while the page is
            beats = stream.iter_lines()  # ends the stream when it is dropped
            next(beats)
            time.sleep(1.5)
            assert session.state_data
        wait_until(lambda: not session.state_data)
