"""Clients that upload slowly, or ask and leave, next to clients that search: the others get right answers in time."""

import socket
import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np

from genius.search.checks import MAX_BEAMS
from genius.search.engine import Engine
from tests.hostile.load.clients import SEARCHES, Client, Load, Swapper, make_queries, make_run, served
from tests.hostile.load.test_swaps import judged
from tests.ui.tiny_page import serving

CLIENTS = 4  # that search and wait for their answers
UPLOADS, ABANDONED = 60, 100
SLOWER = 5  # times that the median may grow; a busy machine measures badly, and the report has the true factor
EMPTY = {"data": ["abandoned", None, "", 100, MAX_BEAMS, "any"]}


@contextmanager
def slow_uploads(url: str, number: int, address: str = "127.0.2.1"):
    """Connections that announce an upload of 1 MB and send a byte of it each half second."""
    parts = httpx.URL(url)
    head = (
        f"POST /gradio_api/upload HTTP/1.1\r\nHost: {parts.host}:{parts.port}\r\nContent-Length: 1000000\r\n"
        'Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\nContent-Disposition: form-data; name="files"; '
        'filename="slow.png"\r\n\r\n'
    )
    connections, stop = [], threading.Event()
    for _ in range(number):
        connections.append(socket.create_connection((parts.host, parts.port), 60, (address, 0)))
        connections[-1].sendall(head.encode())

    def trickle() -> None:
        while not stop.wait(0.5):
            for connection in connections:
                connection.sendall(b"x")

    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for connection in connections:
            connection.close()


def abandon(url: str, number: int, address: str = "127.0.2.2") -> int:
    """Post the most expensive searches; half of the clients never come for the answer, half leave while they wait.

    Returns how many the server accepted.
    """
    transport, accepted = httpx.HTTPTransport(local_address=address), 0
    with httpx.Client(base_url=url, transport=transport, timeout=60) as client:
        for turn in range(number):
            posted = client.post("/gradio_api/call/search", json=EMPTY)
            assert posted.status_code in (200, 503), posted.text
            accepted += posted.status_code == 200
            if posted.status_code == 200 and turn % 2:
                with client.stream("GET", f"/gradio_api/call/search/{posted.json()['event_id']}"):
                    pass  # the connection is closed here
    return accepted


def test_slow_uploads_and_abandoned_searches_delay_nobody_else(tmp_path, counts, measured):
    run = make_run(tmp_path)
    engine = Engine.load(run, "cpu")
    queries = make_queries(engine, tmp_path)
    swapper = Swapper(run, engine, [query for query, _ in queries])
    medians, searches, accepted = [], max(SEARCHES // 20, 40), 0
    with served(run) as server:
        for hostile in (False, False, True):  # the first round warms up
            load = Load(server.url, queries, CLIENTS, searches)
            load.start()
            if hostile:
                with slow_uploads(server.url, UPLOADS):
                    accepted = abandon(server.url, ABANDONED)
                    while load.running():
                        time.sleep(0.02)
            while load.running():
                time.sleep(0.02)
            medians.append(float(np.median(load.milliseconds())))
            assert not load.errors, load.errors[:3]
            assert not judged(load, swapper, {}, counts)
    counts("load", "answered", accepted)
    counts("load", "refused in a sentence", ABANDONED - accepted)
    counts("load", "unchanged", UPLOADS)
    factor = medians[2] / medians[1]
    measured("load", "median of 4 clients, ms", round(medians[1], 1))
    measured("load", "median next to 60 slow uploads and 100 abandoned searches, ms", round(medians[2], 1))
    measured("load", "factor", round(factor, 2))
    assert factor < SLOWER, medians


def test_a_search_next_to_abandoned_ones_is_right(tmp_path, counts):
    with serving(tmp_path / "run") as served_here:
        engine = Engine.load(served_here.run, "cpu")
        (query, file), *_ = make_queries(engine, tmp_path)
        accepted = abandon(served_here.url, 20)
        found = Client(served_here.url).search(query, file)
        assert len(found) == 5
    counts("load", "answered", accepted + 1)
    counts("load", "refused in a sentence", 20 - accepted)
