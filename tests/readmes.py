"""The READMEs of the repository, taken apart: blocks of code, commands, links and headings."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FRONT = ROOT / "README.md"
READMES = [
    FRONT,
    *sorted(
        file
        for part in ("genius", "training", "tests")
        for file in (ROOT / part).rglob("README.md")
    ),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"(?:^|\s\s)#.*")
PROGRAMS = (
    "accelerate",
    "cp",
    "curl",
    "docker",
    "genius",
    "hf",
    "pip",
    "pytest",
    "python",
    "ruff",
    "torchrun",
)


class Block(NamedTuple):
    """A fenced block."""

    readme: Path
    language: str
    text: str


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def blocks(readme: Path, language: str | None = None) -> list[Block]:
    every = [
        Block(readme, *match.groups())
        for match in FENCE.finditer(readme.read_text(encoding="utf-8"))
    ]
    return [block for block in every if language in (None, block.language)]


def prose(readme: Path) -> str:
    """A README without its fenced blocks."""
    return FENCE.sub("", readme.read_text(encoding="utf-8"))


def commands(readme: Path) -> list[str]:
    """The commands of all shell blocks in order, without comments; a continued line is one
    command.
    """
    lines = (
        "\n".join(block.text for block in blocks(readme, "bash")).replace("\\\n", " ").splitlines()
    )
    stripped = (" ".join(COMMENT.sub("", line).split()) for line in lines)
    return [line for line in stripped if line]


def inline_commands(readme: Path) -> list[str]:
    """Commands in the prose, between backticks."""
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(readme)))
    return [
        span for span in spans if span.split()[:1] and span.split()[0] in PROGRAMS and " " in span
    ]


def module_of(command: str) -> tuple[str, list[str]] | None:
    """The module that a command runs, and the arguments; None for another program."""
    words = shlex.split(command.rpartition("&&")[2])
    while words and "=" in words[0]:  # variables of the environment
        words = words[1:]
    if words[0] == "genius":
        return "genius", words[1:]
    if "app.py" in words:
        return "app", words[words.index("app.py") + 1 :]
    if words[0] in ("python", "accelerate", "torchrun") and "-m" in words:
        at = words.index("-m")
        return words[at + 1], words[at + 2 :]
    return None


def anchors(readme: Path) -> set[str]:
    """The anchors of a file's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(readme), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(readme: Path) -> list[str]:
    """The targets of links and pictures inside the repository."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(readme))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]
