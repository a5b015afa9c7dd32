"""Who may open and change the page: the checks of the command line.

Free of Gradio, so that wrong arguments are reported before anything slow is loaded.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from genius.errors import UserError

Logins = list[tuple[str, str]]


def read_logins(auth: str | None) -> Logins:
    """The names and passwords of `NAME:PASSWORD`, or of a file with one such line per person.

    Without `auth` (None) the list is empty, and visitors need no login. Raises UserError for an empty one, which an
    unset variable leaves, and for any other line; the message does not repeat passwords.
    """
    if auth is None:
        return []
    if not auth.strip():
        raise UserError("--auth (or GENIUS_AUTH) is empty: give NAME:PASSWORD, or leave it out to require no login")
    try:
        lines = Path(auth).read_text(encoding="utf-8").splitlines() if is_file(auth) else [auth]
    except (OSError, UnicodeDecodeError):
        raise UserError(
            "The file of --auth cannot be read: it must be a text in UTF-8 that this user may open"
        ) from None
    logins = [tuple(line.strip().split(":", 1)) for line in lines if line.strip()]
    if not logins or any(len(login) < 2 or not all(login) for login in logins):
        raise UserError("--auth takes NAME:PASSWORD, or a file with one such line per person")
    return logins


def is_file(path: str) -> bool:
    """Also False for what cannot be a path, such as a long password."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def check_editing(host: str, logins: Logins, allow_anonymous: bool) -> None:
    """Raise UserError if anyone on the network could change the run without a login."""
    if not (is_loopback(host) or logins or allow_anonymous):
        raise UserError(
            f"--editable on {host} would let anyone on the network change this run: require a login with "
            "--auth NAME:PASSWORD, or pass --allow-anonymous-editing if that is what you want"
        )


def check_origins(origins: Sequence[str]) -> None:
    """Raise UserError for an origin that no browser would send."""
    for origin in origins:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
            raise UserError(f"--embed-in takes an origin such as https://example.org, not {origin!r}")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)


def is_address(host: str) -> bool:
    """Whether this is an IP address and not a name."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
