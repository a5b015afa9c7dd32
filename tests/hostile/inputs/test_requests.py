"""Requests that are no valid calls: their bodies, their addresses, and the other routes of the server."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.inputs import odd

JSON = {"content-type": "application/json"}
CALL = "/gradio_api/call/item"
POSTS = [
    CALL,
    *("/gradio_api/call/v2/item", "/gradio_api/run/item", "/gradio_api/api/item", "/gradio_api/queue/join"),
    *("/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/component_server", "/gradio_api/stream/x"),
    *("/gradio_api/vibe-edit", "/gradio_api/vibe-code", "/gradio_api/undo-vibe-edit", "/gradio_api/process_recording"),
    *("/gradio_api/vibe-starter-queries", "/gradio_api/stream/x/close", "/login", "/gradio_api/upload"),
]
BODIES = {
    "nothing": b"",
    "no JSON": b"{bad",
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "NaN": b"NaN",
    "two values": b"{}{}",
    "no UTF-8": b'{"data": ["\xff"]}',
    "UTF-16": '{"data": ["0:1"]}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"data": ["0:1"]}',
    "deep": b'{"data": ' + b"[" * 100_000,
    "deep and closed": b'{"data": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "repeated names": b'{"data": ["0:1"], "data": {}}',
    "many digits": b'{"data": [' + b"9" * 100_000 + b"]}",
    "exponent": b'{"data": [1e999999999]}',
    "NUL": b'{"data": ["0:1"]}\0',
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "form": b"data=0%3A1",
    "many names": json.dumps({str(number): number for number in range(50_000)}).encode(),
}
GETS = [
    *("/gradio_api/file=/etc/passwd", "/gradio_api/file=../../../../etc/passwd", "/gradio_api/file/etc/passwd"),
    *("/gradio_api/file=%2e%2e%2f%2e%2e%2fetc/passwd", "/gradio_api/file=%00", "/gradio_api/file=" + "x" * 5_000),
    *("/gradio_api/file=http://127.0.0.1:9/x", "/gradio_api/proxy=http://127.0.0.1:9/x", "/gradio_api/file="),
    *("/static/../../../../etc/passwd", "/assets/%2e%2e/%2e%2e/etc/passwd", "/svelte/../x", "/theme.css/x"),
    *("/gradio_api/call/item/none", "/gradio_api/call/nothing/none", "/gradio_api/call/v2/item/none"),
    *("/gradio_api/queue/data", "/gradio_api/queue/data?session_hash=none", "/gradio_api/queue/data?session_hash=%00"),
    *("/gradio_api/stream/a/b/c/playlist.m3u8", "/gradio_api/stream/a/1/2/playlist.m3u8", "/gradio_api/heartbeat/"),
    *("/gradio_api/stream/a/1/2/x.y", "/gradio_api/stream/a/1/2/playlist-file"),
    *("/gradio_api/custom_component/x/client/component/x.js", "/gradio_api/custom_component/1/server/../x.js"),
    *("/gradio_api/deep_link?session_hash=x", "/?deep_link=../x", "/gradio_api/upload_progress?upload_id=x"),
    *("/monitoring", "/monitoring/x", "/monitoring/summary", "/gradio_api/vibe-code", "/gradio_api/token"),
    *("/gradio_api/runs", "/pwa_icon/9999999999", "/run/nothing/", "/run/fixed", "/run/%00/x", "/run/../x", "/run/é/"),
    *("/credits", "/nothing", "/%00", "/" + "x" * 8_000, "//evil.example/", "/\\evil.example", "/gradio_api/nothing"),
    *("/gradio_api/info?all_endpoints=true", "/config?x=" + "y" * 8_000, "/gradio_api/startup-events", "/openapi.json"),
]


@pytest.mark.parametrize("body", BODIES, ids=BODIES)
def test_a_body_at_every_route(client, judge, body):
    for route in POSTS:
        judge(client.send("POST", route, content=BODIES[body], headers=JSON), route)
    judge(client.send("POST", CALL, content=BODIES[body]), "without a content type")
    judge(client.send("POST", CALL, content=BODIES[body], headers={"content-type": "text/plain"}), "as text")


@pytest.mark.parametrize("route", GETS, ids=lambda route: ascii(route[:60]))
def test_an_address(client, judge, route):
    answer = judge(client.send("GET", route), route)
    assert "root:" not in str(answer.content)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "HEAD"])
def test_another_method(client, judge, method):
    for route in POSTS[:5]:
        answer = client.send(method, route)
        assert "Traceback" not in answer.log and answer.status in (200, 400, 404, 405)


@pytest.mark.parametrize(
    "name", ["nothing", "item/../nothing", "%00", "é", "x" * 5_000, "predict", "__class__"], ids=lambda name: name[:20]
)
def test_an_endpoint_that_does_not_exist(client, judge, name):
    for route in ("call", "call/v2", "run", "api"):
        assert not judge(client.post(f"/gradio_api/{route}/{name}", {"data": ["0:1"]}), route, name).success


@pytest.mark.parametrize(
    "number", [-1, 10**6, 2**40, 10**400, 1.5, "0", "x", None, True, [], {}], ids=lambda n: str(n)[:20]
)
def test_an_event_that_does_not_exist(client, judge, number):
    for route in ("queue/join", "run/predict"):
        body = {"fn_index": number, "data": [], "session_hash": "x"}
        judge(client.post(f"/gradio_api/{route}", body), route, number)


FIELDS = {
    "session_hash": [None, "", "\0", "x" * 100_000, 5, [], {}, "\ud800", "../x"],
    "event_id": ["x", "\0", 5, [], "x" * 100_000],
    "trigger_id": [-1, 10**6, "x", 2.5, []],
    "event_data": [5, [], "x", {"__class__": 1}],
    "simple_format": [True, "x", 5],
    "batched": [True, "x", 5],
    "oauth_token": ["x", 5, {}],
    "request": [{}, 5, {"username": "admin"}],
    "batch_trigger_ids": [[1], 5],
    "data": [None, {}, "x", 5],
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_a_call(client, judge, field):
    number = next(number for number, types in client.inputs.items() if number in client.functions and len(types) == 1)
    for value in FIELDS[field]:
        for route in ("queue/join", "run/predict", "call/item"):
            body = {"fn_index": number, "data": [None], "session_hash": "x"} | {field: value}
            judge(client.post(f"/gradio_api/{route}", body), route, value)


@settings(max_examples=80)
@given(st.sampled_from(POSTS), odd.values)
def test_a_generated_body(client, judge, route, body):
    judge(client.post(route, body), route, body)


NAMES = [*FIELDS, "fn_index", "component_id", "fn_name", "event", "username", "password", "prompt", "code", "hash"]


@settings(max_examples=80)
@given(st.sampled_from(POSTS), st.dictionaries(st.sampled_from(NAMES), odd.values, max_size=6))
def test_a_generated_call(client, judge, route, body):
    judge(client.post(route, body), route, body)
