"""Who is signed in: names and passwords, and the cookie of a browser or program that gave them.

All runs of a server share their logins. A signed-in visitor is known by a random token in a cookie;
an agent sends HTTP's basic login with each request.
"""

import base64
import contextlib
import html
import secrets
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Literal
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from genius.ui.security import Logins, json_refusal

COOKIE = "genius-login"
LOGIN_PAGE = Template(Path(__file__).with_name("login.html").read_text(encoding="utf-8"))
WRONG = "Name or password are wrong."
SIGNED_OUT = "You are signed out; sign in again."


class Login:
    """The logins of a server. cross_site: another site may embed the page, so its cookie must come
    along.
    """

    def __init__(self, logins: Logins, cross_site: bool = False):
        self.passwords = dict(logins)
        self.tokens: dict[str, str] = {}  # token -> name
        self.same_site: Literal["none", "lax"] = "none" if cross_site else "lax"

    def name_of(self, cookies: Mapping[str, str]) -> str | None:
        """The name of who is signed in; an empty one where nobody needs to be, None where somebody
        does.
        """
        if not self.passwords:
            return ""
        return self.tokens.get(cookies.get(COOKIE, ""))

    def knows(self, name: str, password: str) -> bool:
        known = self.passwords.get(name, secrets.token_hex(16))
        return secrets.compare_digest(known.encode(), password.encode()) and name in self.passwords

    def knows_basic(self, authorization: str) -> bool:
        """Whether a header of HTTP's basic login has a name with its password."""
        try:
            login = base64.b64decode(authorization.removeprefix("Basic "), validate=True).decode()
        except ValueError:
            return False
        name, _, password = login.partition(":")
        return self.knows(name, password)

    async def sign_in(self, request: Request) -> Response:
        """The answer to a form with username and password: a cookie; for a browser, the way to the
        page.
        """
        fields = {}
        with contextlib.suppress(ValueError):
            fields = {
                key: values[0] for key, values in parse_qs((await request.body()).decode()).items()
            }
        name = fields.get("username", "")
        reads_page = "text/html" in request.headers.get("accept", "")
        if not self.knows(name, fields.get("password", "")):
            return self.page(WRONG, 400) if reads_page else json_refusal(400, WRONG)
        answer = RedirectResponse("./", 303) if reads_page else JSONResponse({"success": True})
        token = secrets.token_urlsafe(24)
        self.tokens[token] = name
        secure = self.same_site == "none" or request.url.scheme == "https"
        answer.set_cookie(
            COOKIE, token, httponly=True, samesite=self.same_site, secure=secure, path="/"
        )
        return answer

    def sign_out(self, request: Request) -> Response:
        self.tokens.pop(request.cookies.get(COOKIE, ""), None)
        answer = RedirectResponse("./", 303)
        answer.delete_cookie(COOKIE, path="/")
        return answer

    def page(self, problem: str = "", status: int = 401) -> Response:
        """What asks a browser for a name and a password."""
        shown = LOGIN_PAGE.substitute(problem=html.escape(problem))
        return HTMLResponse(shown, status, headers={"Cache-Control": "no-store"})
