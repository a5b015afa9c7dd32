"""What the page looks at: GET routes that answer with JSON or a file, each with an ETag.

A look is a function. Its parameters are read by their names from the path and the query string of a
request; it answers with what JSON can hold, or with a `File`. It changes nothing, so a browser may
keep what it got and ask only whether that is still true.
"""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, get_type_hints
from urllib.parse import quote

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from genius.errors import UserError, quoted
from genius.search.batching import Asker, asker
from genius.search.engine import Engine
from genius.ui.answers import SERVER_FAULT, shortened
from genius.ui.security import client_of, json_refusal

REVALIDATED = "private, no-cache"  # a browser keeps it, and asks whether it is still true
KEPT = "private, max-age=600"

log = logging.getLogger(__name__)


class NotFound(UserError):
    """There is nothing of that name."""


@dataclass(frozen=True)
class File:
    """A file as an answer. name: the browser saves it under this name."""

    content: bytes
    type: str
    name: str = ""
    kept: bool = False  # a browser may show it again for ten minutes without asking


def look_route(path: str, look: Callable[..., Any], engine: Engine) -> Route:
    """A route below the address of a run. path: as Starlette writes it, such as items/{id}."""
    hints = get_type_hints(look)
    parameters = inspect.signature(look).parameters

    async def answer(request: Request) -> Response:
        try:
            given = read_arguments(request, parameters, hints)
            asked_by = Asker(client_of(request.scope))
            found = await run_sync(partial(answer_look, look, given, engine, asked_by))
        except NotFound as error:
            return json_refusal(404, shortened(str(error)))
        except UserError as error:
            log.warning("refused %s: %r", quoted(request.url.path), shortened(str(error)))
            return json_refusal(400, shortened(str(error)))
        except Exception:
            log.exception("a look failed")
            return json_refusal(500, SERVER_FAULT)
        return with_etag(found, request)

    return Route(f"/{path}", answer, methods=["GET"])


def answer_look(look: Callable[..., Any], given: dict[str, Any], engine: Engine, by: Asker) -> File:
    """What the look answers, as a file."""
    asker.set(by)
    with engine.snapshots.held():
        found = look(**given)
    if isinstance(found, File):
        return found
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return File(text.encode(), "application/json")


def read_arguments(request: Request, parameters: Any, hints: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a look. Raises UserError for one that is missing, or has another type."""
    given = {**request.query_params, **request.path_params}
    arguments = {}
    for name, parameter in parameters.items():
        if name in given:
            arguments[name] = converted(name, given[name], hints.get(name, str))
        elif parameter.default is inspect.Parameter.empty:
            raise UserError(f"The address lacks {name}.")
    return arguments


def converted(name: str, text: str, kind: type) -> Any:
    """A value of the address. Raises UserError for another type."""
    if kind is bool:
        return text not in ("", "0", "false")
    try:
        text.encode()
        return kind(text)
    except ValueError:
        raise UserError(
            f"{name} must be of the type {kind.__name__}, not {quoted(text)}."
        ) from None


def with_etag(found: File, request: Request) -> Response:
    """The file, or 304 where the browser has it."""
    etag = f'"{hashlib.blake2b(found.content, digest_size=12).hexdigest()}"'
    headers = {
        "ETag": etag,
        "Cache-Control": KEPT if found.kept else REVALIDATED,
        "X-Content-Type-Options": "nosniff",
    }
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if found.name:
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(found.name)}"
    return Response(found.content, media_type=found.type, headers=headers)
