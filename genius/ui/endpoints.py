"""The public endpoints of a run, as Gradio serves them: queue, streams of answers, uploads,
`gradio_client`.

Of Gradio only public names are used. An endpoint is a function with types and a docstring; `gr.api`
makes its address, and `Gate` stands before Gradio's application: it opens only the addresses that
clients need, accepts calls as `Calls` allows, completes and checks their arguments, and answers
every failure with a sentence.
"""

import inspect
import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, get_type_hints

# where uploads lie
os.environ.setdefault("GRADIO_TEMP_DIR", str(Path(tempfile.gettempdir()) / "gradio"))
# it would remember 10,000 calls, of which we ask nothing
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")

import gradio as gr
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from genius.errors import UserError
from genius.search.engine import Engine
from genius.ui.answers import sentence_for
from genius.ui.calls import Call, Calls
from genius.ui.security import MAX_EDITOR_UPLOAD, UPLOAD_LIFETIME

# bytes of a file that is uploaded, which may be a ZIP where visitors add items
MAX_FILE = 10 * 2**20
# that Gradio keeps, each with a description of all endpoints; they hold nothing of a caller
MAX_SESSIONS = 64
CALL = "x-genius-call"  # the header by which a function finds its call; the gate sets it

Recorder = Callable[[str, Call], AbstractContextManager[None]]


class Endpoints:
    """The functions that programs may call, and the calls of them.

    public: those that are documented, also for agents. page: those of the page alone. record: makes
    a context around each call, from the name of its function and the call.
    """

    def __init__(
        self,
        public: Sequence[Callable],
        page: Sequence[Callable],
        engine: Engine,
        record: Recorder,
        most: int,
    ):
        self.public = {function.__name__: function for function in public}
        self.functions = self.public | {function.__name__: function for function in page}
        self.engine = engine
        self.record = record
        self.calls = Calls(most)

    @contextmanager
    def answering(self, name: str, call_id: str) -> Iterator[None]:
        """Around a function: it sees one snapshot of the index."""
        with (
            self.calls.answering(call_id) as call,
            self.record(name, call),
            self.engine.snapshots.held(),
        ):
            if call.refusal:
                raise UserError(call.refusal)
            yield

    def served(self, name: str) -> Callable:
        """The function as Gradio calls it: with the request, which names the call, as its last
        argument.
        """
        function = self.functions[name]

        def answer(*arguments: Any) -> Any:
            with in_a_sentence(), self.answering(name, arguments[-1].headers.get(CALL, "")):
                return function(*arguments[:-1])

        def values_of(*arguments: Any) -> Generator[Any, None, None]:
            with in_a_sentence(), self.answering(name, arguments[-1].headers.get(CALL, "")):
                yield from function(*arguments[:-1])

        def stream(*arguments: Any) -> Iterator[Any]:
            """Gradio asks for each value on another thread; what is set around the function is of
            one context.
            """
            context, values = copy_context(), values_of(*arguments)
            try:
                yield from iter(lambda: context.run(next, values, None), None)
            finally:
                context.run(values.close)

        return with_request(function, stream if inspect.isgeneratorfunction(function) else answer)

    def application(self, root_path: str, editable: bool) -> FastAPI:
        """Gradio's application with these endpoints, without its page."""
        with gr.Blocks(analytics_enabled=False, delete_cache=(60, UPLOAD_LIFETIME)) as blocks:
            for name in self.functions:
                seen = "public" if name in self.public else "undocumented"
                kind = getattr(self.functions[name], "one_at_a_time", None)
                gr.api(
                    self.served(name),
                    api_name=name,
                    api_visibility=seen,
                    concurrency_limit=1 if kind else None,
                    concurrency_id=kind,
                )
        blocks.queue(api_open=False)
        blocks.state_session_capacity = MAX_SESSIONS
        # its own rules for other origins do not apply where there are rules already: those of the
        # server
        app = FastAPI(middleware=[Middleware(CORSMiddleware)], openapi_url=None)
        gr.mount_gradio_app(
            app,
            blocks,
            path="/",
            root_path=root_path,
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            show_error=False,
            enable_monitoring=False,
            pwa=False,
            allowed_paths=[],
            max_file_size=MAX_EDITOR_UPLOAD if editable else MAX_FILE,
            mcp_server=False,
        )
        return app


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Around a function: what fails is told by Gradio in one sentence."""
    try:
        yield
    except Exception as error:
        raise gr.Error(sentence_for(error), print_exception=False) from None


def with_request(function: Callable, served: Any) -> Callable:
    """`served` with the name, the types and the docstring of a function, and a last parameter for
    the request.
    """
    signature = inspect.signature(function)
    request = inspect.Parameter(
        "request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request
    )
    served.__name__, served.__doc__ = function.__name__, function.__doc__
    served.__annotations__ = get_type_hints(function) | {"request": gr.Request}
    parameters = [*signature.parameters.values(), request.replace(default=None)]
    served.__signature__ = signature.replace(parameters=parameters)
    return served


def upload_folder() -> Path:
    """Where Gradio keeps uploads."""
    return Path(os.environ["GRADIO_TEMP_DIR"]).resolve()


def completed(function: Callable, arguments: Any) -> list[Any] | None:
    """The arguments of a call, in order or by name, with the defaults of those that were left out;
    None where they do not fit.
    """
    bind = inspect.signature(function).bind
    try:
        if isinstance(arguments, dict):
            bound = bind(**arguments)
        elif isinstance(arguments, list):
            bound = bind(*arguments)
        else:
            return None
    except TypeError:
        return None
    bound.apply_defaults()
    return [*bound.arguments.values()]
