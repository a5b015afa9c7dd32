"""Every command that writes, on the smallest collections and models, and the state that it starts
from.

A state is a folder with `collection`, `run` and what else the commands read. Commands run in
children of a process that has imported the libraries already, which takes a tenth of a second in
place of ten.
"""

import hashlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

import genius.encoding.features
import genius.index.writing
from genius.collections import __main__ as collections_command
from genius.errors import exit_on_user_error
from genius.index import __main__ as index_command
from genius.models.tokenizers import clip_tokenizer
from tests.collections.samples import write_source
from tests.evaluation.micro import write_micro_collection
from tests.hostile.file_layer import FileLayer, Plan
from tests.search.tiny import publish_tiny_run, tiny_encoder
from tests.training.tiny import TINY
from training import __main__ as pipeline
from training.command_line import Arguments
from training.stage import STAGES, run_stage

SECONDS = 120  # that a command may take on a busy machine
TEMPORARY = "tmp"  # in the folder that commands work in: instead of the system's folder
UNDISTURBED = Plan()


def arguments(root: Path) -> Arguments:
    return Arguments(root / "collection", root / "run", "small", TINY, "cpu")


def train_stage(name: str, root: Path) -> None:
    run_stage(name, STAGES[name].train, arguments(root))


def train_all(root: Path) -> None:
    pipeline.train(arguments(root))


def add(root: Path) -> None:
    index_command.main([str(root / "run"), "add", str(root / "shop"), "--device", "cpu"])


def remove(root: Path) -> None:
    index_command.main([str(root / "run"), "remove", "0:1", "0:101", "2:1"])


def compact(root: Path) -> None:
    index_command.main([str(root / "run"), "compact"])


def build_collection(root: Path) -> None:
    collections_command.main([str(root / "shop"), str(root / "built")])


@dataclass(frozen=True)
class Command:
    """What `python -m` runs, and the state that it starts from."""

    state: str
    run: Callable[[Path], None]


COMMANDS = {
    "collections": Command("sources", build_collection),
    "encoder": Command("sources", partial(train_stage, "encoder")),
    "features": Command("encoder", partial(train_stage, "features")),
    "quantizer": Command("features", partial(train_stage, "quantizer")),
    "decoder": Command("quantizer", partial(train_stage, "decoder")),
    "index": Command("decoder", partial(train_stage, "index")),
    "training": Command("sources", train_all),
    "add": Command("index", add),
    "remove": Command("add", remove),
    "remove at once": Command("untrained", remove),  # from a run that is made in a second
    "compact": Command("remove", compact),
}


def write_sources(root: Path) -> None:
    write_micro_collection(root / "collection")
    write_source(
        root / "shop",
        [
            {"img_path": f"images/{number}.png", "txt": f"a thing of number {number}"}
            for number in range(9)
        ],
    )


def write_untrained(root: Path) -> None:
    publish_tiny_run(root / "run", 12)


FIRST = {"untrained": write_untrained, "sources": write_sources}


@dataclass(frozen=True)
class Ended:
    status: int | None  # None: it did not end in time, and was killed
    output: str

    @property
    def refused(self) -> bool:
        """Whether it ended with a sentence for the user, and nothing else."""
        return (
            self.status == 2 and "error: " in self.output and "Traceback (most" not in self.output
        )


class Laboratory:
    """States of all commands, kept below a folder; attempts happen in `work`, for manifests name
    absolute paths.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.work = folder / "work"
        self.results: dict[str, dict[str, str]] = {}
        self.repeated: dict[tuple[str, str], tuple[Ended, list[str]]] = {}

    def start(self, state: str) -> Path:
        """The folder to work in, in this state."""
        shutil.rmtree(self.work, ignore_errors=True)
        if not (kept := self.folder / state).exists():
            if state in FIRST:
                self.work.mkdir(parents=True)
                Started(FIRST[state], self.work).end()
            else:
                self.start(COMMANDS[state].state)
                ended = self.attempt(state)
                assert ended.status == 0, ended.output
            shutil.copytree(self.work, kept)
            shutil.rmtree(self.work)
        shutil.copytree(kept, self.work)
        return self.work

    def begin(self, name: str, plan: Plan = UNDISTURBED) -> "Started":
        """Start a command in the folder as it is."""
        return Started(COMMANDS[name].run, self.work, plan)

    def attempt(self, name: str, plan: Plan = UNDISTURBED) -> Ended:
        return self.begin(name, plan).end()

    def undisturbed(self, name: str) -> dict[str, str]:
        """What the folder holds after an undisturbed command."""
        if name not in self.results:
            self.start(COMMANDS[name].state)
            ended = self.attempt(name)
            assert ended.status == 0, ended.output
            self.results[name] = contents(self.work)
        return self.results[name]

    def repeat(self, name: str) -> tuple[Ended, list[str]]:
        """Run a command in the folder as it is, after it was interrupted: how it ends, and what
        differs from an undisturbed one. From equal folders it is run once.
        """
        key = name, fingerprint(self.work)
        if key not in self.repeated:
            ended = self.attempt(name)
            self.repeated[key] = ended, differences(self.results[name], contents(self.work))
        return self.repeated[key]

    def repeat_elsewhere(self, name: str) -> tuple[Ended, list[str]]:
        """The same in a copy of the folder, whose command is stopped."""
        aside = self.folder / "stopped"
        self.work.rename(aside)  # the copy gets its path, which manifests name
        shutil.copytree(aside, self.work, symlinks=True)
        try:
            return self.repeat(name)
        finally:
            shutil.rmtree(self.work)
            aside.rename(self.work)

    def calls(self, name: str, action: str = "") -> list[list[str]]:
        """The calls of an undisturbed command to the file layer, as the plan's action counts
        them.
        """
        self.start(COMMANDS[name].state)
        notes = self.folder / "calls.json"
        ended = self.attempt(name, Plan(action, notes=notes))
        assert ended.status == 0, ended.output
        return json.loads(notes.read_text(encoding="utf-8"))


class Started:
    """A command in a child process."""

    def __init__(self, target: Callable[[Path], None], root: Path, plan: Plan = UNDISTURBED):
        handle, log = tempfile.mkstemp(prefix="genius-hostile-")
        os.close(handle)
        self.log = Path(log)
        self.process = CONTEXT.Process(target=execute, args=(target, root, plan, self.log))
        self.process.start()

    def end(self, seconds: float = SECONDS) -> Ended:
        self.process.join(seconds)
        status = self.process.exitcode
        if status is None:
            self.process.kill()
            self.process.join()
        output = self.log.read_text(errors="replace")
        self.log.unlink()
        return Ended(status, output)

    def stopped(self) -> bool:
        """Wait until all its threads are stopped, or it has ended; whether they are stopped."""
        deadline = time.monotonic() + SECONDS
        while self.process.is_alive():
            with suppress(OSError):  # it ends meanwhile
                tasks = [
                    task.read_text(encoding="utf-8")
                    for task in Path(f"/proc/{self.process.pid}/task").glob("*/stat")
                ]
                if tasks and all(task.rpartition(")")[2].split()[0] == "T" for task in tasks):
                    return True
            assert time.monotonic() < deadline, "it neither stopped nor ended"
            self.process.join(0.002)
        return False

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


# as encoders ask: children inherit it
clip_tokenizer(tiny_encoder().config.model["text_cfg"]["context_length"], "{}")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", __name__])


def execute(target: Callable[[Path], None], root: Path, plan: Plan, log: Path) -> None:
    """What the child does."""
    handle = os.open(log, os.O_WRONLY)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    torch.set_num_threads(1)
    genius.encoding.features.SHARD = genius.index.writing.ITEM_BLOCK = 20
    temporary = root / TEMPORARY / str(os.getpid())
    temporary.mkdir(parents=True)
    tempfile.tempdir = str(temporary)
    layer = FileLayer(root, plan)
    if plan != UNDISTURBED:
        layer.install()
    try:
        with exit_on_user_error():
            target(root)
    finally:
        layer.note()
        shutil.rmtree(temporary, ignore_errors=True)


# of keys; the checksum of the records is one of times of files, too
TIMES = re.compile("second|time|_ms$|per_query|rate_of|^records$")
RANDOM = re.compile(r"(\d+-)?[0-9a-f]{32}|tmp/\d+")


def contents(root: Path) -> dict[str, str]:
    """What the files below a folder hold, without the times that something took."""
    return {
        str(file.relative_to(root)): content(file)
        for file in sorted(root.rglob("*"))
        if file.is_file() and file.name != ".lock" and file.relative_to(root).parts[0] != TEMPORARY
    }


def present(root: Path) -> dict[str, str]:
    """The files of a run, if there is one, without those of versions that are not the present
    one.
    """
    if not (root / "run" / "manifest.json").exists():
        return contents(root)
    parts = json.loads((root / "run" / "manifest.json").read_text(encoding="utf-8"))["parts"]
    kept = {part["folder"] for part in parts.values()} | {"reports", "manifest.json", "features"}
    return {
        name: text for name, text in contents(root / "run").items() if name.split("/")[0] in kept
    }


def fingerprint(root: Path) -> str:
    """A checksum of all that a folder holds, but times and the random parts of names."""
    held = {
        str(path.relative_to(root)): ""
        for path in root.rglob("*")
        if path.is_dir() or path.is_symlink()
    }
    held |= contents(root)
    return hashlib.sha256(RANDOM.sub("", json.dumps(sorted(held.items()))).encode()).hexdigest()


def differences(expected: dict[str, str], actual: dict[str, str]) -> list[str]:
    """The files that only one of them has, or that differ."""
    names = {
        "missing": expected.keys() - actual.keys(),
        "more": actual.keys() - expected.keys(),
        "other": {
            name for name in expected.keys() & actual.keys() if expected[name] != actual[name]
        },
    }
    return [f"{kind}: {name}" for kind, group in names.items() for name in sorted(group)]


def content(file: Path) -> str:
    with suppress(ValueError, sqlite3.Error):  # half of a file
        if file.parent.name == "reports":
            return re.sub(
                r"[\d.,\s|:-]+", "", file.read_text(encoding="utf-8")
            )  # without figures, some of which are times
        if file.suffix == ".json":
            return json.dumps(
                without_times(json.loads(file.read_text(encoding="utf-8"))), sort_keys=True
            )
        if file.suffix == ".sqlite":
            with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as database:
                return "\n".join(database.iterdump())
    return hashlib.sha256(file.read_bytes()).hexdigest()


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not TIMES.search(key)}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value
