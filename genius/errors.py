"""Errors for users: one sentence that says what is wrong and what to do."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from reprlib import Repr

_short = Repr()
_short.maxstring = _short.maxlong = _short.maxother = 80  # characters

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
PROTECTED = {errno.EROFS, errno.EACCES, errno.EPERM}
MISPLACED = {errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
FULL_TEXTS = (  # of errors without errno
    "No space left",
    "disk is full",
    "requested and",  # NumPy: "300 requested and 0 written"
    "File too large",
    "quota exceeded",
)
PROTECTED_TEXTS = (
    "readonly database",
    "Read-only file system",
    "Permission denied",
    "unable to open database file",
    "disk I/O error",
)
SENTENCES = {
    "full": "the disk is full",
    "protected": "a file or folder cannot be read or written",
    "misplaced": "a file is where a folder should be, or a folder where a file should be",
}


class UserError(Exception):
    """An error that the user can fix. Its message is shown as it stands, without a traceback."""


def quoted(value: object) -> str:
    """The value as Python writes it, shortened: a message does not repeat a megabyte that was
    sent.
    """
    return _short.repr(value)


@contextmanager
def exit_on_user_error() -> Iterator[None]:
    """For command lines: a UserError or an error of the disk becomes one line on stderr and exit
    status 2, Ctrl+C one line and status 130, which shells use for it. A closed pipe ends it without
    a word. Raises SystemExit with the status.
    """
    try:
        yield
        sys.stdout.flush()
    except UserError as error:
        sentence = str(error)
    except BrokenPipeError:  # the reader, such as head, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None  # as shells call the end by SIGPIPE
    except KeyboardInterrupt:
        print("stopped; finished work is kept: run the command again", file=sys.stderr)
        raise SystemExit(130) from None
    except Exception as error:
        problem = disk_problem(error)
        if problem is None:
            raise
        sentence = (
            f"{SENTENCES[problem]} ({error}); finished work is kept: fix this and run the "
            "command again"
        )
    else:
        return
    print(f"error: {sentence}", file=sys.stderr)
    raise SystemExit(2)


def disk_problem(error: Exception) -> str | None:
    """Which of SENTENCES an error of the system, of SQLite, NumPy or safetensors means; None for
    any other error.
    """
    if not isinstance(error, OSError) and type(error).__name__ not in (
        "OperationalError",
        "SafetensorError",
    ):
        return None
    number, text = getattr(error, "errno", None), str(error)
    if number in FULL or any(words in text for words in FULL_TEXTS):
        return "full"
    if number in PROTECTED or any(words in text for words in PROTECTED_TEXTS):
        return "protected"
    return "misplaced" if number in MISPLACED else None
