"""Known weaknesses of the libraries: either a version without it is installed, or something protects from it.

advisories.json is the list; `fixed` is null where a library has no version without it, or none that can be used.
"""

import ast
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.version import Version
from PIL import Image

from genius.collections import images

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
ADVISORIES = json.loads((HERE / "advisories.json").read_text())
UNSAFE = {"pickle", "shelve", "marshal", "dill", "joblib", "tarfile", "zipfile", "shutil.unpack_archive"}
CALLS = {"eval", "exec", "read_index", "unpack_archive"}


def installed(package):
    try:
        return Version(version(package))
    except PackageNotFoundError:
        return None


@pytest.mark.sample
@pytest.mark.parametrize("advisory", ADVISORIES, ids=lambda one: f"{one['package']} {one['id']}")
def test_what_is_installed_is_fixed_or_a_test_holds_what_protects_from_it(advisory, counts):
    present = "python" if advisory["package"] == "python" else installed(advisory["package"])
    fixed = present is None or (advisory["fixed"] and present >= Version(advisory["fixed"]))
    if not fixed:
        assert advisory["protected_by"], f"{advisory['package']} {present} has {advisory['id']}: {advisory['about']}"
        file, name = advisory["protected_by"].split("::")
        functions = {one.name for one in ast.parse((ROOT / file).read_text()).body if isinstance(one, ast.FunctionDef)}
        assert name in functions, f"{advisory['protected_by']} does not exist"
    counts("security", "blocked")


def modules():
    """The syntax of each module that reads what others wrote; the demo world opens its own drawings alone."""
    for file in [ROOT / "app.py", *sorted((ROOT / "genius").rglob("*.py"))]:
        if "demo_world" not in file.parts:
            yield file.relative_to(ROOT).as_posix(), list(ast.walk(ast.parse(file.read_text())))


def called(node):
    """(module, name) of a call; the module is "" for a plain name."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value), node.func.attr
    return "", getattr(node.func, "id", "")


@pytest.mark.sample
def test_images_are_opened_in_three_formats_by_one_module(counts):
    assert images.FORMATS == ("PNG", "JPEG", "WEBP")
    openers = {file for file, nodes in modules() for node in nodes if called(node) == ("Image", "open")}
    assert openers == {"genius/collections/images.py"}
    Image.init()
    assert not {"HEIF", "AVIF", "EPS"} & set(images.FORMATS)
    counts("security", "blocked")


@pytest.mark.sample
def test_no_format_is_read_that_can_hold_code(counts):
    for file, nodes in modules():
        for node in nodes:
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not UNSAFE & {name and name.split(".")[0] for name in names}, (file, names)
            if call := called(node):
                assert call[1] not in CALLS or call[0] not in ("", "faiss", "shutil"), (file, call)
                options = {option.arg: ast.unparse(option.value) for option in node.keywords}
                if call == ("torch", "load"):
                    assert options.get("weights_only") == "True", file
                assert options.get("allow_pickle", "False") == "False", file
    counts("security", "blocked")
