"""The tools of `--mcp`, as an agent meets them: by the official client, over a made-up engine."""

import asyncio
import base64
import json
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from genius.ui.calls import QUEUE_FULL
from genius.ui.common.context import ServedRun
from genius.ui.page import Page
from genius.ui.security import MAX_FAILED_LOGINS
from tests.ui.fake_engine import FakeEngine
from tests.ui.tiny_page import hosted

pytest.importorskip(
    "mcp", reason="the package mcp is not installed: pip install 'genius-explorer[mcp]'"
)
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

TOOLS = {"search", "item", "code_items", "neighbours", "find_codes"}
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"ada:secret").decode()}


@contextmanager
def serving(**hosting):
    """The engine of a page that is served to agents, and the address of its tools."""
    engine = FakeEngine()
    with hosted(Page(engine, ServedRun(Path("made-up"))), mcp=True, **hosting) as server:
        yield engine, f"{server.address}/run/made-up/gradio_api/mcp/"


@pytest.fixture(scope="module")
def public():
    with serving() as page:
        yield page


def tell(address, *calls, headers=None):
    """The tools by name, and the answers to calls of them: (name, arguments)."""

    async def ask():
        async with (
            httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as client,
            streamable_http_client(address, http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            return tools, [await session.call_tool(*call) for call in calls]

    return asyncio.run(ask())


def test_an_agent_searches_and_reads_with_pictures(public, photo):
    engine, address = public
    picture = "data:image/jpeg;base64," + base64.b64encode(photo.read_bytes()).decode()
    tools, (found, item, codes, near) = tell(
        address,
        ("search", {"text": "mug", "picture": picture, "k": 3}),
        ("item", {"id": "3:2"}),
        ("code_items", {"pattern": "0.*", "limit": 2}),
        ("neighbours", {"id": "1:0", "k": 4}),
    )
    assert set(tools) == TOOLS
    assert "data:image" in tools["search"].description and "beams:" in tools["search"].description
    query, options = engine.queries[-1]
    assert (query.text, query.image.size, options.k) == ("mug", (256, 256), 3)
    said = json.loads(found.content[0].text)
    hits = said["hits"]
    assert said["notes"] == [] and "match" in said
    pictured = [hit["id"] for hit in hits if hit["modality"] != "text"]
    assert [part.text for part in found.content[1::2]] == [
        f"The picture of {id}:" for id in pictured
    ]
    assert all(
        part.mimeType == "image/webp" and base64.b64decode(part.data)
        for part in found.content[2::2]
    )
    assert json.loads(item.content[0].text)["id"] == "3:2" and item.content[2].type == "image"
    assert (
        len(json.loads(codes.content[0].text)["items"]) == 2
        and len(json.loads(near.content[0].text)) == 4
    )


WRONG = [
    (("item", {"id": "9:9"}), "There is no item '9:9'"),
    (
        ("search", {"text": "mug", "picture": "http://127.0.0.1:9/x.png"}),
        "The picture must be a data URI",
    ),
    (
        ("search", {"text": "mug", "picture": "data:image/png;base64,?"}),
        "The picture must be a data URI",
    ),
    (
        (
            "search",
            {
                "text": "mug",
                "picture": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
            },
        ),
        "",
    ),
    (("code_items", {}), "pattern"),
    (("search", {"text": "bug"}), "Something went wrong on the server"),
]


def test_a_wrong_call_is_answered_with_a_sentence(public):
    engine, address = public
    before = len(engine.queries)
    _, answers = tell(address, *(call for call, _ in WRONG))
    for (_, sentence), answer in zip(WRONG, answers, strict=True):
        assert (
            answer.isError
            and sentence in answer.content[0].text
            and "secret" not in answer.content[0].text
        )
    assert [query.text for query, _ in engine.queries[before:]] in ([], ["bug"])


def test_agents_share_the_queue_of_the_api():
    with serving(max_queue=0) as (_, address):
        _, (answer,) = tell(address, ("item", {"id": "3:2"}))
    assert answer.isError and answer.content[0].text.endswith(QUEUE_FULL)


def test_agents_need_the_login_of_the_page_and_guess_no_passwords():
    wrong = {"Authorization": "Basic " + base64.b64encode(b"ada:guess").decode()}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with serving(logins=[("ada", "secret")]) as (_, address):
        tools, _ = tell(address, headers=LOGIN)
        assert set(tools) == TOOLS
        for headers in ({}, {"Authorization": "Bearer secret"}, {"Authorization": "Basic ?"}):
            assert httpx.post(address, json=ask, headers=headers).status_code == 401
        answers = [
            httpx.post(address, json=ask, headers=wrong).status_code
            for _ in range(MAX_FAILED_LOGINS)
        ]
        assert answers[0] == 401 and answers[-1] == 429


def test_nothing_but_the_tools_is_open_and_without_the_option_nothing(public, served):
    _, address = public
    assert httpx.get(address).status_code == 405
    for path in ("sse", "messages/", "schema"):
        assert httpx.post(address + path).status_code in (404, 405)
    foreign = {"Origin": "https://example.org"}
    assert httpx.post(address, json={}, headers=foreign).status_code == 403
    assert httpx.post(f"{served.url}/gradio_api/mcp/", json={}).status_code in (404, 405)
