"""The shape of the code: which package imports which. genius/README.md says it in words."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from training import ROOMS

ROOT = Path(__file__).resolve().parent.parent
CODE = sorted(
    [*(ROOT / "genius").rglob("*.py"), *(ROOT / "training").rglob("*.py"), ROOT / "app.py"]
)
BASE = {
    "commands",
    "errors",
    "files",
    "locks",
    "reading",
    "reports",
    "run",
    "runtime",
    "schema",
    "texts",
}

ALLOWED = {  # what each package of genius may import besides itself
    "trie": set(),
    "models": {"errors", "files", "reading", "runtime", "schema", "texts", "trie"},
    "collections": BASE,
    "metrics": {"errors", "schema", "trie"},
    "encoding": BASE | {"collections", "models"},
    "index": BASE | {"collections", "encoding", "models", "trie"},
    "search": BASE | {"collections", "encoding", "hub", "index", "models", "trie"},
    "evaluation": BASE
    | {"collections", "encoding", "index", "metrics", "models", "search", "trie"},
    "cluster": BASE | {"commands", "index", "models", "search", "trie"},
    "explore": BASE | {"collections", "examples", "index", "metrics", "models", "search", "trie"},
    "ui": BASE | {"collections", "examples", "explore", "index", "metrics", "search", "trie"},
}
LIBRARIES = {"trie": {"numpy", "torch"}}  # all that a package may import from outside
PAGE = ("app.py", "genius/app.py", "genius/ui")  # what may import the page


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(file: Path) -> frozenset[str]:
    """Every module that a file imports, at the top or inside functions, with full names."""
    return frozenset(_imported(file))


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if is_module(name) else node.module for name in inside)


def is_module(name: str) -> bool:
    path = ROOT / Path(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def part(module: str) -> str | None:
    """The package or top module of genius that a module belongs to."""
    names = module.split(".")
    return names[1] if names[0] == "genius" and len(names) > 1 else None


@cache
def imports() -> dict[str, set[str]]:
    """What each package or top module of genius imports from the others."""
    graph = defaultdict(set)
    for file in CODE:
        if package := part(module_name(file)):
            graph[package] |= {part(name) for name in imported(file)} - {package, None}
    return dict(graph)


def test_training_imports_genius_and_genius_never_training_and_nothing_the_tests():
    for file in CODE:
        roots = {name.split(".")[0] for name in imported(file)}
        assert "tests" not in roots, file
        assert file.is_relative_to(ROOT / "training") or "training" not in roots, file


def room(module: str) -> str:
    """The room of a module of training; empty for what stands on none of them."""
    names = module.split(".")
    return names[1] if names[0] == "training" and len(names) > 1 and names[1] in ROOMS else ""


def test_a_room_of_training_imports_the_rooms_before_it_and_modules_by_their_rooms():
    short = {
        file.stem
        for name in ROOMS
        for file in (ROOT / "training" / name).iterdir()
        if not file.name.startswith("_")
    }
    for file in CODE:
        used = [name for name in imported(file) if name.split(".")[0] == "training"]
        # python -m training.folder finds it, but an import would load it a second time
        assert not [name for name in used if name.split(".")[1:2] and name.split(".")[1] in short]
        mine = module_name(file)
        if mine != "training.__main__" and mine.split(".")[0] == "training":
            places = ["", *ROOMS]
            before = places[: places.index(room(mine)) + 1]
            assert {room(name) for name in used} <= set(before), file


def test_only_the_page_imports_gradio_and_only_the_app_the_page():
    for file in CODE:
        if any(re.match(r"gradio(_client)?\b", name) for name in imported(file)):
            assert file.is_relative_to(ROOT / "genius/ui"), file
        if any(part(name) == "ui" for name in imported(file)):
            assert any(file.is_relative_to(ROOT / place) for place in PAGE), file


def test_of_gradio_only_public_names_are_used():
    """So that any version of its major one fits."""
    for file in CODE:
        assert not [name for name in imported(file) if re.match(r"gradio(_client)?\.", name)], file
        tree = ast.parse(file.read_text(encoding="utf-8"))
        used = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        assert not [name for name in used if re.match(r"(gr|gradio)\.(\w+\.)*_", name)], file
        # what Gradio made is not looked into
        if "gradio" in {name.split(".")[0] for name in imported(file)}:
            own = r"(blocks|app|gradio)\.(\w+\.)*_"
            assert not [name for name in used if re.match(own, name)], file


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_lies_below_it(package):
    assert imports()[package] <= ALLOWED[package]


def test_the_list_of_packages_is_whole():
    assert set(ALLOWED) == {file.parent.name for file in (ROOT / "genius").glob("*/__init__.py")}


@pytest.mark.parametrize("package", LIBRARIES)
def test_a_package_needs_no_other_library(package):
    for file in (ROOT / "genius" / package).rglob("*.py"):
        roots = {name.split(".")[0] for name in imported(file)} - {"genius", "__future__"}
        assert roots - set(sys.stdlib_module_names) <= LIBRARIES[package], file


def test_no_packages_import_each_other():
    graph = {name: set(below) for name, below in imports().items()}
    order = []
    while graph:
        leaves = {name for name, below in graph.items() if not below & graph.keys()}
        assert leaves, f"a cycle among {sorted(graph)}"
        order += sorted(leaves)
        graph = {name: below for name, below in graph.items() if name not in leaves}
    assert order.index("trie") < order.index("search") < order.index("ui")


def test_the_page_needs_no_module_of_the_evaluation():
    needed = set()
    more = {"ui"}
    while more:
        needed |= more
        more = set().union(*(imports().get(name, ()) for name in more)) - needed
    assert "search" in needed and "evaluation" not in needed


def test_every_command_ends_with_a_sentence_on_an_error_of_its_user():
    for file in CODE:
        _, main, started = file.read_text(encoding="utf-8").partition('if __name__ == "__main__":')
        handed_on = file in (ROOT / "app.py", ROOT / "genius/__main__.py")
        assert (
            not main
            or handed_on
            or re.search(r"(exit_on_user_error|run_alone|stage_command)\(", started)
        ), file


def test_no_two_classes_have_one_name():
    files_of = defaultdict(list)
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                files_of[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in files_of.items() if len(files) > 1} == {}
