"""SIGTERM while clients search: what was accepted is answered, what comes later is refused, and the server ends."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.search.tiny import WORDS, publish_tiny_run
from tests.ui.started import events, search, started, terminate

CLIENTS = 16
TEXTS = [f"A {word} thing." for word in WORDS]


@pytest.mark.timeout(600)
def test_a_server_that_is_terminated_under_load_answers_every_search_that_it_accepted(tmp_path, counts):
    run = publish_tiny_run(tmp_path / "run").path
    accepted, refused, answered, wrong = [], [], [], []

    def ask(number: int, address: httpx.URL) -> None:
        """Search until the server refuses or has ended."""
        with httpx.Client(base_url=address, trust_env=False, timeout=120) as client:
            while True:
                text = TEXTS[(number + len(answered)) % len(TEXTS)]
                try:
                    answer = client.post("/gradio_api/call/search", json={"data": [text, None, "", 5, 3, "any"]})
                except httpx.TransportError:
                    return  # it has ended, or closed this idle connection
                if answer.status_code == 503:
                    refused.append(answer.json()["error"])
                    return
                event = answer.json()["event_id"]
                accepted.append(event)
                shown = client.get(f"/gradio_api/call/search/{event}").text
                if "event: complete" in shown and ids(shown) == expected[text]:
                    answered.append(event)
                else:
                    wrong.append(shown)

    with started(run) as server, ThreadPoolExecutor(CLIENTS) as threads:
        expected = {text: [hit["id"] for hit in search(server.client, text)["hits"]] for text in TEXTS}
        clients = [threads.submit(ask, number, server.client.base_url) for number in range(CLIENTS)]
        while len(answered) < 3 * CLIENTS:
            time.sleep(0.05)
        status, stderr = terminate(server)
        for client in clients:
            client.result()
    assert status == 0 and "Traceback" not in stderr
    assert not wrong, wrong[:3]
    assert set(accepted) == set(answered)
    assert set(refused) <= {"The server is shutting down; try again in a minute."}
    assert [event for event in events(server.log) if event != "search"] == ["loading", "serving", "draining"]
    counts("load", "answered", len(answered))
    counts("load", "refused in a sentence", len(refused))


def ids(shown: str) -> list[str]:
    """The ids of the hits in an answer of the API."""
    return [hit["id"] for hit in json.loads(shown.strip().split("data: ")[-1])[0]["hits"]]
