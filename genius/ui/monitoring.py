"""What the server counts and logs: calls of the page and the API, their searches, and requests over
HTTP.

`Monitor` gives it to /metrics in the text format of Prometheus, and writes one record to the log
for each call. Neither needs a login, so both name runs, functions and outcomes, but no items,
queries or visitors.

A call ends in one of three outcomes: it was answered; refused with a sentence (a UserError); or it
failed, by a fault of ours.
"""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError
from genius.schema import MODES, Modality, Query
from genius.ui.answers import refusal
from genius.ui.security import posts_to

if TYPE_CHECKING:
    from genius.ui.calls import Call
    from genius.ui.page import Page

CALL_LOG = logging.getLogger("genius.calls")
# what the server does: it loads, serves and shuts down
SERVER_LOG = logging.getLogger("genius.server")
HEALTH, METRICS = "/healthz", "/metrics"
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds of a search

prometheus_client.disable_created_metrics()


@dataclass
class LoggedCall:
    """One call of a function of the page or the API."""

    monitor: "Monitor"
    run: str
    open: "Call"
    kind: str | None = None  # of its searches: modality of the query
    mode: str | None = None

    @property
    def id(self) -> str:
        """That of Gradio's event, which clients of the API know."""
        return (*self.open.names, self.open.id)[0]


current_call: ContextVar[LoggedCall | None] = ContextVar("current_call", default=None)


class Outcome:
    """A context that says how its block ended, and after which time."""

    name, seconds = "answered", 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.seconds = time.perf_counter() - self._start
        if error is not None:
            self.name = "refused" if isinstance(error, UserError) else "failed"


class Monitor:
    """The state and the metrics of one server."""

    def __init__(self) -> None:
        self.state = "loading"  # then "ready", at last "draining"
        self.pages: dict[str, Page] = {}  # of the runs that are loaded, by their names
        self.posts = 0  # requests that change or compute something and are being answered
        self.registry = CollectorRegistry()
        options: dict[str, Any] = {"namespace": "genius", "registry": self.registry}
        self.searches = Counter(
            "searches", "Searches by kind of query.", ("run", "kind", "mode", "outcome"), **options
        )
        self.seconds = Histogram(
            "search_seconds",
            "Time of answered searches, with waiting.",
            ("run", "mode"),
            buckets=BUCKETS,
            **options,
        )
        self.calls = Counter(
            "calls", "Calls of the page and the API.", ("run", "function", "outcome"), **options
        )
        self.answers = Counter("http_responses", "Responses by status.", ("status",), **options)
        self.uploads = Gauge("uploads_open", "Uploads that are being received.", **options)
        # memory, processor time, open files; on Linux
        prometheus_client.ProcessCollector(registry=self.registry)
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """What is looked up when it is asked for: queues, and the indexes that are served."""
        waiting = GaugeMetricFamily(
            "genius_queue_length", "Calls that wait in the queue.", labels=("run",)
        )
        running = GaugeMetricFamily(
            "genius_calls_running", "Calls from the queue that are running.", labels=("run",)
        )
        version = GaugeMetricFamily(
            "genius_index_info",
            "The version of the index that is served.",
            labels=("run", "version"),
        )
        items = GaugeMetricFamily("genius_index_items", "Items of that index.", labels=("run",))
        for run, page in self.pages.copy().items():
            calls, index = page.endpoints.calls, page.engine.index
            waiting.add_metric([run], calls.count("waiting"))
            running.add_metric([run], calls.count("running"))
            version.add_metric([run, index.folder.name], 1)
            items.add_metric([run], index.n)
        yield from (waiting, running, version, items)

    def unanswered(self) -> int:
        """How many calls and requests were accepted and are not answered yet."""
        return self.posts + sum(
            page.endpoints.calls.count("waiting", "running") for page in self.pages.copy().values()
        )

    def undelivered(self) -> bool:
        """Whether answers wait for clients to fetch them."""
        return any(page.endpoints.calls.count("answered") for page in self.pages.copy().values())

    @contextmanager
    def record_call(self, run: str, function: str, open_call: "Call") -> Iterator[None]:
        """Count and log the call that the block answers."""
        call = LoggedCall(self, run, open_call)
        token = current_call.set(call)
        outcome = Outcome()
        try:
            with outcome:
                yield
        finally:
            self.calls.labels(run, function, outcome.name).inc()
            fields: dict[str, Any] = {
                "run": run,
                "function": function,
                "status": outcome.name,
                "milliseconds": round(1000 * outcome.seconds, 1),
            }
            if call.kind:
                fields |= {"kind": call.kind, "mode": call.mode}
            extra = {"event": "search" if call.kind else "call", "fields": fields}
            CALL_LOG.info("%s was %s", function, outcome.name, extra=extra)
            current_call.reset(token)


@contextmanager
def record_search(query: Query, mode: str, count: int = 1) -> Iterator[None]:
    """Count and time the searches of the block as part of the current call: `count` queries of the
    kind of `query`.
    """
    call = current_call.get()
    if call is None:
        yield
        return
    empty = not query.text and query.image is None
    kind = "empty" if empty else Modality.of(query.text, query.image).name.lower()
    # few values, whatever a client sends
    call.kind = kind
    call.mode = mode if mode in MODES else "unknown"
    outcome = Outcome()
    try:
        with outcome:
            yield
    finally:
        call.monitor.searches.labels(call.run, kind, call.mode, outcome.name).inc(count)
        if outcome.name == "answered":
            call.monitor.seconds.labels(call.run, call.mode).observe(outcome.seconds)


class Traffic:
    """ASGI middleware, before all that refuse: counts requests, and refuses new ones while the
    server shuts down."""

    def __init__(self, app: ASGIApp, monitor: Monitor):
        self.app, self.monitor = app, monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.monitor.answers.labels(message["status"]).inc()
            await send(message)

        if self.monitor.state == "draining" and not is_allowed_while_draining(scope):
            sentence = "The server is shutting down; try again in a minute."
            return await refusal(scope, 503, sentence)(scope, receive, send_counted)
        post = scope["method"] == "POST"
        upload = posts_to(scope, "upload")
        self.monitor.posts += post
        self.monitor.uploads.inc(upload)
        try:
            await self.app(scope, receive, send_counted)
        finally:
            self.monitor.posts -= post
            self.monitor.uploads.dec(upload)


def is_allowed_while_draining(scope: Scope) -> bool:
    """Whether the request belongs to what was accepted before: it fetches an answer or a picture of
    one.
    """
    return scope["method"] == "GET" and (
        "/gradio_api/" in scope["path"] or scope["path"] in (HEALTH, METRICS)
    )


def configure_logs(as_json: bool) -> None:
    """Write the log to stdout, all of it as JSON; as text only what the server does, while warnings
    go to stderr.
    """
    handler = logging.StreamHandler(sys.stdout)
    if as_json:
        handler.setFormatter(JsonFormatter())
        logging.getLogger().handlers = [handler]
        logging.captureWarnings(True)
    SERVER_LOG.handlers = [] if as_json else [handler]
    SERVER_LOG.propagate = as_json
    SERVER_LOG.setLevel(logging.INFO)
    CALL_LOG.setLevel(logging.INFO if as_json else logging.WARNING)


class JsonFormatter(logging.Formatter):
    """One line per record: time, level, event, message, and the request id of the call that it
    belongs to.

    A record names its event and further fields by `extra={"event": …, "fields": {…}}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        call = current_call.get()
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
            "logger": record.name,
        }
        if call:
            entry["request_id"] = call.id
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)  # ASCII, so nothing in it can break the line
