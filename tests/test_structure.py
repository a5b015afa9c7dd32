"""The shape of the code: which package imports which, one name for one thing, and no name of what is gone."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = sorted([*(ROOT / "genius").rglob("*.py"), *(ROOT / "training").rglob("*.py"), ROOT / "app.py"])
TEXTS = sorted(
    file
    for part in ("genius", "training", "tests")
    for suffix in ("py", "md", "js", "css")
    for file in (ROOT / part).rglob(f"*.{suffix}")
    if file.name != "LOG.md"  # it names what is gone
) + [ROOT / "app.py", ROOT / "README.md", ROOT / "pyproject.toml"]
BASE = {"errors", "files", "locks", "reading", "run", "runtime", "schema", "texts"}  # modules below all packages

# What each package of genius may import besides itself; genius/README.md says it in words.
ALLOWED = {
    "trie": set(),
    "models": {"errors", "files", "reading", "runtime", "schema", "texts", "trie"},
    "collections": BASE,
    "metrics": {"errors", "schema", "trie"},
    "encoding": BASE | {"collections", "models"},
    "index": BASE | {"collections", "encoding", "models", "trie"},
    "search": BASE | {"collections", "encoding", "index", "models", "trie"},
    "demo_world": BASE | {"collections"},
    "evaluation": BASE | {"collections", "demo_world", "encoding", "index", "metrics", "models", "search", "trie"},
    "explore": BASE | {"collections", "evaluation", "examples", "index", "metrics", "models", "search", "trie"},
    "ui": BASE | {"collections", "evaluation", "examples", "explore", "index", "metrics", "search", "trie"},
}
LIBRARIES = {"trie": {"numpy", "torch"}}  # all that a package may import from outside

SAME_NAME = {  # files of one name, and why
    "__init__": "packages",
    "__main__": "commands",
    "encoder": "the model, and the stage that trains it",
    "quantizer": "the model, and the stage that trains it",
    "decoder": "the model, and the stage that trains it",
    "features": "the files, and the stage that fills them",
    "ranker": "the model, and the command that trains it",
    "layout": "one in each tab of the page",
    "callbacks": "one in each tab of the page",
    "view": "one in each tab of the page",
    "figure": "one in each tab of the page",
    "phrasings": "of the drawn world and of the photographs",
    "worked_examples": "of the drawn world and of the photographs",
}

SHORT = {  # files under 40 lines, and why
    "genius/collections/instructions.py": "one file format",
    "genius/explore/map_picture.py": "one picture, drawn without the figure and its library",
    "genius/models/heads.py": "one kind of module, next to the towers and the encoder",
    "genius/texts.py": "below the packages: collections, models and search share it",
    "genius/ui/common/part.py": "one component, which two tabs use",
    "training/benchmarks/chromium.py": "what a benchmark and the tests in a browser share",
}


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path) -> Iterator[str]:
    """Every module that a file imports, at the top or inside functions, with full names."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            inside = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if exists(name) else node.module for name in inside)


@cache
def exists(module: str) -> bool:
    path = ROOT / Path(*module.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def part(module: str) -> str | None:
    """The package or top module of genius that a module belongs to."""
    names = module.split(".")
    return names[1] if names[0] == "genius" and len(names) > 1 else None


@cache
def imports() -> dict[str, set[str]]:
    """What each package or top module of genius imports from the others."""
    found = defaultdict(set)
    for file in CODE:
        own = part(module_name(file))
        if own:
            found[own] |= {part(name) for name in imported(file)} - {own, None}
    return dict(found)


def test_genius_never_imports_training_or_tests():
    for file in CODE:
        roots = {name.split(".")[0] for name in imported(file)}
        assert "tests" not in roots, file
        assert file.is_relative_to(ROOT / "training") or "training" not in roots, file


def test_only_the_page_imports_gradio():
    users = [file for file in CODE if any(re.match(r"gradio\b|gradio_client\b", name) for name in imported(file))]
    assert all(file.is_relative_to(ROOT / "genius/ui") for file in users), users


def test_only_the_app_and_the_measurements_of_the_page_import_it():
    places = [ROOT / "genius/ui", ROOT / "training/benchmarks", ROOT / "app.py"]
    for file in CODE:
        if any(part(name) == "ui" for name in imported(file)):
            assert any(file.is_relative_to(place) for place in places), file


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
    graph, order = {name: set(below) for name, below in imports().items()}, []
    while graph:
        leaves = {name for name, below in graph.items() if not below & graph.keys()}
        assert leaves, f"a cycle among {sorted(graph)}"
        order += sorted(leaves)
        graph = {name: below for name, below in graph.items() if name not in leaves}
    assert order.index("trie") < order.index("search") < order.index("ui")


def test_no_two_classes_have_one_name():
    found = defaultdict(list)
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_two_files_have_one_name_for_different_ideas():
    found = defaultdict(list)
    for file in CODE:
        if file.stem not in SAME_NAME:
            found[file.stem].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


def test_no_file_is_tiny_without_a_reason():
    tiny = {
        str(file.relative_to(ROOT))
        for file in CODE
        if file.name != "__init__.py" and len(file.read_text().splitlines()) < 40
    }
    assert tiny <= set(SHORT), "merge it into the file that uses it, or give a reason in SHORT"


def test_the_lists_of_exceptions_name_files_that_exist():
    assert all((ROOT / file).is_file() for file in SHORT)
    assert set(SAME_NAME) <= {file.stem for file in CODE}


def test_no_text_names_a_module_or_file_that_does_not_exist():
    files = {file.name for file in TEXTS} | {file.name for file in ROOT.glob("*")}
    lost = []
    for file in TEXTS:
        text = file.read_text()
        modules = re.findall(r"(?:-m |`)((?:genius|training|tests)(?:\.[a-z_]\w*)+)", text)
        paths = re.findall(r"(?<![\w./-])(?:genius|training|tests)/[\w/.-]+\.(?:py|js|css|md)\b", text)
        names = re.findall(r"(?<![\w./*-])[a-z_]+\.py\b", text) if file in CODE else []  # tests cite other projects
        lost += [f"{file.relative_to(ROOT)}: {module}" for module in modules if not resolves(module)]
        lost += [f"{file.relative_to(ROOT)}: {path}" for path in paths if not (ROOT / path).is_file()]
        lost += [f"{file.relative_to(ROOT)}: {name}" for name in names if name not in files]
    assert lost == []


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module, or a name that occurs in one."""
    names = dotted.split(".")
    for count in range(len(names), 0, -1):
        path = ROOT / Path(*names[:count])
        files = [path.with_suffix(".py"), path / "__init__.py", path / "__main__.py"]
        if any(file.is_file() for file in files) or path.is_dir():
            texts = [file.read_text() for file in files if file.is_file()]
            return count == len(names) or any(re.search(rf"\b{names[count]}\b", text) for text in texts)
    return False
