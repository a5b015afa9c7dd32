"""Whose event starts next, which are dropped and which are refused; the engine is made up and waits at a gate."""

import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from genius.ui import event_queue, security
from tests.ui.fake_engine import FakeEngine
from tests.waiting import WAIT, wait_until

MAX_QUEUE = 6


class GatedEngine(FakeEngine):
    """Searches wait at a gate; `started` has their texts."""

    def __init__(self):
        super().__init__()
        self.gate, self.started = threading.Event(), []

    def search(self, queries, options=None, caller=None):
        self.started += [query.text for query in queries]
        assert self.gate.wait(WAIT)
        return super().search(queries, options)


@pytest.fixture
def served():
    """engine, url: a page whose searches run one at a time."""
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    engine = GatedEngine()
    page = build(engine, ServedRun(Path("made-up")))
    for function in page.fns.values():
        if function.concurrency_id == "search":
            function.concurrency_limit = 1
    server = serve([HostedRun(Path("made-up"), lambda: page)], Hosting(port=0, max_queue=MAX_QUEUE))
    yield SimpleNamespace(engine=engine, page=page, url=server.address)
    engine.gate.set()
    server.close()


class Visitor:
    """A client with an address of its own."""

    def __init__(self, served, address="127.0.0.1"):
        transport = httpx.HTTPTransport(local_address=address)
        self.client = httpx.Client(base_url=served.url, transport=transport, timeout=WAIT)
        self.answers, self.threads = {}, []

    def post(self, text, **session):
        return self.client.post("/gradio_api/call/search", json={"data": [text, None, "", 3, 5, "any"]} | session)

    def ask(self, text):
        """Post a search and listen for its answer."""
        event = self.post(text).raise_for_status().json()["event_id"]
        self.threads.append(threading.Thread(target=self.listen, args=(text, event), daemon=True))
        self.threads[-1].start()
        wait_until(lambda: security.listeners.has(event))

    def listen(self, text, event):
        with suppress(httpx.RemoteProtocolError):  # the server ends before some answers
            self.answers[text] = self.client.get(f"/gradio_api/call/search/{event}").text

    def join(self):
        for thread in self.threads:
            thread.join(WAIT)
        return self.answers


def test_clients_take_turns(served):
    many, few = Visitor(served, "127.0.0.2"), Visitor(served, "127.0.0.3")
    many.ask("a")
    wait_until(lambda: served.engine.started)
    for text in ("b", "c"):
        many.ask(text)
    few.ask("d")  # after b, which waits longer
    served.engine.gate.set()
    answers = many.join() | few.join()
    assert served.engine.started == ["a", "b", "d", "c"]
    assert all("event: complete" in answer for answer in answers.values())


def test_a_full_queue_answers_one_sentence_with_status_503(served):
    first, second, third = (Visitor(served, f"127.0.0.{number}") for number in (2, 3, 4))
    first.ask("started")
    wait_until(lambda: served.engine.started)
    for visitor in (first, second):
        for number in range(MAX_QUEUE // 2):
            visitor.ask(f"{number} {uuid.uuid4().hex}")
    for visitor in (first, second, third):
        refused = visitor.post("one too many")
        assert refused.status_code == 503 and event_queue.QUEUE_FULL in refused.text


def test_one_client_gets_at_most_half_of_the_queue(served):
    first, second = Visitor(served, "127.0.0.2"), Visitor(served, "127.0.0.3")
    first.ask("started")
    wait_until(lambda: served.engine.started)
    for number in range(MAX_QUEUE // 2):
        first.ask(str(number))
    refused = first.post("one too many")
    assert refused.status_code == 503 and event_queue.CLIENT_SHARE_FULL in refused.text
    assert second.post("welcome").status_code == 200


def test_searches_of_clients_that_never_listen_make_room_and_wait_for_all_others(served, monkeypatch):
    monkeypatch.setattr(security, "PATIENCE", 0.1)
    gone, events = [Visitor(served, f"127.0.0.{number}") for number in (2, 3, 4)], []
    for number in range(MAX_QUEUE + 1):
        events.append(gone[number % 3].post(f"abandoned {number}").json()["event_id"])
        wait_until(lambda: served.engine.started)
    time.sleep(0.2)
    visitor = Visitor(served)
    visitor.ask("mug")  # although the queue is full
    visitor.listen("dropped", events[1])
    assert event_queue.CLIENT_LEFT in visitor.answers["dropped"]
    served.engine.gate.set()
    assert "event: complete" in visitor.join()["mug"]
    assert served.engine.started[:2] == ["abandoned 0", "mug"]


def test_searches_of_clients_that_never_listen_are_dropped_after_a_while(served, monkeypatch):
    visitor = Visitor(served)
    visitor.ask("mug")
    wait_until(lambda: served.engine.started)
    monkeypatch.setattr(security, "GRACE", 0.1)
    event = visitor.post("abandoned").json()["event_id"]
    time.sleep(0.2)
    visitor.post("another")  # the queue is looked through when an event comes or may start
    visitor.listen("dropped", event)
    assert event_queue.CLIENT_LEFT in visitor.answers["dropped"] and served.engine.started == ["mug"]


@pytest.mark.parametrize("fetched", [True, False])
def test_sessions_of_answered_events_are_forgotten(served, monkeypatch, fetched):
    monkeypatch.setattr(event_queue, "MAX_SESSIONS", 2)
    served.engine.gate.set()
    visitor, queue = Visitor(served), served.page._queue
    for number in range(5):
        event = visitor.post(str(number)).raise_for_status().json()["event_id"]
        if fetched:
            visitor.listen(str(number), event)
        wait_until(lambda: not queue.event_ids_to_events and not security.listeners.streams)
    assert len(queue.pending_event_ids_session) == len(queue.pending_messages_per_session) == 3


def test_no_session_is_forgotten_whose_event_waits_or_runs(served, monkeypatch):
    monkeypatch.setattr(event_queue, "MAX_SESSIONS", 1)
    visitors = [Visitor(served, f"127.0.0.{number}") for number in (2, 3, 4)]
    events = [visitor.post(str(number)).json()["event_id"] for number, visitor in enumerate(visitors)]
    served.engine.gate.set()
    for visitor, event in zip(visitors, events, strict=True):
        visitor.listen("answer", event)
        assert "event: complete" in visitor.answers["answer"]


def test_the_session_that_sent_nothing_for_longest_is_forgotten_first(served, monkeypatch):
    monkeypatch.setattr(event_queue, "MAX_SESSIONS", 2)
    served.engine.gate.set()
    visitor, queue = Visitor(served), served.page._queue
    for session in ("tab", "left", "tab", "third", "fourth"):
        visitor.post(session, session_hash=session).raise_for_status()
        wait_until(lambda: not queue.event_ids_to_events)
    assert [*queue.pending_event_ids_session] == [*queue.pending_messages_per_session] == ["tab", "third", "fourth"]


def test_an_event_whose_session_is_forgotten_does_not_end_the_queue(served):
    forgotten, visitor = Visitor(served, "127.0.0.2"), Visitor(served, "127.0.0.3")
    for text in ("runs", "waits"):
        forgotten.post(text).raise_for_status()
        wait_until(lambda: served.engine.started)
    served.page._queue.pending_messages_per_session.clear()
    visitor.ask("mug")
    served.engine.gate.set()
    assert "event: complete" in visitor.join()["mug"]
    wait_until(lambda: len(served.engine.started) == 3)
    assert httpx.get(f"{served.url}/healthz", trust_env=False, timeout=WAIT).json() == {"status": "ready"}


def test_a_server_whose_queue_ended_is_not_ready(served):
    served.page._queue.stopped = True
    answer = httpx.get(f"{served.url}/healthz", trust_env=False, timeout=WAIT)
    assert (answer.status_code, answer.json()) == (503, {"status": "stopped"})


def test_an_answer_that_nobody_came_for_in_time_is_not_waited_for(served, monkeypatch):
    visitor, queue = Visitor(served), served.page._queue
    served.engine.gate.set()
    visitor.post("mug").raise_for_status()
    wait_until(lambda: not queue.event_ids_to_events)
    assert queue.has_undelivered()
    monkeypatch.setattr(security, "GRACE", 0)
    assert not queue.has_undelivered()


def test_an_answer_whose_tab_is_closed_is_not_waited_for(served):
    visitor, queue = Visitor(served), served.page._queue
    visitor.post("mug", session_hash="tab").raise_for_status()
    wait_until(lambda: served.engine.started)
    with visitor.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": "tab"}) as stream:
        assert next(stream.iter_lines()) and queue.has_undelivered()
    wait_until(lambda: not any(event.alive for job in queue.active_jobs if job for event in job))
    wait_until(lambda: not security.listeners.has("tab"))
    served.engine.gate.set()
    wait_until(lambda: not queue.event_ids_to_events)
    assert not queue.has_undelivered()


def test_a_program_cannot_skip_the_queue(served):
    for path in ("api", "run"):
        answer = Visitor(served).client.post(f"/gradio_api/{path}/search", json={"data": ["mug"]})
        assert answer.status_code == 404 and not served.engine.started


@pytest.mark.parametrize("size", ["0", "-1"])
def test_a_queue_without_a_place_is_refused(size, capsys):
    from genius.app import main

    with pytest.raises(SystemExit):
        main(["--max-queue", size])
    assert "--max-queue must be at least 1" in capsys.readouterr().err


def test_an_event_without_a_session_is_refused(served):
    call = {"fn_index": 0, "data": [], "session_hash": ""}
    answer = httpx.post(f"{served.url}/gradio_api/queue/join", json=call, trust_env=False, timeout=WAIT)
    assert answer.status_code == 400 and event_queue.NO_SESSION in answer.text


def test_a_client_with_many_addresses_of_one_network_takes_the_turns_of_one():
    requests = [SimpleNamespace(client=SimpleNamespace(host=f"2001:db8::{number}")) for number in (1, 2)]
    first, second = (event_queue.client_name(request, "session", "event") for request in requests)
    assert first == second == ("2001:db8::/64", "session")
