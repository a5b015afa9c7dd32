"""Who may open the page: names and passwords, from the command line, a file or the environment.

Gradio-free, so that wrong arguments are told before anything slow is loaded.
"""

from __future__ import annotations

from pathlib import Path

from genius.errors import UserError

People = list[tuple[str, str]]


def read_people(auth: str | None) -> People:
    """`NAME:PASSWORD`, or a file with one such line a person; nothing is asked of visitors if there is none.

    Raises UserError for a line that is no such pair; passwords are not repeated.
    """
    if not auth:
        return []
    lines = (
        [auth]
        if not (file := Path(auth)).is_file()
        else [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    )
    people = [tuple(line.strip().split(":", 1)) for line in lines]
    if not people or any(len(pair) < 2 or not all(pair) for pair in people):
        raise UserError("--auth takes NAME:PASSWORD, or a file with one such line for each person")
    return people
