"""Who may open and change the page, and what the server refuses before Gradio sees it, over
HTTP.
"""

import asyncio
from contextlib import contextmanager

import pytest

from genius.errors import UserError
from genius.ui import security
from genius.ui.security import Budget, Guard, Policy, check_editing, check_origins, read_logins
from tests.ui.tiny_page import hosted, page_of


@contextmanager
def serving(**hosting):
    def echo(text: str) -> str:
        return text

    with hosted(page_of(echo), **hosting) as server:
        yield server.client


@pytest.fixture(scope="module")
def public():
    """On a loopback address, with a further name."""
    with serving(policy=Policy(hosts=("genius.example.org",))) as client:
        yield client


def call(client, **headers):
    return client.post("/gradio_api/call/echo", json={"data": ["hello"]}, headers=headers)


def upload(client, content):
    return client.post("/gradio_api/upload", files={"files": ("photo.png", content)})


def test_a_large_request_is_refused_with_a_sentence(public):
    parts = (b"x" * 2**20 for _ in range(100))  # without a content-length
    for answer, limit in (
        (public.post("/gradio_api/call/echo", json={"data": ["x" * security.MAX_JSON]}), "4 MB"),
        (
            public.post(
                "/gradio_api/call/echo", content=parts, headers={"content-type": "application/json"}
            ),
            "4 MB",
        ),
        (upload(public, b"x" * security.MAX_UPLOAD), "12 MB"),
    ):
        assert answer.status_code == 413 and limit in answer.json()["error"]
        assert answer.json()["detail"] == answer.json()["error"]  # Gradio's clients read it


def test_a_client_uploads_no_more_than_its_share(monkeypatch):
    monkeypatch.setattr(security, "CLIENT_UPLOADS", 100)
    with serving() as client:
        assert [upload(client, content).status_code for content in (b"x" * 100, b"x")] == [200, 429]


def test_a_client_and_all_together_have_a_budget_which_comes_back_after_its_window(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(security.time, "monotonic", lambda: now[0])
    budget = Budget(10, window=60, total=15)
    budget.spend("ada", 9)
    assert not budget.exhausted("ada")
    budget.spend("ada", 1)
    assert budget.exhausted("ada") and not budget.exhausted("grace")
    budget.spend("grace", 5)
    assert budget.exhausted("bob")
    now[0] = 61
    assert not budget.exhausted("ada") and not budget.entries


UPLOAD = {
    **{"type": "http", "method": "POST", "path": "/gradio_api/upload", "client": ("1.2.3.4", 5)},
    "headers": [(b"content-length", b"60"), (b"host", b"localhost")],
}
LOGIN = UPLOAD | {"path": "/login"}


async def statuses(guard, scope, receive=None) -> list[int]:
    """How the guard answers a request; nothing where the app behind it does not."""
    sent = []

    async def send(message):
        sent.append(message)

    await guard(scope, receive, send)
    return [message["status"] for message in sent if message["type"] == "http.response.start"]


def test_uploads_that_have_not_ended_count_too(monkeypatch):
    monkeypatch.setattr(security, "CLIENT_UPLOADS", 100)
    guard = Guard(None, Policy())

    async def many():
        hold = asyncio.Event()

        async def app(scope, receive, send):
            await hold.wait()

        guard.app = app
        uploads = [asyncio.create_task(statuses(guard, UPLOAD)) for _ in range(5)]
        await asyncio.sleep(0)
        hold.set()
        return await asyncio.gather(*uploads)

    assert asyncio.run(many()) == [[]] * 2 + [[429]] * 3
    assert not guard.uploads.exhausted("1.2.3.4"), "what was announced but not sent is given back"


def test_uploads_that_are_announced_and_given_up_late_leave_no_credit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(security.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(security, "CLIENT_UPLOADS", 100)

    async def late(scope, receive, send):
        now[0] = 0.9 * security.UPLOAD_LIFETIME

    guard = Guard(late, Policy())
    asyncio.run(guard(UPLOAD, None, None))
    now[0] = 1.1 * security.UPLOAD_LIFETIME
    assert not guard.uploads.exhausted("1.2.3.4")
    guard.uploads.spend("1.2.3.4", 100)
    assert guard.uploads.exhausted("1.2.3.4")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost.evil.example", "null", "[", "http://["]
)
def test_another_site_can_neither_call_nor_read_the_page(public, origin):
    assert call(public, origin=origin).status_code == 403
    read = public.get("/config", headers={"origin": origin})
    assert not [name for name in read.headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_another_port_of_the_address_that_is_listened_at_is_another_site(name):
    with serving(policy=Policy(hosts=(name, "known.example"))) as client:  # as app.py passes --host
        port = client.base_url.port
        assert (
            call(client, origin=f"http://{name}:{port}", host=f"{name}:{port}").status_code == 200
        )
        for other in (f"http://{name}", f"http://{name}:{port + 1}"):
            assert call(client, origin=other, host=f"{name}:{port}").status_code == 403
        assert call(client, origin="https://known.example:8443").status_code == 200


def test_the_page_itself_and_programs_call_it_also_behind_a_proxy(public):
    own = str(public.base_url).rstrip("/")
    assert call(public).status_code == call(public, origin=own).status_code == 200
    named = {"origin": "https://genius.example.org"}
    assert call(public, host="genius.example.org", **named).status_code == 200
    assert call(public, **{"x-forwarded-host": "genius.example.org"}, **named).status_code == 200


def test_a_site_that_may_embed_the_page_calls_it_with_the_login():
    with serving(policy=Policy(origins=("https://example.org",))) as client:
        answer = call(client, origin="https://example.org")
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert call(client, origin="https://evil.example").status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example:7860", "localhost.evil.example", "[", "host:port", "[::1"]
)
def test_a_page_on_a_loopback_address_answers_to_no_name_of_another_site(public, host):
    """Which its owner can let point here (DNS rebinding)."""
    refused = call(public, host=host, origin=f"http://{host}")
    assert refused.status_code in (400, 403, 421)
    assert public.get("/config", headers={"host": host}).status_code in (400, 421)


@pytest.mark.parametrize(
    "host", ["localhost:7860", "127.0.0.1", "[::1]:7860", "192.168.1.5:80", "genius.example.org"]
)
def test_it_answers_to_addresses_and_names_that_it_knows(public, host):
    assert public.get("/config", headers={"host": host}).status_code == 200


def test_names_are_checked_behind_a_proxy_too():
    hosts = {"anything.example": 421, "127.0.0.1:7860": 200, "known.example": 200}
    for policy in (
        Policy(hosts=("known.example",)),
        Policy(editable=True, hosts=("known.example",)),
    ):
        with serving(policy=policy, root_path="/genius") as client:
            found = {
                host: client.get("/config", headers={"host": host}).status_code for host in hosts
            }
            assert found == hosts


def test_a_client_cannot_guess_passwords_without_end():
    with serving(logins=[("ada", "one")]) as client:
        attempts = [
            {"username": "ada", "password": str(attempt)}
            for attempt in range(security.MAX_FAILED_LOGINS + 1)
        ]
        answers = [client.post("/login", data=attempt).status_code for attempt in attempts]
        assert answers == [400] * security.MAX_FAILED_LOGINS + [429]
        assert client.post("/login", data={"username": "ada", "password": "one"}).status_code == 429


def test_guesses_that_were_sent_at_once_are_not_answered_beyond_the_limit():
    """Their headers come first; when the passwords follow, none of them has failed yet."""

    async def guess(all_sent: asyncio.Event, number: int) -> list[int]:
        async def receive():
            await all_sent.wait()
            return {"type": "http.request", "body": b"secret" if number == right_one else b"wrong"}

        return await statuses(guard, LOGIN, receive)

    async def login(scope, receive, send):
        right = (await receive())["body"] == b"secret"
        await send({"type": "http.response.start", "status": 200 if right else 400, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def many() -> list[list[int]]:
        all_sent = asyncio.Event()
        guesses = [asyncio.create_task(guess(all_sent, number)) for number in range(200)]
        await asyncio.sleep(0.01)
        all_sent.set()
        return await asyncio.gather(*guesses)

    right_one = 150
    guard = Guard(login, Policy())
    answered = asyncio.run(many())
    assert answered == [[400]] * security.MAX_FAILED_LOGINS + [[429]] * (
        200 - security.MAX_FAILED_LOGINS
    )
    guard = Guard(login, Policy())
    right_one = 5
    assert asyncio.run(many())[right_one] == [200]


@pytest.mark.parametrize(
    "origins, same_site", [((), "samesite=lax"), (("https://example.org",), "samesite=none")]
)
def test_the_login_cookie_stays_on_this_site_unless_the_page_may_be_embedded(origins, same_site):
    with serving(logins=[("ada", "one")], policy=Policy(origins=origins)) as client:
        answer = client.post("/login", data={"username": "ada", "password": "one"})
    cookies = [cookie.lower() for cookie in answer.headers.get_list("set-cookie")]
    assert len(cookies) == 1 and same_site in cookies[0] and "httponly" in cookies[0]


def test_an_error_of_the_page_is_not_hidden():
    async def broken(scope, receive, send):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        asyncio.run(Guard(broken, Policy())(UPLOAD, None, None))


@pytest.mark.parametrize(
    "first, second, same",
    [
        ("1.2.3.4", "1.2.3.5", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.5", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_the_addresses_of_one_ipv6_network_are_one_client(first, second, same):
    assert (
        security.client_of({"client": (first, 1)}) == security.client_of({"client": (second, 2)})
    ) == same
    assert security.client_of({"client": None}) == ""


def test_logins_come_from_the_command_line_or_a_file(tmp_path):
    (tmp_path / "logins").write_bytes(b"ada:one\n\ngrace:two\n")
    for auth, logins in (
        (None, []),
        ("ada:se:cret", [("ada", "se:cret")]),
        ("ada:" + "secret" * 1_000, [("ada", "secret" * 1_000)]),  # too long for a path
        (str(tmp_path / "logins"), [("ada", "one"), ("grace", "two")]),
    ):
        assert read_logins(auth) == logins


@pytest.mark.parametrize(
    "auth, sentence",
    [
        ("", "--auth .* is empty"),  # its variable may be unset
        ("secret", "NAME:PASSWORD"),
        ("secret:", "NAME:PASSWORD"),
        (":secret", "NAME:PASSWORD"),
        ("secret" * 1_000, "NAME:PASSWORD"),
        (b"\n", "NAME:PASSWORD"),
        ("ada:sécret".encode("latin-1"), "must be a text in UTF-8"),
    ],
)
def test_a_malformed_login_is_refused_without_repeating_it(tmp_path, auth, sentence):
    if isinstance(auth, bytes):
        (tmp_path / "logins").write_bytes(auth)
        auth = str(tmp_path / "logins")
    with pytest.raises(UserError, match=sentence) as caught:
        read_logins(auth)
    assert "cret" not in str(caught.value)


def test_editing_on_the_network_needs_a_login_or_a_flag():
    for host in ("0.0.0.0", "::", "192.168.1.5", "genius.example.org"):
        with pytest.raises(
            UserError, match="--auth NAME:PASSWORD, or pass --allow-anonymous-editing"
        ):
            check_editing(host, [], allow_anonymous=False)
        check_editing(host, [("ada", "one")], allow_anonymous=False)
        check_editing(host, [], allow_anonymous=True)
    for host in ("127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost"):
        check_editing(host, [], allow_anonymous=False)


def test_only_an_origin_may_embed_the_page():
    check_origins(["https://example.org", "http://example.org:8080"])
    for wrong in ("example.org", "https://example.org/", "https://example.org/path", "*", "null"):
        with pytest.raises(UserError, match="--embed-in takes an origin"):
            check_origins([wrong])
