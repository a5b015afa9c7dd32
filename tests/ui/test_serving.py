import socket
from pathlib import Path

import gradio as gr
import httpx
import pytest

from genius.errors import UserError
from genius.ui.common.components import UI
from genius.ui.runs import HostedRun
from genius.ui.serving import Hosting, head, serve


@pytest.fixture(scope="module")
def guarded():
    """A page that asks for a login, at an address behind a proxy."""
    with gr.Blocks(analytics_enabled=False) as page:
        gr.api(lambda: "secret", api_name="secret")
    server = serve(
        [HostedRun(Path("made-up"), lambda: page)], Hosting(port=0, root_path="/genius", logins=[("ada", "one")])
    )
    yield server.address
    server.close()


def get(address, **options):
    return httpx.get(address, trust_env=False, timeout=60, **options)


def test_the_health_address_answers_in_json(served):
    answer = get(f"{served.url}/healthz")
    assert answer.status_code == 200 and answer.json() == {"status": "ok"}


def test_health_needs_no_login_and_everything_else_does(guarded):
    local = f"http://127.0.0.1:{httpx.URL(guarded).port}"
    assert get(f"{local}/healthz").json() == {"status": "ok"}
    assert get(f"{local}/gradio_api/info").status_code == 401
    assert "components" not in get(f"{local}/config").text
    with httpx.Client(base_url=local, trust_env=False, timeout=60) as visitor:
        assert visitor.post("/login", data={"username": "ada", "password": "two"}).status_code == 400
        assert visitor.post("/login", data={"username": "ada", "password": "one"}).status_code == 200
        assert visitor.get("/config").json()["root"].endswith("/genius")


def test_an_address_in_use_gets_one_sentence():
    with gr.Blocks(analytics_enabled=False) as page, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UserError, match="choose another --port"):
            serve([HostedRun(Path("made-up"), lambda: page)], Hosting(port=taken.getsockname()[1]))


def test_every_style_is_part_of_the_head_the_common_one_first():
    styles = [file.read_text() for file in (UI / "common/style.css", *sorted(UI.glob("*/*.css")))]
    written = head()
    assert all(style in written for style in styles) and written.startswith(f"<style>{styles[0]}</style>")
