"""Every address of the server: files outside of uploads, visitors without a login, foreign names and other sites."""

import json
import os
from urllib.parse import quote

import httpx
import pytest

from genius.ui.security import Policy
from tests.hostile.inputs.odd import META
from tests.hostile.inputs.test_requests import GETS, POSTS
from tests.ui.tiny_page import serving

SECRET = "the-secret-of-another-folder"
PREFIXES = ("/gradio_api/file=", "/gradio_api/file/", "/file=", "/file/", "/static/", "/assets/", "/gradio_api/proxy=")
HOSTS = ("evil.example", "evil.example:7860", "127.0.0.1.evil.example", "localhost.evil.example", "localhost@evil", "0")
ORIGINS = ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example", "file://", "http://[")
SIMPLE = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """An editable run, and a secret outside of it."""
    folder = tmp_path_factory.mktemp("routes")
    (folder / "secret.txt").write_text(SECRET)
    with serving(folder / "run", editable=True, policy=Policy(editable=True)) as page:
        yield page


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("guarded") / "run", logins=[("ada", "one")]) as page:
        yield page


@pytest.fixture
def client(served):
    with httpx.Client(base_url=served.url, trust_env=False, timeout=60) as client:
        yield client


def paths(run):
    """A secret, the files of the run and the machine, written in every way that some server has once followed."""
    for file in (
        run.parent / "secret.txt",
        run / "manifest.json",
        "/etc/passwd",
        "/proc/self/environ",
        "/etc/hostname",
    ):
        near = os.path.relpath(file)
        for path in (str(file), near, f"{'../' * 12}{str(file)[1:]}", f"....//{near}", f"file://{file}", f"/{file}"):
            yield from (path, quote(path, safe=""), quote(quote(path, safe=""), safe=""), path.replace("/", "\\"))
            yield from (
                path.replace("../", "..%2f"),
                path.replace(".", "%2e"),
                path.replace("../", "..;/"),
                f"{path}%00",
            )


def test_no_address_leads_to_a_file_outside_of_uploads(served, client, counts):
    passwords = "root:"
    for path in sorted(set(paths(served.run))):
        for prefix in PREFIXES:
            answer = client.get(prefix + path)
            assert answer.status_code != 500, (prefix, path)
            for secret in (SECRET, passwords, '"parts"', "PATH="):
                assert secret not in answer.text, (prefix, path)
            counts("security", "blocked")


def test_no_forged_file_is_read_as_a_picture(served, client, counts):
    pictures = served.run / "pictures"
    forged = [*pictures.glob("*.png")][:3] + [served.run.parent / "secret.txt", "/etc/passwd"]
    for file in forged:
        for given in ({"path": str(file)}, {"path": os.path.relpath(file)}, {"path": "x.png", "url": f"file://{file}"}):
            data = ["", given | META, "", 5, 3, "any"]
            event = client.post("/gradio_api/call/search", json={"data": data}).json()["event_id"]
            answer = client.get(f"/gradio_api/call/search/{event}").text
            assert "event: error" in answer and '"hits"' not in answer and SECRET not in answer
            counts("security", "blocked")


def test_nothing_of_a_run_is_told_without_a_login(guarded, counts):
    (item,) = guarded.engine.index.items([1])
    with httpx.Client(base_url=guarded.url, trust_env=False, timeout=60) as visitor:
        for route in ("/", "/config", "/gradio_api/info", "/credits", "/theme.css", *GETS):
            answer = visitor.get(route)
            assert item.text not in answer.text and '"backend_fn"' not in answer.text, route
            counts("security", "blocked")
        for route in POSTS:
            answer = visitor.post(route, json={"data": [item.id], "fn_index": 0, "session_hash": "x"})
            assert answer.status_code >= 400 and item.text not in answer.text, route
            counts("security", "blocked")
        for endpoint in ("search", "item", "code_items", "neighbours"):
            for cookie in (
                "",
                "access-token=x",
                "access-token-unsecure=x",
                "access-token=; access-token-unsecure=null",
            ):
                answer = visitor.post(
                    f"/gradio_api/call/{endpoint}", json={"data": [item.id]}, headers={"cookie": cookie}
                )
                assert answer.status_code == 401, (endpoint, cookie)
                counts("security", "blocked")


def test_a_name_that_was_rebound_to_this_machine_gets_nothing(served, client, counts):
    for host in HOSTS:
        for route in ("/", "/config", "/gradio_api/info"):
            assert client.get(route, headers={"host": host}).status_code in (400, 421), (host, route)
            counts("security", "blocked")
        for route in POSTS:
            headers = {"host": host, "origin": f"http://{host}"}
            assert client.post(route, json={"data": []}, headers=headers).status_code in (400, 404, 421), (host, route)
            counts("security", "blocked")


def test_another_site_changes_nothing(served, client, counts):
    items = served.engine.index.n
    removal = next(number for number, function in served.page.fns.items() if function.name == "on_ids")
    body = json.dumps({"fn_index": removal, "data": ["0:1", "0:1", None], "session_hash": "x"})
    for origin in ORIGINS:
        for kind in SIMPLE:
            for route in POSTS:
                headers = {"origin": origin, "content-type": kind}
                answer = client.post(route, content=body, headers=headers)
                assert answer.status_code in (403, 404), (origin, kind, route)
                assert "access-control-allow-origin" not in answer.headers
                counts("security", "blocked")
    served.engine.versions.reload()
    assert served.engine.index.n == items and served.engine.index.rows_of(["0:1"])[0] >= 0
