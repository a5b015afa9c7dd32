"""The commands, snippets, paths and links of the READMEs exist and work.

Every command is parsed by the parser of its module, which knows its options and their values. Those
that need only two folders of images run in order with a tiny run, as a reader would enter them.
"""

import argparse
import ast
import json
import re
import runpy
import shlex
import shutil
import sys
import urllib.request
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from genius.ui import page as page_module
from genius.ui.common.context import Panel, ServedRun
from genius.ui.files import STATIC
from genius.ui.page import Page
from genius.ui.serving import Server
from tests import readmes
from tests.collections.samples import picture
from tests.readmes import FRONT, READMES, ROOT
from tests.training.tiny import TINY
from tests.ui.fake_engine import FakeEngine
from tests.waiting import free_port
from training.presets import PRESETS
from training.settings import with_changes

COMMANDS = list(
    dict.fromkeys(command for readme in READMES for command in readmes.commands(readme))
)
INLINE = list(
    dict.fromkeys(command for readme in READMES for command in readmes.inline_commands(readme))
)
PARSED = [command for command in COMMANDS if readmes.module_of(command)]
SNIPPETS = [block for readme in READMES for block in readmes.blocks(readme, "python")]
# with only:
RUN = ("genius.collections", "training", "genius.evaluation", "genius.export", "genius.index")
WORDS = {
    "my-collection",
    "my-run",
    "my-toy",
    "photos",
    "products=shop",
    "holiday=photos",
    "0:1",
    "0:2",
}
WORDS |= {"my-run.parquet", "--site", "my-site"}
WORDS |= {"--check", "--beams", "1,5,10,20,30,50", "add", "remove", "check", "compact"}
CALLS_A_SERVER = "Client("


class ParsedArguments(Exception):
    """Raised in place of what a command does after its arguments are read."""


def start(module: str, arguments: list[str]) -> None:
    """What `python -m module` does, in this process: importing torch once is enough for all
    commands.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, *arguments])
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            assert ended.code in (None, 0), (
                f"{module} {shlex.join(arguments)} ends with {ended.code}"
            )


# of runpy: this process has imported it
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("command", PARSED)
def test_the_parser_of_a_command_takes_its_arguments(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module, arguments = readmes.module_of(command)
    parse = argparse.ArgumentParser.parse_args

    def parse_args(parser, *given):
        parse(parser, *given)
        raise ParsedArguments

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    with pytest.raises(ParsedArguments):
        start(module, arguments)
    changes = [value for flag, value in pairwise(arguments) if flag == "--set"]
    if changes and module.startswith("training") and module != "training.ablations":
        preset = arguments[arguments.index("--preset") + 1] if "--preset" in arguments else "small"
        with_changes(PRESETS[preset], changes)


@pytest.mark.parametrize("command", [*COMMANDS, *INLINE])
def test_the_modules_and_files_that_a_command_names_exist(command):
    if parsed := readmes.module_of(command):
        assert find_spec(parsed[0])
    for file in re.findall(r"(?<![\w/-])(?:tests|assets)/[\w./-]+|requirements\.txt", command):
        assert (ROOT / file).exists()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory) -> Path:
    """Two folders of images with texts."""
    place = tmp_path_factory.mktemp("readme")
    for folder, colors in (("photos", ("red", "blue")), ("shop", ("green", "yellow"))):
        (place / folder).mkdir()
        for number in range(24):
            (place / folder / f"{number}.png").write_bytes(
                picture(number + 100 * (folder == "shop"))
            )
        lines = [
            f"{number}.png,A {colors[number % 2]} thing number {number}." for number in range(24)
        ]
        (place / folder / "texts.csv").write_text("\n".join(["image,text", *lines]) + "\n")
    (place / "assets").symlink_to(ROOT / "assets")
    return place


def runnable() -> list[str]:
    chosen = []
    for command in COMMANDS:
        words = shlex.split(command)
        module, arguments = readmes.module_of(command) or (words[0], words[1:])
        if (module in RUN and set(arguments) <= WORDS) or (module == "cp" and words[-1] in WORDS):
            chosen.append(command)
    return chosen


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
def test_the_commands_for_own_images_run_in_order_and_the_run_is_served(workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    monkeypatch.setitem(PRESETS, "small", TINY)  # seconds instead of hours
    monkeypatch.setattr("training.command_line.FEW", 0)
    front = [command for command in readmes.commands(FRONT) if command in runnable()]
    assert len(front) >= 4
    for command in runnable():
        words = shlex.split(command)
        if words[0] == "cp":
            shutil.copytree(words[-2], words[-1])
        else:
            start(*readmes.module_of(command))
    assert (workplace / "my-run" / "reports" / "retrieval.md").is_file()
    answers = []

    def visit(address: str) -> None:
        with urllib.request.urlopen(f"{address}/healthz", timeout=60) as answer:
            answers.append(json.load(answer))

    serve_until(visit, ["--run", "my-run"], monkeypatch)
    assert "python app.py --run my-run" in COMMANDS and answers == [{"status": "ready"}]


def serve_until(visit: Callable[[str], None], arguments: list[str], monkeypatch) -> None:
    """Run app.py on a free port; where it would wait for Ctrl+C, visit its address and end it."""
    port = str(free_port())

    def wait(server: Server) -> None:
        try:
            visit(f"http://127.0.0.1:{port}")
        finally:
            server.close()

    monkeypatch.setattr(Server, "wait", wait)
    start("app", [*arguments, "--port", port])


@pytest.mark.parametrize("block", SNIPPETS, ids=lambda block: readmes.name(block.readme))
def test_a_python_snippet_runs_as_it_stands(block, monkeypatch, capsys):
    ast.parse(block.text)
    monkeypatch.chdir(ROOT)
    torch.manual_seed(0)
    if CALLS_A_SERVER not in block.text:
        exec(compile(block.text, readmes.name(block.readme), "exec"), {})
        assert capsys.readouterr().out.strip()


def test_the_shipped_runs_answer_a_program(tmp_path, monkeypatch):
    (block,) = [block for block in SNIPPETS if CALLS_A_SERVER in block.text]
    monkeypatch.chdir(tmp_path)
    Path("photo.jpg").write_bytes(picture(1))  # any picture; the guarded opener looks at its bytes
    names: dict = {}
    serve_until(
        lambda address: exec(block.text.replace("http://127.0.0.1:7860", address), names),
        ["--device", "cpu"],
        monkeypatch,
    )
    answer = next(value for value in names.values() if isinstance(value, dict) and "hits" in value)
    assert len(answer["hits"]) == 10 and answer["generated"]


@pytest.mark.parametrize("readme", READMES, ids=readmes.name)
def test_paths_modules_and_links_exist(readme):
    for span in re.findall(r"`([^`\s]+)`", readmes.prose(readme)):
        if re.fullmatch(r"(genius|training|tests|assets)(/[\w.-]+)+/?|[\w/]+\.py", span):
            assert any(
                (place / span).exists() for place in (ROOT, readme.parent, ROOT / "genius")
            ), span
        elif re.fullmatch(r"(genius|training|tests)(\.\w+)+", span):
            assert find_spec(span), span
    for target in readmes.links(readme):
        file, _, heading = target.partition("#")
        path = (readme.parent / file).resolve() if file else readme
        assert path.exists() and (not heading or heading in readmes.anchors(path)), target


def test_every_readme_is_found_from_the_front_page_and_every_package_is_on_its_map():
    reached = set()
    todo = [FRONT]
    while todo:
        readme = todo.pop()
        reached.add(readme)
        linked = {
            (readme.parent / target.partition("#")[0]).resolve() for target in readmes.links(readme)
        }
        todo += [file for file in linked if file.name == "README.md" and file not in reached]
    assert reached == set(READMES)
    packages = [f"genius/{file.parent.name}" for file in (ROOT / "genius").glob("*/__init__.py")]
    assert not [
        package for package in packages if f"({package}" not in FRONT.read_text(encoding="utf-8")
    ]


def test_the_front_page_begins_with_the_two_commands():
    two = [
        "pip install -r requirements.txt && python app.py",
        "pip install -r requirements.txt && pytest",
    ]
    assert (
        readmes.commands(FRONT)[:2] == two and len(readmes.blocks(FRONT)[0].text.splitlines()) == 2
    )


def test_a_tab_is_an_entry_in_the_list_of_panels(monkeypatch):
    def notes(context):
        return Panel({"notes": lambda: {"items": context.engine.index.n}})

    monkeypatch.setattr(page_module, "PANELS", (*page_module.PANELS, notes))
    assert Page(FakeEngine(), ServedRun(Path("made-up"))).looks["notes"]() == {
        "items": FakeEngine().index.n
    }
    assert "const TABS = {" in (STATIC / "page/page.js").read_text(encoding="utf-8")
    contributing = FRONT.read_text(encoding="utf-8").partition("## Contributing")[2]
    assert "`PANELS` of `genius/ui/page.py`" in contributing
    assert "`TABS` of `genius/ui/static/page/page.js`" in contributing
    # tests/training/test_stage.py adds one
    assert "`STAGES` of `training/stage.py`" in contributing
