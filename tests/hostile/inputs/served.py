"""A server of two tiny runs in a process of its own: its answers, log and memory show what hostile inputs do.

python -m tests.hostile.inputs.served FOLDER    serves them: one to read, at /, and one that visitors may edit
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

FIXED, EDITABLE = "fixed", "editable"  # names of the runs
PATHS = {FIXED: "", EDITABLE: f"/run/{EDITABLE}"}
EXAMPLES = [{"title": "Dogs", "text": "a dog", "asked": [{"instruction": "Find the picture.", "target": "image"}] * 2}]
STARTS = 300  # seconds within which the server answers, also on a busy machine
LONGEST = 500  # characters of a sentence


@dataclass(frozen=True)
class Answer:
    """What a client got, and what the server logged meanwhile."""

    status: int  # of HTTP; 0: no answer
    success: bool
    content: Any  # the data, or the message of an error
    log: str = ""
    to_program: bool = True  # else to the page, which renders messages as HTML

    @property
    def outcome(self) -> str:
        if "Traceback" in self.log:
            return "traceback"
        if self.status == 0:
            return "no answer"
        if self.success:
            return "answered"
        return "not coded" if self.flaw else "refused in a sentence"

    @property
    def flaw(self) -> str | None:
        """What is wrong with the answer or the log; None if they are as they should be."""
        if "Traceback" in self.log:
            return f"traceback in the log: …{self.log.strip()[-300:]}"
        if self.success:
            return None
        sentence = self.content
        if not isinstance(sentence, str) or " " not in sentence:
            return f"no sentence: {str(sentence)[:200]!r}"
        if len(sentence) > LONGEST:
            return f"{len(sentence):,} characters: {sentence[:100]!r}…"
        for part in ("Traceback", 'File "', "on the server"):
            if part in sentence:
                return f"{part!r} in the message {sentence!r}"
        return None


class Server:
    """The process, its log and its memory."""

    def __init__(self, process: subprocess.Popen, log: Path):
        self.process, self.log, self.read = process, log, 0
        self.requests = self.lines = 0  # sent and logged
        self.url = self.started()

    def started(self) -> str:
        """Wait for the address."""
        deadline = time.monotonic() + STARTS
        while time.monotonic() < deadline and self.process.poll() is None:
            for line in self.log.read_text().splitlines(keepends=True):
                if line.startswith("http://") and line.endswith("\n"):
                    return line.strip()
            time.sleep(0.1)
        raise AssertionError(f"the server did not start: {self.log.read_text()[-2_000:]}")

    def new_log(self) -> str:
        """What was logged since the last look."""
        with self.log.open("rb") as file:
            file.seek(self.read)
            lines = file.read()
        self.read += len(lines)
        self.lines += lines.count(b"\n")
        return lines.decode(errors="replace")

    def megabytes(self, name: str) -> int:
        """Memory of the process: VmRSS, or VmHWM for the most that it ever had."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) // 1_024 for line in lines if line.startswith(name))


class Client:
    """Sends what a program can send, past the limits of the browser, to one page of a server."""

    def __init__(self, server: Server, page: str = FIXED):
        self.server = server
        self.http = httpx.Client(base_url=server.url + PATHS[page], timeout=60, trust_env=False)

    def send(self, method: str, path: str, **request: Any) -> Answer:
        """A request that is answered at once."""
        return self.answered(lambda: plain(self.http.request(method, path, **request)))

    def post(self, path: str, body: Any) -> Answer:
        """The body as Python writes JSON: with NaN, infinity, numbers of any size and lone surrogates."""
        return self.send("POST", path, content=json.dumps(body), headers={"content-type": "application/json"})

    def join(self, function: int, data: Any, event: Any = None, **fields: Any) -> Answer:
        """Call an event of the page through the queue, as a browser does."""
        session = uuid.uuid4().hex
        body = {"fn_index": function, "data": data, "event_data": event, "session_hash": session} | fields
        joined = self.post("/gradio_api/queue/join", body)
        answer = self.followed(joined, f"/gradio_api/queue/data?session_hash={session}", queue_message)
        return replace(answer, to_program=False)

    def call(self, endpoint: str, *data: Any) -> Answer:
        """Call an endpoint by its name, as programs do."""
        called = self.post(f"/gradio_api/call/{endpoint}", {"data": list(data)})
        event = called.content["event_id"] if called.success else ""
        return self.followed(called, f"/gradio_api/call/{endpoint}/{event}", call_message)

    def upload(self, content: bytes, name: str = "photo.png") -> tuple[Answer, Any]:
        """The answer, and the picture as an input of an endpoint."""
        answer = self.send("POST", "/gradio_api/upload", files={"files": (name, content)})
        path = answer.content[0] if answer.success else ""
        return answer, {"path": path, "meta": {"_type": "gradio.FileData"}}

    def followed(self, joined: Answer, stream: str, message: Any) -> Answer:
        """The last message of a stream, or the answer to the request for it if there is none."""
        if not joined.success:
            return joined

        def read() -> Answer:
            event = ""
            with self.http.stream("GET", stream) as answer:
                for line in answer.iter_lines():
                    name, _, value = line.partition(":")
                    if name == "event":
                        event = value.strip()
                    elif name == "data" and (last := message(event, json.loads(value))):
                        return last
            return Answer(answer.status_code, False, None)

        answer = self.answered(read)
        return replace(answer, log=joined.log + answer.log)

    def answered(self, request: Any) -> Answer:
        self.server.requests += 1
        try:
            answer = request()
        except httpx.TransportError as error:
            answer = Answer(0, False, f"no answer: {error!r}")
        return replace(answer, log=self.server.new_log())

    def control(self) -> Any:
        """Answers that no other request changes."""
        (searched,) = self.call("search", "a red dog", None, "Find the picture.", 5, 20, "any").content
        del searched["milliseconds"]
        return searched, self.call("item", "0:2").content, self.call("code_items", "0.*").content

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.http.get("/config").json()

    @cached_property
    def functions(self) -> dict[int, str]:
        """The events that the server answers: their numbers and names."""
        return {one["id"]: one["api_name"] for one in self.config["dependencies"] if one["backend_fn"]}

    @cached_property
    def inputs(self) -> dict[int, list[str]]:
        """The types of the inputs of each event."""
        types = {one["id"]: one["type"] for one in self.config["components"]}
        return {one["id"]: [types[at] for at in one["inputs"]] for one in self.config["dependencies"]}


def plain(response: httpx.Response) -> Answer:
    try:
        content = response.json()
    except ValueError:
        content = response.text if response.is_success else None
    if not response.is_success and isinstance(content, dict):
        content = content.get("error", content.get("detail"))
    return Answer(response.status_code, response.status_code < 400, content)


def queue_message(event: str, message: Any) -> Answer | None:
    """The answer to an event of the page, if the message has it."""
    if message["msg"] == "unexpected_error":
        return Answer(200, False, message["message"])
    if message["msg"] != "process_completed":
        return None
    output = message["output"]
    return Answer(200, message["success"], output.get("data") if message["success"] else output.get("error"))


def call_message(event: str, message: Any) -> Answer | None:
    """The answer to an endpoint, if the message has it."""
    if event == "error":
        return Answer(200, False, message.get("error") if isinstance(message, dict) else message)
    return Answer(200, True, message) if event == "complete" else None


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    log = folder / "server.log"
    variables = os.environ | {"GRADIO_TEMP_DIR": str(folder / "uploads")}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "tests.hostile.inputs.served", folder]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables)
        try:
            yield Server(process, log)
        finally:
            process.kill()
            process.wait(30)


def main(folder: Path) -> None:
    from genius.search.engine import Engine
    from genius.ui.common.context import ServedRun
    from genius.ui.page import build
    from genius.ui.runs import HostedRun
    from genius.ui.serving import Hosting, serve

    def hosted(name: str) -> HostedRun:
        run = make_run(folder / name)
        served = ServedRun.read(run, editable=name == EDITABLE, run_names=(FIXED, EDITABLE))
        return HostedRun(run, lambda: build(Engine.load(run, "cpu"), served))

    server = serve([hosted(FIXED), hosted(EDITABLE)], Hosting(port=0))
    print(server.address, flush=True)
    server.wait()


def make_run(folder: Path) -> Path:
    """A tiny run with maps, reports and an example, so that every callback has something to do."""
    from genius.examples import FOLDER, LIST
    from genius.explore.map_data import PART
    from tests.explore.report_tables.sample_reports import write_reports
    from tests.search.tiny import LEVELS, publish_tiny_run
    from tests.ui.fake_maps import fake_maps

    run = publish_tiny_run(folder)
    run.publish(PART, fake_maps([f"0:{row}" for row in range(39)], LEVELS).save, ("fusion", "quantizer", "index"))
    (folder / FOLDER).mkdir()
    (folder / FOLDER / LIST).write_text(json.dumps(EXAMPLES))
    return write_reports(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
