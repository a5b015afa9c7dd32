"""Serve trained runs in the browser: arguments, loading of the runs, start and end of the
server.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

# Nothing leaves the machine. Gradio and transformers read these when they are imported.
os.environ.update(
    GRADIO_ANALYTICS_ENABLED="False", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1"
)
# For how long libgomp's threads spin: a thirtieth of the default is as fast, and leaves the cores
# to other programs.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from genius.commands import subcommand_list
from genius.errors import UserError, exit_on_user_error
from genius.run import is_run, shipped_run
from genius.ui.security import Policy, check_editing, check_origins, is_loopback, read_logins

if TYPE_CHECKING:
    from genius.search.engine import Engine
    from genius.ui.page import Page

SHIPPED = (shipped_run("photos"), shipped_run("toy"))
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
MAKE_ONE = (
    "make one with: python -m genius.collections SOURCE... COLLECTION && "
    "python -m training COLLECTION RUN, then: python app.py --run RUN"
)


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line. Gradio's own variables, which hosts such as Hugging Face Spaces set, give
    the defaults.
    """
    variable = os.environ.get
    parser = argparse.ArgumentParser(
        description="Serve trained runs in the browser.",
        epilog=f"other commands, each with --help:\n{subcommand_list()}\n\n"
        "logs, /healthz, /metrics, a systemd unit and a container: genius/ui/README.md",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option = parser.add_argument
    option(
        "--run",
        type=Path,
        action="append",
        help="a trained run; repeat for more (default: the shipped runs)",
    )
    option(
        "--host",
        default=variable("GRADIO_SERVER_NAME", "127.0.0.1"),
        help="address to listen on, 0.0.0.0 for all (default: %(default)s)",
    )
    option(
        "--port",
        type=int,
        default=variable("GRADIO_SERVER_PORT", "7860"),
        help="port, 0 for any that is free (default: %(default)s)",
    )
    option(
        "--root-path",
        default=variable("GRADIO_ROOT_PATH", ""),
        metavar="PATH",
        help="public path of the page behind a proxy, such as /genius",
    )
    option(
        "--auth",
        default=variable("GENIUS_AUTH"),
        metavar="NAME:PASSWORD",
        help="require this login, or one of a file with one per line (default: the variable "
        "GENIUS_AUTH)",
    )
    option(
        "--mcp",
        action="store_true",
        help="let agents search and read the items (Model Context Protocol)",
    )
    option(
        "--editable",
        action="store_true",
        help="let visitors change the run; without it, a page that is served to oneself changes a "
        "working copy",
    )
    option(
        "--allow-anonymous-editing",
        action="store_true",
        help="--editable without a login on any address",
    )
    option(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name under which visitors open the page, such as genius.example.org; "
        "repeat for more",
    )
    option(
        "--embed-in",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a site that may embed the page and call it, such as https://example.org; repeat for "
        "more (default: none)",
    )
    option(
        "--max-queue",
        type=int,
        default=64,
        metavar="N",
        help="requests to one run that may wait for their turn, half of them from one address "
        "(default: %(default)s)",
    )
    option(
        "--cluster",
        metavar="ADDRESS",
        help="let the parts of a cluster scan the IDs (genius cluster serve): its address, or auto",
    )
    option("--device", help="cpu, cuda, cuda:1, … (default: a GPU if there is one)")
    option(
        "--log-json",
        action="store_true",
        help="write the log to stdout, also each call, as a JSON object per line",
    )
    option(
        "--drain-seconds",
        type=float,
        default=20,
        metavar="SECONDS",
        help="after SIGTERM, how long to answer what was accepted before (default: %(default)s)",
    )
    return parser.parse_args(argv)


def runs_to_serve(chosen: Sequence[Path] | None) -> list[Path]:
    """The chosen runs, or the shipped ones that exist. Raises UserError without one, or for two of
    one name.
    """
    runs = chosen or [run for run in SHIPPED if is_run(run)]
    if not runs:
        raise UserError(f"There is no run in {SHIPPED[0].parent}; {MAKE_ONE}")
    names: dict[str, Path] = {}
    for run in runs:
        if not is_run(run):
            raise UserError(f"There is no run at {os.path.relpath(run)}; {MAKE_ONE}")
        name = run.resolve().name
        if name in names and names[name].resolve() == run.resolve():
            raise UserError(f"--run {os.path.relpath(run)} was given twice; name each run once")
        if name in names:
            raise UserError(
                f"{os.path.relpath(names[name])} and {os.path.relpath(run)} would both be served "
                f"as /run/{name}/; rename one of the folders"
            )
        names[name] = run
    return list(runs)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Inside the block SIGTERM raises SystemExit(0) on the main thread; a second one ends the
    process at once.
    """

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise SystemExit(0)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@lru_cache(1)
def prepare_process() -> None:
    """What concerns the threads and the memory of the whole process, once."""
    from genius.runtime import keep_freed_memory
    from genius.search.batching import leave_cores_to_engines

    keep_freed_memory(shared=True)
    leave_cores_to_engines()


def check(options: argparse.Namespace) -> None:
    """Raises UserError for what cannot be served in this way."""
    check_origins(options.embed_in)
    if not 0 <= options.port <= 65535:
        raise UserError(f"--port must be from 0 to 65535, not {options.port}")
    if options.max_queue < 1:
        raise UserError(f"--max-queue must be at least 1, not {options.max_queue}")
    for option, package in (("cluster", "ray"), ("mcp", "mcp")):
        if getattr(options, option) and not find_spec(package):
            raise UserError(
                f"--{option} needs one more package: pip install 'genius-explorer[{option}]'"
            )


def engine_loader(run: Path, options: argparse.Namespace) -> Callable[[], Engine]:
    """What loads the engine of a run: of this process, or of a cluster."""
    if options.cluster:
        from genius.cluster.serving import connected

        return partial(connected, run, options.cluster, options.device)
    from genius.search.engine import Engine

    return partial(Engine.load, run, options.device)


def load_page(
    run: Path,
    options: argparse.Namespace,
    editable: bool,
    run_names: tuple[str, ...],
    copies: ExitStack | None,
) -> Page:
    """The page of a run: slow to import, so the port is open by then.

    editable: visitors may change the run, or a working copy, which ends with copies.
    """
    from genius.ui.monitoring import SERVER_LOG

    SERVER_LOG.info("Loading %s …", run, extra={"event": "loading"})
    load_engine = engine_loader(run, options)
    prepare_process()
    with ThreadPoolExecutor(1, "load") as loader:
        loading = loader.submit(load_engine)
        from genius.search.editor import folder_for_copy
        from genius.ui.common.context import ServedRun
        from genius.ui.page import Page  # and Gradio, while the models are read

        copy = copies.enter_context(folder_for_copy(run)) if copies else None
        served = ServedRun.read(run, editable, run_names, copy, login=bool(options.auth))
        engine = loading.result()
    engine.follow()
    return Page(engine, served)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    with exit_on_user_error(), exit_on_sigterm(), ExitStack() as folders:
        logins = read_logins(options.auth)
        if options.editable:
            check_editing(options.host, logins, options.allow_anonymous_editing)
        check(options)
        runs = runs_to_serve(options.run)
        # of no use here, and Gradio cannot be imported where one names a SOCKS proxy
        for name in PROXIES:
            os.environ.pop(name, None)
        # only once there is a run to serve
        from genius.ui.monitoring import SERVER_LOG, configure_logs
        from genius.ui.runs import HostedRun, Hosting
        from genius.ui.serving import serve

        own = is_loopback(options.host) and not (
            logins or options.root_path or options.allowed_host or options.embed_in
        )
        editable = options.editable or own
        copied = own and not options.editable
        configure_logs(options.log_json)
        hosts = tuple(host.lower() for host in (options.host, *options.allowed_host))
        policy = Policy(editable, copied, hosts, tuple(options.embed_in))
        listening = options.host, options.port, options.root_path
        hosting = Hosting(
            *listening, logins, policy, options.max_queue, options.drain_seconds, options.mcp
        )
        load = partial(
            load_page,
            options=options,
            editable=editable,
            run_names=tuple(run.resolve().name for run in runs),
            copies=folders if copied else None,
        )
        server = serve([HostedRun(run, partial(load, run)) for run in runs], hosting)
        SERVER_LOG.info("Serving at %s until Ctrl+C", server.address, extra={"event": "serving"})
        still_computing = server.wait()
    if still_computing:
        os._exit(0)  # threads that still compute would delay the end, or crash
