import re
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from genius.app import exit_on_sigterm
from genius.errors import UserError
from genius.ui.calls import one_at_a_time
from genius.ui.runs import HostedRun, Hosting
from genius.ui.serving import serve
from tests.ui.tiny_page import hosted, page_of
from tests.waiting import WAIT, free_port, wait_until


def get(address, **options):
    return httpx.get(address, trust_env=False, timeout=60, **options)


def test_an_address_in_use_gets_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="choose another --port"):
            serve([HostedRun(Path("made-up"), page_of)], Hosting(port=taken.getsockname()[1]))


def test_a_server_that_ends_at_once_leaves_no_traceback(caplog):
    server = serve([HostedRun(Path("made-up"), page_of)], Hosting(port=0))
    with httpx.stream(
        "GET", f"{server.address}/gradio_api/heartbeat/visitor", trust_env=False, timeout=60
    ):
        server.close()
        assert server._ended.wait(WAIT)  # `close` gives up after a while
    assert "Traceback" not in caplog.text


def test_the_page_comes_compressed_and_a_browser_keeps_its_files_but_asks_for_the_page(served):
    get = served.client.get
    page = get("/")
    assert (
        page.headers["content-encoding"] == "gzip" and page.headers["cache-control"] == "no-cache"
    )
    again = get("/", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304 and not again.content
    (script,) = re.findall(r'<script type="module" src="([^"]+)"', page.text)
    file = get(f"/{script}")
    assert (
        file.headers["content-encoding"] == "gzip" and "immutable" in file.headers["cache-control"]
    )
    assert "javascript" in file.headers["content-type"]
    assert get("/static/other/../../../page.py").status_code == 404


@contextmanager
def slow_page(**hosting):
    """A page whose endpoint `slow` answers when `go` is set; `started` is set when it is called."""
    started, go = threading.Event(), threading.Event()

    @one_at_a_time("slow")
    def slow() -> str:
        started.set()
        go.wait(60)
        return "done"

    with hosted(page_of(slow), "slow", **hosting) as server:
        yield SimpleNamespace(server=server, client=server.client, started=started, go=go)
        go.set()


def call_slow(client):
    return client.post("/gradio_api/call/slow", json={"data": []}).json()["event_id"]


def test_a_server_that_shuts_down_answers_what_it_accepted_and_refuses_the_rest():
    with slow_page() as site, ThreadPoolExecutor() as threads:
        first = call_slow(site.client)
        waiting = call_slow(site.client)  # one runs at a time, so this one is in the queue
        answers = [
            threads.submit(get, f"{site.server.address}/gradio_api/call/slow/{event}")
            for event in (first, waiting)
        ]
        site.started.wait(60)
        drained = threads.submit(site.server.drain)
        wait_until(lambda: site.client.get("/healthz").json() == {"status": "draining"})
        assert site.client.get("/healthz").status_code == 503
        for path in (
            "/gradio_api/call/slow",
            "/gradio_api/queue/join",
            "/gradio_api/upload",
            "/login",
        ):
            refused = site.client.post(path, json={"data": []})
            assert refused.status_code == 503
            sentence = "The server is shutting down; try again in a minute."
            # Gradio's clients read `detail`
            assert refused.json() == {"error": sentence, "detail": sentence}
        shown = site.client.get("/", headers={"accept": "text/html"})
        assert shown.status_code == 503 and "The server is shutting down" in shown.text
        assert 'genius_calls_running{run="slow"} 1.0' in site.client.get("/metrics").text
        site.go.set()
        assert all('"done"' in answer.result().text for answer in answers)
        assert drained.result() == 0
        with pytest.raises(httpx.ConnectError):
            get(f"{site.server.address}/healthz")


def test_an_answer_that_its_client_has_yet_to_fetch_is_delivered_too():
    with slow_page() as site, ThreadPoolExecutor() as threads:
        site.go.set()
        event = call_slow(site.client)
        site.started.wait(60)
        drained = threads.submit(site.server.drain)
        wait_until(lambda: site.client.get("/healthz").json() == {"status": "draining"})
        assert '"done"' in site.client.get(f"/gradio_api/call/slow/{event}").text
        assert drained.result() == 0


def test_a_call_that_takes_too_long_does_not_keep_the_server(caplog):
    with slow_page(drain_seconds=0.1) as site:
        call_slow(site.client)
        site.started.wait(60)
        assert site.server.drain() == 1
    assert "1 call was left unanswered" in caplog.text


def test_sigterm_ends_a_server_also_if_the_system_gives_it_to_another_thread(monkeypatch):
    with slow_page() as site:

        def signalled():
            assert waits.wait(WAIT)  # a signal before would end this test
            time.sleep(0.2)
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
            if not drained.wait(20):
                late.append("the server did not notice")
                site.server.close()  # or `wait` would not return

        def wait(seconds):
            waits.set()
            return wait_for_the_end(seconds)

        drained = threading.Event()
        late = []
        waits = threading.Event()
        wait_for_the_end = site.server._ended.wait
        monkeypatch.setattr(site.server, "drain", lambda: drained.set() or 7)
        monkeypatch.setattr(site.server._ended, "wait", wait)
        with exit_on_sigterm():
            threading.Thread(target=signalled).start()
            assert site.server.wait(), "7 calls are left"
    assert not late


def press_ctrl_c(server, monkeypatch):
    """The next time that it waits."""

    def wait(seconds):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(server._ended, "wait", wait)


@pytest.mark.parametrize("name", ["prepare", "compile_0", "load_0"])
def test_after_ctrl_c_no_thread_that_computes_for_visitors_is_waited_for(name, monkeypatch):
    go = threading.Event()
    thread = threading.Thread(target=go.wait, name=name)
    thread.start()
    with slow_page() as site:
        press_ctrl_c(site.server, monkeypatch)
        assert site.server.wait(), "app.py ends a process that would wait for the thread"
        go.set()
        thread.join()
        wait_until(lambda: not site.server.wait())  # which has ended


def test_after_ctrl_c_no_call_that_is_computed_is_waited_for(monkeypatch):
    with slow_page() as site:
        call_slow(site.client)
        site.started.wait(60)
        press_ctrl_c(site.server, monkeypatch)
        assert site.server.wait()


@pytest.mark.parametrize("logins", [[], [("ada", "one")]])
def test_while_the_first_run_is_loaded_every_visitor_is_told(logins):
    go = threading.Event()

    def load():
        go.wait(60)
        return page_of()

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with ThreadPoolExecutor() as threads:
        serving = threads.submit(
            serve, [HostedRun(Path("one"), load)], Hosting(port=port, logins=logins)
        )
        while True:
            with suppress(httpx.ConnectError):
                health = get(f"{address}/healthz")
                break
        program = get(f"{address}/config")
        browser = get(f"{address}/", headers={"accept": "text/html"})
        go.set()
        server = serving.result()
    assert (health.status_code, health.json()) == (503, {"status": "loading"})
    assert program.status_code == 503 and program.json()["error"].startswith(
        "The page is being loaded"
    )
    assert browser.status_code == 503 and 'http-equiv="refresh"' in browser.text
    assert get(f"{address}/healthz").json() == {"status": "ready"}
    server.close()


def test_a_first_run_that_cannot_be_loaded_frees_the_address():
    def load():
        raise UserError("the encoder is missing")

    port = free_port()
    with pytest.raises(UserError, match="the encoder is missing"):
        serve([HostedRun(Path("one"), load)], Hosting(port=port))
    socket.create_server(("127.0.0.1", port)).close()
