"""What the server refuses before Gradio sees it, over HTTP."""

import asyncio
import json
import time
from contextlib import contextmanager
from pathlib import Path

import gradio as gr
import httpx
import pytest

from genius.ui import security
from genius.ui.runs import HostedRun
from genius.ui.security import Guard, Listeners, Policy
from genius.ui.serving import Hosting, serve


def echo(text: str) -> str:
    return text


@contextmanager
def serving(**hosting):
    with gr.Blocks(analytics_enabled=False) as page:
        gr.api(echo, api_name="echo")
    server = serve([HostedRun(Path("echo"), lambda: page)], Hosting(port=0, **hosting))
    with httpx.Client(base_url=server.address, trust_env=False, timeout=60) as client:
        yield client
    server.close()


@pytest.fixture(scope="module")
def public():
    with serving() as client:
        yield client


@pytest.fixture(scope="module")
def editable():
    with serving(policy=Policy(True, ("genius.example.org",))) as client:
        yield client


def call(client, **headers):
    return client.post("/gradio_api/call/echo", json={"data": ["hello"]}, headers=headers)


def error(answer):
    return answer.status_code, answer.json()["error"]


def upload(client, content):
    return client.post("/gradio_api/upload", files={"files": ("photo.png", content)})


def test_a_large_request_is_refused_with_a_sentence(public):
    answer = public.post("/gradio_api/call/echo", json={"data": ["x" * security.MAX_JSON]})
    assert error(answer) == (413, "The request is too large; the limit is 4 MB.")
    assert error(upload(public, b"x" * security.MAX_UPLOAD)) == (413, "The request is too large; the limit is 12 MB.")


def test_a_large_request_of_unknown_length_is_refused_too(public):
    parts = (b"x" * 2**20 for _ in range(100))  # without a content-length
    answer = public.post("/gradio_api/call/echo", content=parts, headers={"content-type": "application/json"})
    assert error(answer) == (413, "The request is too large; the limit is 4 MB.")


def test_a_client_uploads_no_more_than_its_share(monkeypatch):
    monkeypatch.setattr(security, "CLIENT_UPLOADS", 100)
    with serving() as client:
        assert upload(client, b"x" * 100).status_code == 200
        assert error(upload(client, b"x")) == (429, "Too many uploads; try again in 10 minutes.")


def test_a_budget_comes_back_after_its_window(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(security.time, "monotonic", lambda: now[0])
    budget = security.Budget(10, window=60)
    budget.spend("ada", 9)
    assert not budget.exhausted("ada")
    budget.spend("ada", 1)
    assert budget.exhausted("ada") and not budget.exhausted("grace")
    now[0] = 61
    assert not budget.exhausted("ada") and not budget.spent


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_another_site_may_neither_call_the_page_nor_read_it(public, origin):
    assert error(call(public, origin=origin))[0] == 403
    for host in (None, "genius.example.org"):  # Gradio is strict on localhost alone
        headers = {"origin": origin} | ({"host": host} if host else {})
        answer = public.get("/config", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_page_itself_may_call_also_behind_a_proxy(public):
    own = str(public.base_url).rstrip("/")
    assert call(public, origin=own).status_code == 200
    assert call(public).status_code == 200  # programs send no origin
    public_name = {"origin": "https://genius.example.org"}
    assert call(public, host="genius.example.org", **public_name).status_code == 200
    assert call(public, **{"x-forwarded-host": "genius.example.org"}, **public_name).status_code == 200


def test_a_site_that_may_embed_the_page_calls_it_with_the_login():
    with serving(policy=Policy(origins=("https://example.org",))) as client:
        answer = call(client, origin="https://example.org")
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert call(client, origin="https://evil.example").status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7860", ""])
def test_an_editable_page_answers_no_name_that_it_does_not_know(editable, host):
    assert editable.get("/config", headers={"host": host}).status_code == 421
    assert "--allowed-host" in error(call(editable, host=host, origin=f"http://{host}"))[1]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:7860", "[::1]:7860", "192.168.1.5", "genius.example.org"])
def test_an_editable_page_answers_its_own_names_and_addresses(editable, host):
    assert editable.get("/config", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("broken", ["[", "host:port", "[::1", "http://["])
def test_an_invalid_host_or_origin_is_refused_like_a_foreign_one(public, editable, broken):
    assert call(public, origin=broken).status_code == 403
    assert call(editable, host=broken).status_code in (400, 421)


def test_a_page_that_nobody_can_edit_answers_any_name(public):
    assert public.get("/config", headers={"host": "anything.example"}).status_code == 200


def test_a_client_cannot_guess_passwords_without_end():
    with serving(logins=[("ada", "one")]) as client:
        answers = [
            client.post("/login", data={"username": "ada", "password": str(attempt)})
            for attempt in range(security.MAX_FAILED_LOGINS + 1)
        ]
        assert [answer.status_code for answer in answers] == [400] * security.MAX_FAILED_LOGINS + [429]
        assert error(answers[-1])[1] == "Too many failed logins; try again in 5 minutes."
        right = client.post("/login", data={"username": "ada", "password": "one"})
        assert right.status_code == 429


@pytest.mark.parametrize("origins, same_site", [((), "samesite=lax"), (("https://example.org",), "samesite=none")])
def test_the_login_cookie_stays_on_this_site_unless_the_page_may_be_embedded(origins, same_site):
    with serving(logins=[("ada", "one")], policy=Policy(origins=origins)) as client:
        answer = client.post("/login", data={"username": "ada", "password": "one"})
    cookies = [cookie.lower() for cookie in answer.headers.get_list("set-cookie")]
    assert len(cookies) == 2 and same_site in cookies[0] and all("httponly" in cookie for cookie in cookies)
    assert all("samesite" in cookie for cookie in cookies)


def stream(path, query=b""):
    return {"type": "http", "method": "GET", "path": path, "query_string": query}


@pytest.mark.parametrize(
    "scope",
    [
        stream("/gradio_api/queue/data", b"session_hash=abc"),
        stream("/gradio_api/call/search/abc"),
        stream("/gradio_api/call/v2/search/abc"),
    ],
)
def test_who_opens_a_stream_listens_until_it_closes(scope, monkeypatch):
    monkeypatch.setattr(security, "GRACE", 0)
    monkeypatch.setattr(security, "PATIENCE", 0.05)
    listeners = Listeners()
    abandoned = listeners.abandonment_check("abc", None)
    time.sleep(0.001)
    assert abandoned()
    with listeners.listening(scope), listeners.listening(scope):
        assert not abandoned()
    time.sleep(0.1)
    assert abandoned() and not listeners.streams


def test_a_client_has_some_time_until_it_listens():
    assert not Listeners().abandonment_check("abc")()


def test_a_request_that_is_no_stream_is_not_counted():
    listeners = Listeners()
    with listeners.listening(stream("/gradio_api/info")):
        assert not listeners.streams


def test_an_error_of_the_page_is_not_hidden():
    async def broken(scope, receive, send):
        raise RuntimeError("broken")

    scope = stream("/config") | {"headers": [], "client": ("1.2.3.4", 5)}
    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(Guard(broken, Policy())(scope, None, None))


def test_refusals_are_json_for_programs_and_for_gradios_clients():
    assert json.loads(security.json_refusal(413, "No.").body) == {"error": "No.", "detail": "No."}


def test_uploads_that_have_not_ended_count_too(monkeypatch):
    monkeypatch.setattr(security, "CLIENT_UPLOADS", 100)
    guard = Guard(None, Policy())

    async def many():
        hold, refused = asyncio.Event(), []

        async def app(scope, receive, send):
            await hold.wait()

        async def send(message):
            refused.append(message)

        guard.app, headers = app, [(b"content-length", b"60"), (b"host", b"localhost")]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/gradio_api/upload",
            "headers": headers,
            "client": ("1.2.3.4", 5),
        }
        uploads = [asyncio.create_task(guard(scope, None, send)) for _ in range(5)]
        await asyncio.sleep(0)
        hold.set()
        await asyncio.gather(*uploads)
        return [message["status"] for message in refused if message["type"] == "http.response.start"]

    assert asyncio.run(many()) == [429] * 3
    assert not guard.uploads.exhausted("1.2.3.4"), "what was announced but not sent is given back"


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("1.2.3.4", "1.2.3.5", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.5", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_the_addresses_of_one_ipv6_network_are_one_client(one, other, same):
    assert (security.client_of({"client": (one, 1)}) == security.client_of({"client": (other, 2)})) == same
    assert security.client_of({"client": None}) == ""
