"""Answers that are a sentence: a page for a browser, JSON for a program. The log gets one line for
each refused request, and a traceback only for a fault of ours.
"""

import html
import logging
from pathlib import Path
from string import Template

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from genius.errors import UserError
from genius.ui.security import json_refusal

SERVER_FAULT = "Something went wrong on the server; its log has the details."
MAX_SENTENCE = 400  # characters
REFRESH_SECONDS = 1  # after which the notice that a run is being loaded loads itself again
log = logging.getLogger(__name__)
NOTICE_PAGE = Template(Path(__file__).with_name("notice.html").read_text(encoding="utf-8"))


def wants_page(scope: Scope) -> bool:
    """Whether the request is that of a browser for a page, and not that of a program."""
    return scope["method"] in ("GET", "HEAD") and "text/html" in Headers(scope=scope).get(
        "accept", ""
    )


def refusal(scope: Scope, status: int, sentence: str, refresh: bool = False) -> Response:
    """The answer to a request that is refused."""
    if wants_page(scope):
        return notice_page(scope, status, sentence, refresh)
    return json_refusal(status, sentence)


def notice_page(scope: Scope, status: int, sentence: str, refresh: bool = False) -> Response:
    """A page with one sentence, and a link to the first run; refresh: it loads itself again after a
    while instead.
    """
    refresh_tag = f'<meta http-equiv="refresh" content="{REFRESH_SECONDS}">' if refresh else ""
    # relative, as a proxy may serve all this below a path
    home = "../" * (scope["path"].count("/") - 1) or "./"
    link = "" if refresh else f'\n<p><a href="{home}">To the first run</a></p>'
    page = NOTICE_PAGE.substitute(refresh=refresh_tag, sentence=html.escape(sentence), link=link)
    return HTMLResponse(page, status, headers={"Cache-Control": "no-store"})


def sentence_for(error: Exception) -> str:
    """What the caller of an endpoint is told."""
    if isinstance(error, UserError):
        sentence = shortened(str(error))
        log.warning("refused a request: %r", shortened(str(error.__cause__ or sentence)))
        return sentence
    log.error("an endpoint failed", exc_info=error)
    return SERVER_FAULT


def shortened(sentence: str) -> str:
    return sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}…"
