"""app.py as a process of its own, as a host starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx

ROOT = Path(__file__).parents[2]


def client_at(address: str) -> httpx.Client:
    """A program that asks a server; without the proxies of this machine."""
    return httpx.Client(base_url=address, trust_env=False, timeout=60)


@contextmanager
def started(
    run: Path,
    *options: str,
    before: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Iterator[SimpleNamespace]:
    """process, client, log: app.py serves a run on a free port, and `log` holds the entries of its
    JSON log so far.

    before: a command that starts it, such as setpriv. At the end it is killed, unless it has ended.
    """
    command = [
        *before,
        sys.executable,
        "app.py",
        "--run",
        str(run),
        "--port",
        "0",
        "--device",
        "cpu",
        "--log-json",
    ]
    process = subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    log = []
    try:
        for line in process.stdout:
            log.append(json.loads(line))
            if log[-1]["event"] == "serving":
                break
        else:
            raise AssertionError(f"it did not start: {process.stderr.read()}")
        address = log[-1]["message"].split()[2]
        with client_at(address) as client:
            yield SimpleNamespace(process=process, client=client, log=log)
    finally:
        process.kill()
        process.wait()


def search(client: httpx.Client, text: str) -> dict:
    """The answer of the API's endpoint to a text."""
    event = client.post(
        "/gradio_api/call/search", json={"data": [text, None, "", 5, 3, "any"]}
    ).json()["event_id"]
    kind, data = client.get(f"/gradio_api/call/search/{event}").text.strip().split("\n")[-2:]
    assert kind == "event: complete", data
    return json.loads(data.removeprefix("data: "))[0]


def terminate(server: SimpleNamespace) -> tuple[int, str]:
    """Send SIGTERM; the exit status, and what it wrote to stderr. Its log goes to `log`."""
    server.process.terminate()
    stdout, stderr = server.process.communicate(timeout=120)
    server.log += map(json.loads, stdout.splitlines())
    return server.process.returncode, stderr


def events(log: list[dict]) -> list[str]:
    """The events of a log without warnings of libraries; fails if it has an error."""
    errors = [entry for entry in log if entry["level"] == "error"]
    assert not errors, errors
    return [entry["event"] for entry in log if entry["event"] != "message"]
