"""Guessing passwords, and opening a page without one."""

from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import gradio as gr
import httpx
import pytest

from genius.ui.runs import HostedRun
from genius.ui.security import MAX_FAILED_LOGINS
from genius.ui.serving import Hosting, serve


@contextmanager
def guarded():
    with gr.Blocks(analytics_enabled=False) as page:
        gr.api(lambda: "the secret", api_name="secret")
    server = serve([HostedRun(Path("made-up"), lambda: page)], Hosting(port=0, logins=[("ada", "one")]))
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:
        yield client
    server.close()


@pytest.mark.sample
def test_a_client_that_guesses_passwords_is_stopped(counts):
    with guarded() as client:
        statuses = Counter()
        for attempt in range(200):
            given = {"username": "ada", "password": f"guess {attempt}"}
            statuses[client.post("/login", data=given, headers={"x-real-ip": f"10.0.0.{attempt}"}).status_code] += 1
        assert statuses == {400: MAX_FAILED_LOGINS, 429: 200 - MAX_FAILED_LOGINS}
        assert client.post("/login", data={"username": "ada", "password": "one"}).status_code == 429
    counts("security", "blocked", 200)
