"""The server as the documented unit and container start it: a user without rights, files that it
cannot change.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from genius import app
from genius.ui.serving import DELIVERY_SECONDS
from tests import readmes
from tests.search.tiny import publish_tiny_run
from tests.ui.started import ROOT, events, search, started, terminate

# a user that may read everything, such as the packages, and write nothing
READ = "-all,+dac_read_search"
NOBODY = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"),
    *(f"--inh-caps={READ}", f"--ambient-caps={READ}", f"--bounding-set={READ}"),
)
NOWHERE = {
    "http_proxy": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "all_proxy": "socks5://127.0.0.1:1",
}


@pytest.fixture
def read_only_run():
    """A run in which nothing can be written, in a folder that every user can read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    run = publish_tiny_run(folder / "run").path
    (run / ".lock").unlink()
    for path in (*run.rglob("*"), run):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield run
    for path in (*run.rglob("*"), run):
        path.chmod(0o755)
    shutil.rmtree(folder)


def without_rights() -> tuple[str, ...]:
    """What starts a command as a user without rights; nothing where this is one."""
    if os.geteuid():
        return ()
    if subprocess.run(
        [*NOBODY, sys.executable, "-c", "import json"], capture_output=True
    ).returncode:
        pytest.skip("root cannot start Python as another user here")
    return NOBODY


def contents(run: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in (run, *run.rglob("*"))}


def test_a_user_without_rights_serves_read_only_files_behind_proxies_that_lead_nowhere(
    read_only_run,
):
    before = contents(read_only_run)
    with tempfile.TemporaryDirectory() as private:
        Path(private).chmod(0o777)
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TMPDIR": private}
        with started(
            read_only_run, before=without_rights(), environment=environment | NOWHERE
        ) as server:
            assert server.client.get("/healthz").json() == {"status": "ready"}
            picture = server.client.post(
                "/gradio_api/upload",
                files={"files": ("photo.png", (read_only_run / "pictures/0.png").read_bytes())},
            )
            assert picture.status_code == 200
            assert len(search(server.client, "A red dog.")["hits"]) == 5
            assert 'outcome="answered"' in server.client.get("/metrics").text
            status, stderr = terminate(server)
    assert status == 0 and "Traceback" not in stderr
    assert events(server.log) == ["loading", "serving", "search", "draining"]
    assert contents(read_only_run) == before


def block(language: str) -> str:
    """The one block of this language in the README of the page."""
    (found,) = readmes.blocks(ROOT / "genius/ui/README.md", language)
    return found.text


def test_the_documented_systemd_unit_is_valid(tmp_path):
    unit = block("ini")
    command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert app.arguments(shlex.split(command)[2:]).log_json
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not on this machine")
    file = tmp_path / "genius.service"
    file.write_text(unit.replace("/opt/genius/.venv/bin/python", sys.executable))
    checked = subprocess.run(["systemd-analyze", "verify", file], capture_output=True, text=True)
    assert checked.returncode == 0 and file.name not in checked.stderr, checked.stderr


def test_the_documented_stop_limits_leave_time_to_answer():
    drain = app.arguments([]).drain_seconds + 2 * DELIVERY_SECONDS
    (systemd,) = re.findall(r"TimeoutStopSec=(\d+)", block("ini"))
    (docker,) = re.findall(
        r"--stop-timeout (\d+)", (ROOT / "genius/ui/README.md").read_text(encoding="utf-8")
    )
    assert drain <= min(int(systemd), int(docker))


def test_the_documented_container_runs_as_a_user_without_rights():
    assert "\nUSER genius\n" in block("dockerfile") and "useradd --uid 1000" in block("dockerfile")
