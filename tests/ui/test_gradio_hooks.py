"""Each hook into Gradio has one test here, which fails where a version of Gradio works in another way."""

import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest

from genius.ui import gradio_hooks
from genius.ui.common.context import ServedRun
from genius.ui.gradio_hooks import MAX_UNFETCHED, FairQueue, Sessions, listeners, queue_state
from genius.ui.page import build
from tests.ui.fake_engine import FakeEngine
from tests.ui.tiny_page import form, hosted
from tests.waiting import WAIT, wait_until

MAX_QUEUE = 6


class GatedEngine(FakeEngine):
    """Searches wait at a gate; `started` has their texts."""

    def __init__(self):
        super().__init__()
        self.gate, self.started = threading.Event(), []

    def search(self, queries, options=None):
        self.started += [query.text for query in queries]
        assert self.gate.wait(WAIT)
        return super().search(queries, options)


@pytest.fixture
def gated():
    """engine, queue, url: a page whose searches run one at a time."""
    engine = GatedEngine()
    page = build(engine, ServedRun(Path("made-up")))
    for function in page.fns.values():
        if function.concurrency_id == "search":
            function.concurrency_limit = 1
    with hosted(page, max_queue=MAX_QUEUE) as server:
        yield SimpleNamespace(engine=engine, page=page, queue=page._queue, url=server.address)
        engine.gate.set()


class Visitor:
    """A client with an address of its own."""

    def __init__(self, gated, address="127.0.0.1"):
        transport = httpx.HTTPTransport(local_address=address)
        self.client = httpx.Client(base_url=gated.url, transport=transport, timeout=WAIT)
        self.answers, self.threads = {}, []

    def post(self, text, **session):
        return self.client.post("/gradio_api/call/search", json={"data": [text, None, "", 3, 5, "any"]} | session)

    def ask(self, text):
        """Post a search and listen for its answer."""
        event = self.post(text).raise_for_status().json()["event_id"]
        self.threads.append(threading.Thread(target=self.listen, args=(text, event), daemon=True))
        self.threads[-1].start()
        wait_until(lambda: listeners[event])

    def listen(self, text, event):
        with suppress(httpx.RemoteProtocolError):  # the server ends before some answers
            self.answers[text] = self.client.get(f"/gradio_api/call/search/{event}").text

    def join(self):
        for thread in self.threads:
            thread.join(WAIT)
        return self.answers


def test_callbacks_see_a_snapshot_and_their_values_are_looked_at(ask, served, monkeypatch):
    seen, before = [], served.engine.snapshots
    monkeypatch.setattr(gradio_hooks, "is_file_obj_with_meta", lambda value: seen.append(value) and False)
    assert ask("on_search", *form("mug"))["success"]
    assert "mug" in seen and served.engine.snapshots == before + 1


@pytest.mark.parametrize(
    "forge",
    [
        lambda path: {"path": path, "meta": {"_type": "gradio.FileData"}},
        lambda path: {"path": path},
        lambda path: path,
        lambda path: {"path": f"file://{path}", "meta": {"_type": "gradio.FileData"}},
        lambda path: {"path": "http://127.0.0.1:9/x.png", "meta": {"_type": "gradio.FileData"}},
        lambda path: {"path": None, "url": "data:image/png;base64,AAAA", "meta": {"_type": "gradio.FileData"}},
    ],
)
def test_a_picture_that_was_not_uploaded_never_reaches_the_engine(ask, served, photo, forge):
    before = len(served.engine.queries)
    answer = ask("on_search", *form("mug", forge(str(photo))))
    assert not answer["success"] and len(served.engine.queries) == before
    assert "Traceback" not in str(answer)


def test_a_program_may_leave_out_arguments_that_have_defaults(served):
    with httpx.Client(base_url=f"{served.url}/gradio_api/call/search", trust_env=False, timeout=WAIT) as client:
        event = client.post("", json={"data": ["mug"]}).json()["event_id"]
        assert "event: complete" in client.get(event).text


def test_a_request_with_missing_values_gets_a_sentence_and_a_line_in_the_log(ask, caplog):
    assert ask("on_search", "mug")["output"]["error"] == "The request does not fit this page; reload it."
    (record,) = caplog.records
    assert "An event handler (on_search)" in record.getMessage() and not record.exc_info


def test_events_without_a_sign_of_progress_share_one_place_for_it(served):
    silent = [event for event in served.page.fns.values() if event.show_progress == "hidden"]
    places = {block._id for event in silent for block in event.show_progress_on}
    assert len(silent) > 20 and len(places) == 1


def test_clients_take_turns_and_a_search_that_nobody_listens_to_waits_for_all_others(gated):
    assert type(gated.queue) is FairQueue
    many, few = Visitor(gated, "127.0.0.2"), Visitor(gated, "127.0.0.3")
    many.ask("a")
    wait_until(lambda: gated.engine.started)
    many.post("abandoned")
    for text in ("b", "c"):
        many.ask(text)
    few.ask("d")
    assert queue_state(gated.page) == (4, 1)
    gated.engine.gate.set()
    answers = many.join() | few.join()
    wait_until(lambda: len(gated.engine.started) == 5)
    first, *rest, last = gated.engine.started
    assert (first, last) == ("a", "abandoned") and rest.index("d") < rest.index("c")
    assert all("event: complete" in answer for answer in answers.values())


def test_one_client_gets_half_of_the_queue_and_a_full_one_answers_with_status_503(gated):
    first, second, third = (Visitor(gated, f"127.0.0.{number}") for number in (2, 3, 4))
    first.ask("started")
    wait_until(lambda: gated.engine.started)
    for number in range(MAX_QUEUE // 2):
        first.ask(str(number))
    refused = first.post("one too many")
    assert refused.status_code == 503 and gradio_hooks.CLIENT_SHARE_FULL in refused.text
    for number in range(MAX_QUEUE // 2):
        second.ask(str(number))
    refused = third.post("one too many")
    assert refused.status_code == 503 and gradio_hooks.QUEUE_FULL in refused.text


def test_an_event_without_a_session_is_refused(served):
    call = {"fn_index": 0, "data": [], "session_hash": ""}
    answer = httpx.post(f"{served.url}/gradio_api/queue/join", json=call, trust_env=False, timeout=WAIT)
    assert answer.status_code == 400 and gradio_hooks.NO_SESSION in answer.text


def test_an_event_whose_session_is_forgotten_does_not_end_the_queue(gated):
    forgotten, visitor = Visitor(gated, "127.0.0.2"), Visitor(gated, "127.0.0.3")
    forgotten.post("runs").raise_for_status()
    wait_until(lambda: gated.engine.started)
    forgotten.post("waits").raise_for_status()
    gated.queue.pending_messages_per_session.clear()
    visitor.ask("mug")
    gated.engine.gate.set()
    assert "event: complete" in visitor.join()["mug"]
    wait_until(lambda: len(gated.engine.started) == 3)
    assert httpx.get(f"{gated.url}/healthz", trust_env=False, timeout=WAIT).json() == {"status": "ready"}
    gated.queue.stopped = True
    assert httpx.get(f"{gated.url}/healthz", trust_env=False, timeout=WAIT).json() == {"status": "stopped"}


def test_answers_that_nobody_fetches_are_forgotten_and_keep_no_statistics(gated, monkeypatch):
    monkeypatch.setattr(gradio_hooks, "MAX_UNFETCHED", 2)
    gated.engine.gate.set()
    for number in range(5):
        Visitor(gated).post(str(number)).raise_for_status()
        wait_until(lambda: not gated.queue.event_ids_to_events)
    assert gradio_hooks.has_undelivered(gated.page) and len(gated.queue.pending_event_ids_session) == 3 < MAX_UNFETCHED
    assert len(gated.queue.event_analytics) == 1


@contextmanager
def counting():
    """A page that counts the clicks of each visitor: url, page, its state, count(visitor), and call(visitor), an
    event without a state."""
    with gr.Blocks(analytics_enabled=False) as page:
        state, shown = gr.State(0), gr.Number()
        gr.Button().click(lambda before: (before + 1, before + 1), state, [state, shown], queue=False)
        gr.Button().click(lambda: 7, None, shown, queue=False)
    with hosted(page) as server, httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:

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


def test_sessions_keep_the_states_of_each_visitor_and_describe_no_components(monkeypatch):
    monkeypatch.setattr(gradio_hooks, "MAX_SESSIONS", 3)
    with counting() as served:
        assert type(served.page.state_holder) is Sessions
        assert [served.count(visitor) for visitor in ("ada", "ada", "bob", "ada", "eve")] == [1, 2, 1, 3, 1]
        for session in served.page.state_holder.session_data.values():
            assert {*session.config_values} <= {served.state._id}
        assert [served.call(f"program {number}") for number in range(5)] == [[7]] * 5
        assert [served.count(visitor) for visitor in ("bob", "eve", "ada")] == [2, 2, 4], "programs push nobody out"
        visitors = ("dan", "fay", "ada", "bob")
        assert [served.count(visitor) for visitor in visitors] == [1, 1, 5, 1], "who left longest ago goes"
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
