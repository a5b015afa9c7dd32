"""Mutation check: change one operator, constant or call at a time and see whether a test fails.

    python -m tests.mutation [MODULE ...] [--sample N] [--seed S]

MODULE is a module or package such as genius.trie or training.settings; each one gives its own
sample. A mutated module is tested by the folder of tests that mirrors its package, its own test
file first. Nothing is written: every mutant runs in a forked process that imports the mutated
module in place of the real one.
"""

import argparse
import ast
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALSO = {"training.settings": "tests/training/test_presets.py"}  # tests that mirror no module
DEFAULT = ("genius.trie", "genius.search", "genius.models", "training.settings")
PRELOADED = (
    "torch",
    "transformers",
    "open_clip",
    "faiss",
    "sklearn.covariance",
    "safetensors.torch",
)
PAIRS = [
    "Lt LtE",
    "Gt GtE",
    "Eq NotEq",
    "Is IsNot",
    "In NotIn",
    "Add Sub",
    "Mult Div",
    "LShift RShift",
    "And Or",
]
PAIRS += ["BitAnd BitOr"]
NAMES = dict(pair.split() for pair in PAIRS)
NAMES |= {other: name for name, other in NAMES.items()} | dict.fromkeys(
    ("FloorDiv", "Mod", "Pow"), "Mult"
)
NAMES["BitXor"] = "BitAnd"
SWAPS = {getattr(ast, name): getattr(ast, other) for name, other in NAMES.items()}


class Mutator(ast.NodeTransformer):
    """Numbers the places that can be mutated, and mutates one of them.

    Annotations, docstrings, other strings and error messages are no such places.
    """

    def __init__(self, site: int | None = None):
        self.site = site
        self.sites = 0
        self.change = ""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return node
        mutated = self._mutated(node)
        if mutated is not None:
            self.sites += 1
            if self.sites - 1 == self.site:
                self.change = f"{node.lineno}: {_short(node)}  ->  {_short(mutated)}"
                return ast.copy_location(mutated, node)
        annotations = {
            name: getattr(node, name, None)
            for name in ("annotation", "returns")
            if hasattr(node, name)
        }
        for name in annotations:
            setattr(node, name, None)  # not visited
        super().generic_visit(node)
        for name, annotation in annotations.items():
            setattr(node, name, annotation)
        return node

    @staticmethod
    def _mutated(node: ast.AST) -> ast.AST | None:
        match node:
            case ast.Compare(ops=[op, *others]) if type(op) in SWAPS:
                return ast.Compare(node.left, [SWAPS[type(op)](), *others], node.comparators)
            case ast.BinOp() | ast.BoolOp() if type(node.op) in SWAPS:
                fields = {name: getattr(node, name) for name in node._fields}
                return type(node)(**fields | {"op": SWAPS[type(node.op)]()})
            case ast.UnaryOp(operand=operand):
                return operand
            case ast.Constant(value=bool(value)):
                return ast.Constant(not value)
            case ast.Constant(value=int(value) | float(value)):
                return ast.Constant(value + 1 if isinstance(value, int) or not value else value * 2)
            case ast.Expr(value=ast.Call()):
                return ast.Pass()
        return None


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:67]}…"


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    module: str
    file: Path
    site: int

    def tree(self) -> tuple[ast.Module, str]:
        """The mutated module, and the change in words."""
        mutator = Mutator(self.site)
        tree = mutator.visit(ast.parse(self.file.read_text(encoding="utf-8")))
        return ast.fix_missing_locations(tree), f"{self.file.relative_to(ROOT)}:{mutator.change}"


def modules_in(name: str) -> Iterator[tuple[str, Path]]:
    """(module, file) of a module, or of all modules of a package."""
    path = ROOT.joinpath(*name.split("."))
    for file in (
        [path.with_suffix(".py")]
        if path.with_suffix(".py").exists()
        else sorted(path.rglob("*.py"))
    ):
        if file.name not in ("__init__.py", "__main__.py"):
            yield ".".join(file.relative_to(ROOT).with_suffix("").parts), file


def mutants_of(name: str) -> list[Mutant]:
    """All mutants of a module or package."""
    mutants = []
    for module, file in modules_in(name):
        counter = Mutator()
        counter.visit(ast.parse(file.read_text(encoding="utf-8")))
        mutants += [Mutant(module, file, site) for site in range(counter.sites)]
    if not mutants:
        raise SystemExit(f"{name} is not a module or package with code")
    return mutants


def mirror_tests(module: str, file: Path) -> list[str]:
    """The test file of a module, then those of its package; without these for modules of genius or
    training itself.
    """
    folder = ROOT / "tests" / Path(*module.removeprefix("genius.").split(".")[:-1])
    own = sorted(folder.glob(f"test_{file.stem}*.py"))
    own += [ROOT / ALSO[module]] if module in ALSO else []
    others = (
        []
        if folder.name in ("tests", "training")
        else sorted(set(folder.glob("test_*.py")) - set(own))
    )
    return [str(test.relative_to(ROOT)) for test in own + others]


class _MutatedLoader(SourceFileLoader):
    def __init__(self, mutant: Mutant):
        super().__init__(mutant.module, str(mutant.file))
        self._tree, _ = mutant.tree()

    def get_code(self, fullname: str):
        return compile(self._tree, self.path, "exec")


@dataclass(frozen=True)
class _Finder:
    """Imports the mutated module in place of the real one."""

    mutant: Mutant

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if name != self.mutant.module:
            return None
        return importlib.util.spec_from_file_location(
            name, self.mutant.file, loader=_MutatedLoader(self.mutant)
        )


def passes(tests: list[str], mutant: Mutant | None, timeout: float) -> bool:
    """Whether the tests pass in a forked process, in time, with the module mutated; prints only
    without a mutant.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        if mutant is not None:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            sys.meta_path.insert(0, _Finder(mutant))
        os._exit(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]))
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    """Mutate each module or package that is named, and print the survivors."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "modules",
        nargs="*",
        default=DEFAULT,
        metavar="MODULE",
        help=f"default: {' '.join(DEFAULT)}",
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=12,
        help="mutants per MODULE, 0 for all (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    given = parser.parse_args()
    os.chdir(ROOT)
    for package in PRELOADED:  # a forked process has them already
        importlib.import_module(package)
    assert not any(name.split(".")[0] in ("genius", "training") for name in sys.modules)
    limits: dict[frozenset[str], float] = {}
    for name in given.modules:
        mutants = mutants_of(name)
        started = time.monotonic()
        survivors = []
        total = len(mutants)
        if given.sample and given.sample < total:
            mutants = random.Random(given.seed).sample(mutants, given.sample)
        for mutant in mutants:
            tests = mirror_tests(mutant.module, mutant.file)
            if (key := frozenset(tests)) not in limits:
                begun = time.monotonic()
                if not passes(tests, None, timeout=600):
                    raise SystemExit(
                        f"the tests of {mutant.module} fail without a mutation: pytest "
                        f"{' '.join(tests)}"
                    )
                limits[key] = 30 + 3 * (time.monotonic() - begun)
            survives = passes(tests, mutant, limits[key])
            print("SURVIVED" if survives else "killed  ", mutant.tree()[1], flush=True)
            survivors += [mutant] * survives
        print(
            f"{name}: {len(mutants) - len(survivors)} of {len(mutants)} mutants killed, "
            f"drawn from {total} with seed "
            f"{given.seed}, in {time.monotonic() - started:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
