"""Errors for users: one sentence that says what is wrong and what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """An error that the user can fix. Its message is shown as it stands, without a traceback."""


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """For command lines: a UserError becomes one line on stderr and exit status 2."""
    try:
        yield
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
