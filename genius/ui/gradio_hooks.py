"""All that relies on the inside of Gradio.

Each hook has one test in tests/ui/test_gradio_hooks.py, which fails where a version of Gradio works in another way; the
range in requirements.txt is that of the versions that pass them.
"""

import base64
import inspect
import json
import logging
import os
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from urllib.parse import parse_qs

import gradio as gr
from fastapi import FastAPI
from gradio.exceptions import AppError
from gradio.queueing import Event, EventQueue, Queue
from gradio.route_utils import FnIndexInferError
from gradio.routes import App, templates
from gradio.server_messages import EventMessage
from gradio.state_holder import SessionState, StateHolder
from gradio.utils import get_upload_folder
from gradio_client.utils import is_file_obj_with_meta, traverse
from jinja2 import Environment, FileSystemLoader
from starlette.types import ASGIApp, Receive, Scope, Send

from genius.errors import UserError
from genius.search.engine import Engine
from genius.ui.failures import ENDPOINT_MISMATCH, PAGE_MISMATCH, answer_failures, error_for_caller
from genius.ui.security import client_network

QUEUE_FULL = "Too many requests are waiting; try again in a moment."
CLIENT_SHARE_FULL = "Too many of your requests are waiting; send more when some of them are answered."
NO_SESSION = "The request names no session."
NOT_AN_UPLOAD = "Upload the picture as a file; links and embedded data are not accepted."
STREAM = re.compile(r"/gradio_api/(?:queue/data|call/(?:v2/)?\w+/(?P<event>\w+))/?$")  # addresses of streams of answers
MAX_UNFETCHED = 1_000  # sessions with answers that nobody fetched, which are remembered
MAX_SESSIONS = 200  # visitors whose state is kept
LOOKUP_ERRORS = (KeyError, FnIndexInferError)  # of Gradio's routes, for endpoints and components that a page lacks


class Page(gr.Blocks):
    """Blocks whose callbacks each see one snapshot of the index, answer every failure with a sentence, and never fetch
    a link: Gradio would download any that a forged request passes off as an upload.

    record_call: makes a context around each call, from the name of its callback, and its event if it was queued.
    """

    def __init__(self, engine: Engine, **layout: Any):
        self.engine = engine
        self.record_call: Callable[[str, str | None], AbstractContextManager[None]] = lambda *_: nullcontext()
        self.precompute: list[Callable[[], object]] = []
        super().__init__(**layout)

    def prepare(self) -> None:
        """Compute what the first visitors will ask for, one thing after the other, in the background. Each keeps its
        result; what cannot be computed now is computed, or refused, when it is asked for."""

        def compute_all() -> None:
            for compute in self.precompute:
                if not self.is_running:
                    return
                try:
                    with self.engine.versions.snapshot():
                        compute()
                except Exception as error:
                    logging.getLogger(__name__).warning("nothing was prepared by %s: %r", compute, error)

        # not a daemon: torch must not be at work while the interpreter ends (Server.wait)
        threading.Thread(target=compute_all, name="prepare").start()

    def queue(self, *args: Any, max_size: int = 64, **kwargs: Any) -> Self:
        """max_size: events that may wait; half of them for one client."""
        super().queue(*args, max_size=max_size, **kwargs)
        default_queue = self._queue
        self._queue = FairQueue(
            live_updates=default_queue.live_updates,
            concurrency_count=default_queue.max_thread_count,
            update_intervals=default_queue.update_intervals,
            max_size=max_size,
            blocks=self,
        )
        return self

    async def process_api(
        self,
        block_fn: Any,
        inputs: list[Any],
        *args: Any,
        event_id: str | None = None,
        event_data: Any = None,
        **kwargs: Any,
    ) -> Any:
        if event_data is not None and not isinstance(event_data._data, dict):  # callbacks read it by getattr
            event_data._data = {}
        with self.record_call(block_fn.name, event_id):
            try:
                if block_fn.fn is None:  # the page's script handles it, so only a forged request names it
                    raise UserError(PAGE_MISMATCH)
                check_text([inputs, event_data and event_data._data])
                return await super().process_api(
                    block_fn, inputs, *args, event_id=event_id, event_data=event_data, **kwargs
                )
            except Exception as error:
                raise error_for_caller(error, is_for_programs(block_fn)) from None

    async def call_function(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        with self.engine.versions.snapshot():
            return await super().call_function(*args, **kwargs)

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *rest: Any, **kwargs: Any) -> Any:
        if is_for_programs(block_fn):
            inputs = with_defaults(block_fn.fn, inputs)
        try:
            # Gradio checks paths too, but fetches links before, and copies any file of the machine if it was not told
            # that the page is launched
            traverse(inputs, upload_path, is_file_obj_with_meta)
            return await super().preprocess_data(block_fn, inputs, *rest, **kwargs)
        except (AppError, UserError):
            raise
        except Exception as error:  # missing or malformed values: no browser sends them
            raise UserError(ENDPOINT_MISMATCH if is_for_programs(block_fn) else PAGE_MISMATCH) from error

    def show_progress_once(self, idle: gr.HTML) -> None:
        """Let all events that show no progress show it on one hidden component.

        At each step of any event, Gradio's page copies all components that could show the progress of an event that
        ever ran: by default all outputs, with what is inside them.
        """
        for event in self.fns.values():
            if event.show_progress == "hidden" and event.show_progress_on is None:
                event.show_progress_on = [idle]


def is_for_programs(block_fn: Any) -> bool:
    return block_fn.api_visibility == "public"


def check_text(values: list[Any]) -> None:
    """Raise UserError for texts that the answer could not repeat: those with half a surrogate pair."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise UserError("The request contains invalid Unicode or too many nested values.") from None


def with_defaults(function: Callable, args: Any) -> Any:
    """The arguments of an endpoint with the defaults of those that were left out at the end, so that a program which
    calls it works on when the endpoint gets an optional argument. Unchanged where one without a default is missing."""
    if not isinstance(args, list):
        return args
    defaults = [parameter.default for parameter in inspect.signature(function).parameters.values()][len(args) :]
    return args if inspect.Parameter.empty in defaults else [*args, *defaults]


def upload_path(file: Any) -> str:
    """The path of a file that Gradio keeps in its folder of uploads. Raises UserError for anything else.

    Gradio checks paths only of what calls itself a file; a forged request may not.
    """
    fields = file if isinstance(file, dict) else {}
    path, url, folder = fields.get("path"), str(fields.get("url")), Path(get_upload_folder()).resolve()
    if not isinstance(path, str) or url.startswith("data:") or not Path(path).resolve().is_relative_to(folder):
        raise UserError(NOT_AN_UPLOAD)
    try:
        os.utime(path)  # uploads are deleted some time after their last use
    except OSError:
        raise UserError("That picture is no longer kept here; choose it again.") from None
    return path


class FairQueue(Queue):
    """Gradio's queue, but clients take turns, and events that nobody listens to wait for all others.

    Gradio starts events in the order of their arrival and lets one client fill the queue. Here the client goes first
    that was served longest ago, and gets at most half of the queue. An event whose client left, or has not come for its
    answer yet, starts only where nothing else runs.
    """

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.served: dict[str, float] = {}  # when a client that has other events waiting was last served
        self.ANALYTICS_MAX_EVENTS = 1  # statistics that no page shows

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add an event, unless the queue or the share of its client is full."""
        if body.session_hash == "":  # Gradio would run the event, and fail when it sends the answer
            return False, NO_SESSION, "error"
        waiting = Counter(address_of(event.request) for event, _ in self.waiting())
        if waiting.total() >= self.max_size:
            return False, QUEUE_FULL, "queue_full"
        if waiting[address_of(request)] >= max(self.max_size // 2, 1):
            return False, CLIENT_SHARE_FULL, "queue_full"
        for session in [*self.pending_event_ids_session][:-MAX_UNFETCHED]:  # Gradio keeps them for ever
            if self.event_ids_to_events.keys().isdisjoint(self.pending_event_ids_session[session]):
                del self.pending_event_ids_session[session]
        return await super().push(body, request, username)

    def send_message(self, event: Event, event_message: EventMessage) -> None:
        """Unless Gradio has forgotten the session: it would raise KeyError, which can end the queue."""
        if event.session_hash in self.pending_messages_per_session:
            super().send_message(event, event_message)

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        """The event to start next, if one may start; Gradio asks every millisecond."""
        waiting = self.waiting()
        free = [
            (event, queue)
            for event, queue in waiting
            if queue.concurrency_limit is None or queue.current_concurrency < queue.concurrency_limit
        ]
        ready = [(event, queue) for event, queue in free if listeners[event.session_hash] or listeners[event._id]]
        if not ready and not any(self.active_jobs):
            ready = free
        if not ready:
            return None
        chosen, queue = min(
            ready, key=lambda entry: (self.served.get(address_of(entry[0].request), 0.0), entry[0].enqueue_time)
        )
        queue.queue.remove(chosen)
        others = {address_of(event.request) for event, _ in waiting if event is not chosen}
        served = self.served | {address_of(chosen.request): time.monotonic()}
        self.served = {client: served[client] for client in others & served.keys()}
        return [chosen], False, queue.concurrency_id

    def compute_analytics_summary(self, records: Any) -> None:
        """Gradio summarizes the last events after each event; no page shows that."""

    def waiting(self) -> list[tuple[Event, EventQueue]]:
        return [(event, queue) for queue in self.event_queue_per_concurrency_id.values() for event in queue.queue]


def address_of(request: Any) -> str:
    return client_network(getattr(getattr(request, "client", None), "host", ""))


# The clients that read a stream of answers: open streams by session or, of a client of the API, by event
listeners: Counter[str] = Counter()


class Listening:
    """ASGI middleware: while a stream of answers is read, its client is among the `listeners`."""

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = STREAM.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if stream is None:
            return await self.app(scope, receive, send)
        query = parse_qs(scope["query_string"].decode("latin-1"))
        name = stream["event"] or query.get("session_hash", [""])[0]
        listeners[name] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            listeners.subtract([name])
            if not listeners[name]:
                del listeners[name]


class Sessions(StateHolder):
    """Gradio's sessions, without descriptions of components.

    For its deep links Gradio describes every component of the page whenever a session begins, and again what an event
    changes. That took 125 ms of the event loop, in which nobody else is answered, for each opened page and each call of
    the API, whose event is a session of its own. Addresses of this page name what they show instead
    (genius/ui/common/links.py), and Gradio's are closed (genius/ui/security.py).
    """

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Note that a session is used. Of too many, forget one that holds no value, such as that of a program's call,
        or else the one whose use is longest ago."""
        with self.lock:
            if session_id in self.session_data:
                self.session_data.move_to_end(session_id)
            while len(self.session_data) > self.capacity:
                empty = [id for id, session in self.session_data.items() if not session.state_data]
                forgotten = (empty or list(self.session_data))[0]
                if forgotten == session_id:  # one more than the capacity, until it has a value or another comes
                    break
                del self.session_data[forgotten]
                self.time_last_used.pop(forgotten, None)


class Session(SessionState):
    """The states of one visitor's page."""

    def __init__(self, blocks: gr.Blocks):
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks=()))  # none to be described

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass


class EnglishPages(FileSystemLoader):
    """Gradio's own templates of pages, without its translations: it would mark the page by the browser's language, and
    translate a few of its words."""

    def get_source(self, environment: Environment, template: str) -> Any:
        source, *rest = super().get_source(environment, template)
        script = "<script>Object.defineProperty(navigator, 'language', {value: 'en'});</script>"
        return source.replace("<head>", f"<head>{script}", 1), *rest


def prepare_to_serve(page: gr.Blocks, app: FastAPI) -> App:
    """The app of a page that gr.mount_gradio_app mounted, made ready as if the page was launched."""
    page_app = gradio_app(app)
    templates.env.loader = EnglishPages(templates.env.loader.searchpath)
    answer_failures(page_app, LOOKUP_ERRORS)
    page.state_session_capacity = MAX_SESSIONS
    page._queue.set_server_app(page_app)  # else the first call over HTTP does so
    page_app.state_holder = Sessions()
    page_app.state_holder.set_blocks(page)
    page.has_launched = True  # or Gradio would not check the paths of files
    page.is_running = True  # or its streams would send no heartbeats
    return page_app


def gradio_app(mounted: FastAPI) -> App:
    """The app that gr.mount_gradio_app mounted."""
    return mounted.routes[-1].app


def share_logins(app: App, first: App) -> None:
    """Let who is logged in on the first page be logged in on this one."""
    app.tokens, app.cookie_id = first.tokens, first.cookie_id


def knows_password(app: App, authorization: str) -> bool:
    """Whether a header of HTTP's basic login has a name of the page with its password."""
    try:
        login = base64.b64decode(authorization.removeprefix("Basic "), validate=True).decode()
    except ValueError:
        return False
    name, _, password = login.partition(":")
    return name in app.auth and secrets.compare_digest(app.auth[name].encode(), password.encode())


def is_logged_in(app: App, cookies: Mapping[str, str]) -> bool:
    """Whether the visitor with these cookies is logged in, or needs no login."""
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return app.auth is None or any(cookies.get(name) in app.tokens for name in names)


def queue_state(page: gr.Blocks) -> tuple[int, int]:
    """Numbers of calls that wait, and of those that run."""
    return len(page._queue), page._queue.get_active_worker_count()


def has_undelivered(page: gr.Blocks) -> bool:
    """Whether answers wait for clients to fetch them."""
    return any(page._queue.pending_event_ids_session.copy().values())


def queue_has_ended(page: gr.Blocks) -> bool:
    """Whether a fault ended the queue, which only another start of the server mends."""
    return page._queue.stopped
