"""Several runs behind one address, over HTTP: loaded once, each with its own page, all with the
same rules.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from genius.errors import UserError
from genius.ui.files import plotly_file
from genius.ui.page import Page
from genius.ui.runs import HostedRun, Hosting
from genius.ui.serving import serve
from tests.ui.started import client_at
from tests.ui.tiny_page import page_of
from tests.waiting import wait_until

BROWSER = {"accept": "text/html,*/*"}


def page_that_says(said: str) -> Page:
    def word() -> str:
        return said

    return page_of(word)


@contextmanager
def serving(tmp_path: Path, **hosting):
    """Runs `one`, `two words`, which loads when `go` is set, and `broken`. `loads` lists what was
    loaded, and `late` whether `two words` went on without `go`.
    """
    go = threading.Event()
    loads = []
    late = []

    def load(name: str) -> Page:
        loads.append(name)
        if name == "broken":
            raise UserError("the encoder of /secret/broken is missing")
        if name == "two words":
            late.append(not go.wait(60))
        return page_that_says(name)

    def hosted(name: str) -> HostedRun:
        (tmp_path / name).mkdir(exist_ok=True)
        return HostedRun(tmp_path / name, lambda: load(name))

    server = serve(
        [hosted(name) for name in ("one", "two words", "broken")], Hosting(port=0, **hosting)
    )
    with client_at(server.address) as client:
        yield SimpleNamespace(
            client=client, go=go, loads=loads, late=late, url=server.address, folder=tmp_path
        )
    go.set()
    server.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("runs")) as running:
        yield running


@pytest.fixture
def fresh(tmp_path):
    with serving(tmp_path) as running:
        yield running


def word(client: httpx.Client, path: str) -> str:
    """What the endpoint of the page at a path says."""
    event = client.post(f"{path}/gradio_api/call/word", json={"data": []}).json()["event_id"]
    return client.get(f"{path}/gradio_api/call/word/{event}").text


def test_the_first_run_is_at_the_root_and_under_its_name(fresh):
    assert fresh.loads == ["one"]
    assert '"one"' in word(fresh.client, "") and '"one"' in word(fresh.client, "/run/one")
    assert fresh.client.get("/run/one/", headers=BROWSER).status_code == 200
    assert fresh.loads == ["one"]


def test_a_visitor_waits_on_a_page_that_loads_again_and_a_program_waits_for_the_answer(fresh):
    waiting = fresh.client.get("/run/two%20words/?q=mug", headers=BROWSER)
    assert 'http-equiv="refresh"' in waiting.text and "Loading the run two words…" in waiting.text
    with ThreadPoolExecutor() as threads:
        programs = [threads.submit(word, fresh.client, "/run/two%20words") for _ in range(3)]
        assert '"one"' in word(fresh.client, ""), "the first run answers meanwhile"
        fresh.go.set()
        assert all('"two words"' in program.result() for program in programs)
    shown = fresh.client.get("/run/two%20words/", headers=BROWSER)
    assert "refresh" not in shown.text and 'type="module"' in shown.text
    assert fresh.loads == ["one", "two words"], "it is loaded once"


def test_a_run_that_cannot_be_loaded_says_so_without_the_folders_of_the_server(site, caplog):
    answer = site.client.get("/run/broken/config")
    assert answer.status_code == 503
    sentence = "The run broken cannot be loaded; the server's log says why."
    assert answer.json() == {"error": sentence, "detail": sentence}
    assert "/secret" in caplog.text
    assert site.client.get("/run/broken/config").status_code == 503
    assert site.loads.count("broken") == 2, "it tries again"
    # 200 while it is loaded
    wait_until(lambda: site.client.get("/run/broken/", headers=BROWSER).status_code == 503)
    assert '"one"' in word(site.client, "")


@pytest.mark.parametrize("name", ["nowhere", "..", "One", "<script>", "two%2520words"])
def test_an_unknown_run_gets_one_escaped_sentence(site, name):
    address = f"/run/{name.replace('..', '%2e%2e')}/config"
    answer = site.client.get(address)
    assert answer.status_code == 404 and "There is no run" in answer.json()["error"]
    shown = site.client.get(address, headers=BROWSER).text
    assert "There is no run" in shown and "<script>" not in shown


def test_behind_a_proxy_the_path_of_the_site_comes_before_that_of_the_run(tmp_path):
    with serving(tmp_path, root_path="/genius") as site:
        site.go.set()
        assert site.client.get("/config").json()["root"].endswith("/genius")
        # a proxy may leave it on
        for path in ("/config", "/static/any/plotly.js", "/run/two%20words/config", "/healthz"):
            kept, stripped = site.client.get(f"/genius{path}"), site.client.get(path)
            assert kept.status_code == 200 and kept.content == stripped.content, path
        assert (
            site.client.get("/run/two%20words/config")
            .json()["root"]
            .endswith("/genius/run/two%20words")
        )
        assert '"two words"' in word(site.client, "/run/two%20words")


def test_a_site_answers_only_to_its_names_on_every_path(fresh):
    for path in ("/config", "/run/two%20words/config"):
        assert fresh.client.get(path, headers={"host": "evil.example"}).status_code == 421
    assert fresh.loads == ["one"]


def test_one_login_opens_all_runs_and_without_it_only_the_files_of_the_page_are_shown(tmp_path):
    with serving(tmp_path, logins=[("ada", "secret")]) as site:
        (tmp_path / "one/CREDITS.md").write_text("credits of one")
        site.go.set()
        shown = site.client.get("/run/two%20words/", headers=BROWSER)
        assert 'type="password"' in shown.text and site.loads == ["one"]
        assert site.client.get("/run/two%20words/gradio_api/info").status_code == 401
        assert "credits of one" not in site.client.get("/credits").text
        assert "components" not in site.client.get("/config").text
        assert site.client.get("/healthz").json() == {"status": "ready"}
        assert "genius_queue_length" in site.client.get("/metrics").text
        for path in ("", "/run/one"):
            assert (
                site.client.get(f"{path}/static/any/plotly.js").content
                == plotly_file().read_bytes()
            )
        for password, status in (("guess", 400), ("secret", 200)):
            login = site.client.post(
                "/run/two%20words/login", data={"username": "ada", "password": password}
            )
            assert login.status_code == status and site.loads == ["one"]
        assert '"two words"' in word(site.client, "/run/two%20words") and '"one"' in word(
            site.client, ""
        )
        assert site.client.get("/credits").text == "credits of one"
        site.client.get("/run/two%20words/logout")
        assert site.client.get("/gradio_api/info").status_code == 401


def test_the_credits_of_each_run_are_plain_text_and_no_way_to_other_files(fresh):
    (fresh.folder / "one/CREDITS.md").write_text("<b>Ada</b>")
    (fresh.folder / "secret.txt").write_text("hidden words")
    (fresh.folder / "two words/CREDITS.md").symlink_to(fresh.folder / "secret.txt")
    for path in ("/credits", "/run/one/credits"):
        answer = fresh.client.get(path)
        assert (
            answer.text == "<b>Ada</b>"
            and answer.headers["content-type"] == "text/plain; charset=utf-8"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert fresh.client.get("/run/two%20words/credits").status_code == 404, "a link is not followed"
    for path in (
        "/run/one/credits/../../secret.txt",
        "/run/one/credits%2f..%2f..%2fsecret.txt",
        "/secret.txt",
    ):
        assert "hidden words" not in fresh.client.get(path).text
    assert fresh.loads == ["one"], "credits need no loading"
