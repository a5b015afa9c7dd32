"""How the page is served: its address, who may open it, how it is watched and how it ends."""

import asyncio
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit

import prometheus_client
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from genius.errors import UserError
from genius.ui.answers import SERVER_FAULT
from genius.ui.monitoring import HEALTH, METRICS, SERVER_LOG, Monitor, Traffic
from genius.ui.runs import HostedRun, Hosting, Runs
from genius.ui.security import Guard, is_loopback, json_refusal

SMALLEST_COMPRESSED = 1_000  # bytes
DELIVERY_SECONDS = 5  # for clients to fetch the last answers when the server shuts down
# names of threads that compute for the first visitors: Page.prepare, scan.compiling, Engine.load
AT_WORK = ("prepare", "compile", "load")
WAKE_SECONDS = 1  # after which the main thread sees a signal that the system gave to another thread


class Front:
    """ASGI middleware, before all others: takes the path below which visitors know the site off the
    address, where a proxy leaves it on, and names this server, so that a page notices that another
    one answers.
    """

    def __init__(self, app: ASGIApp, root_path: str):
        self.app = app
        self.prefix = urlsplit(root_path).path.rstrip("/")
        self.name = secrets.token_hex(8).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"x-server", self.name)]
            await send(message)

        path = scope.get("path", "")
        if self.prefix and f"{path}/".startswith(f"{self.prefix}/"):
            path = path[len(self.prefix) :] or "/"
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        await self.app(scope, receive, send_named)


class UvicornServer(uvicorn.Server):
    """Ends the app's lifespan also when it is to end at once; uvicorn lets it be cancelled then,
    with a traceback.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def is_fault(record: logging.LogRecord) -> bool:
    """Whether a record of uvicorn tells a fault; that a request is cut off when the server ends is
    none.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


class Server:
    """The pages, served by a thread of its own."""

    def __init__(self, app: Starlette, runs: Runs, listener: socket.socket, hosting: Hosting):
        self.runs = runs
        self.monitor = runs.monitor
        self.drain_seconds = hosting.drain_seconds
        host = hosting.host
        name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        self.address = f"http://{name}:{listener.getsockname()[1]}"
        logging.getLogger("uvicorn.error").addFilter(is_fault)
        self._server = UvicornServer(
            uvicorn.Config(
                app,
                log_level="warning",
                log_config=None,
                timeout_graceful_shutdown=DELIVERY_SECONDS,
            )
        )
        self._listener = listener
        # Thread.join does not wait again once a signal has interrupted it
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()
        while not self._server.started and not self._ended.is_set():
            time.sleep(0.01)

    def _run(self) -> None:
        try:
            self._server.run([self._listener])
        finally:
            self._ended.set()

    def wait(self) -> bool:
        """Return when the server has ended: at once after Ctrl+C, and after SIGTERM when it has
        answered what it had accepted, if the signal raises SystemExit (app.py).

        Returns whether threads still compute, for which the interpreter would wait, or crash.
        """
        unanswered = 0
        try:
            while not self._ended.wait(WAKE_SECONDS):
                pass
        except KeyboardInterrupt:
            unanswered = self.monitor.unanswered()
            self.close()
        except SystemExit:
            unanswered = self.drain()
        return unanswered > 0 or any(
            thread.name.startswith(AT_WORK) for thread in threading.enumerate()
        )

    def drain(self) -> int:
        """Refuse new requests, answer those that were accepted, for at most `drain_seconds`, and
        end.

        Returns how many calls were left unanswered.
        """
        self.monitor.state = "draining"
        unanswered = self.monitor.unanswered()
        SERVER_LOG.info(
            "Shutting down; calls to answer first: %d", unanswered, extra={"event": "draining"}
        )
        if unanswered := wait_while(self.monitor.unanswered, self.drain_seconds):
            calls = "call was" if unanswered == 1 else "calls were"
            SERVER_LOG.warning(
                "%d %s left unanswered", unanswered, calls, extra={"event": "cut off"}
            )
        wait_while(self.monitor.undelivered, DELIVERY_SECONDS)
        self.runs.stop()
        self._server.should_exit = True  # it completes the responses that it is sending
        self._ended.wait(DELIVERY_SECONDS + 1)
        self.close()
        return unanswered

    def close(self) -> None:
        """End at once."""
        self.runs.stop()
        self._server.should_exit = self._server.force_exit = True
        self._ended.wait(5)


def wait_while(waiting: Callable[[], int], seconds: float) -> int:
    """For at most so long; -> what is waiting then."""
    end = time.monotonic() + seconds
    while (left := waiting()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def serve(runs: Sequence[HostedRun], hosting: Hosting) -> Server:
    """Serve in the background, and return when the first run is loaded.

    Raises UserError if the address is taken, and what loading the run raises.
    """
    monitor = Monitor()
    pages = Runs(runs, hosting, monitor)
    listener = listen(hosting.host, hosting.port)
    # on other addresses anybody can read the page anyway, under any name
    checks_host = hosting.policy.editable or is_loopback(hosting.host)

    async def health(request: Request) -> Response:
        """200 once the first run is loaded, until the server shuts down."""
        return JSONResponse({"status": monitor.state}, 200 if monitor.state == "ready" else 503)

    async def metrics(request: Request) -> Response:
        text = prometheus_client.generate_latest(monitor.registry)
        return Response(text, media_type=prometheus_client.CONTENT_TYPE_LATEST)

    async def fault(request: Request, error: Exception) -> Response:
        return json_refusal(500, SERVER_FAULT)

    app = Starlette(
        routes=[Route(HEALTH, health), Route(METRICS, metrics), Mount("/", pages)],
        middleware=[
            Middleware(Front, root_path=hosting.root_path),
            Middleware(Traffic, monitor=monitor),
            Middleware(Guard, policy=hosting.policy, checks_host=checks_host),
            Middleware(
                CORSMiddleware,
                allow_origins=hosting.policy.origins,
                allow_methods=["*"],
                allow_credentials=bool(hosting.policy.origins),
            ),
            # the page's files are compressed already; streams are of a type that is never
            # compressed
            Middleware(GZipMiddleware, minimum_size=SMALLEST_COMPRESSED, compresslevel=5),
        ],
        exception_handlers={Exception: fault},
        lifespan=pages.lifespan,
    )
    server = Server(app, pages, listener, hosting)
    server.start()
    try:
        pages.load_first()
    except BaseException:
        server.close()
        raise
    return server


def listen(host: str, port: int) -> socket.socket:
    """A socket of this address. Raises UserError if there is none.

    asyncio sends small messages at once (TCP_NODELAY) only on sockets whose protocol is named,
    which `create_server` leaves open. Otherwise each message of a stream waits some 40 ms for the
    acknowledgement of the one before, and the end of a stream can reach the page after the answer
    to its next event, whose own stream it then never opens.
    """
    try:
        listener = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        return socket.socket(
            listener.family, listener.type, socket.IPPROTO_TCP, fileno=listener.detach()
        )
    except (OSError, OverflowError):
        raise UserError(
            f"{host}:{port} is in use, or is not an address of this machine; choose "
            "another --port or --host"
        ) from None
