"""Answers that are a sentence: a page for a browser, JSON for a program."""

import html
from pathlib import Path
from string import Template

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from genius.ui.security import json_refusal

REFRESH_SECONDS = 1  # after which the notice that a run is being loaded loads itself again
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
