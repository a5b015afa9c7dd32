"""Every command that writes, on the smallest collections and models, and the state that it starts from.

A state is a folder with `collection`, `run` and what else the commands read. Commands run in children of a process that
has imported the libraries already, which takes a tenth of a second in place of ten.
"""

from __future__ import annotations

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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file

import genius.encoding.features
import genius.index.writing
from genius.collections import __main__ as collections_command
from genius.errors import exit_on_user_error
from genius.evaluation import __main__ as evaluation_command
from genius.evaluation import growing as growing_command
from genius.files import write_json
from genius.index import __main__ as index_command
from genius.models.tokenizers import clip_tokenizer
from genius.run import Run
from tests.collections.samples import write_source
from tests.evaluation.micro import write_micro_collection
from tests.hostile.file_layer import FileLayer, Plan
from tests.search.tiny import publish_tiny_run, tiny_encoder
from tests.training import published_files
from tests.training.tiny import TINY
from tests.training.tiny_towers import locked_settings, tower_names, write_towers
from training import __main__ as pipeline
from training import folder, maps, pseudo_queries, shipping
from training.command_line import Arguments
from training.published import __main__ as published_command
from training.settings import Settings
from training.stage import run_stage

SECONDS = 120  # that a command may take on a busy machine
TEMPORARY = "tmp"  # in the folder that commands work in: instead of the system's folder
FOLDER_SIZES = """quantizer.epochs=1 quantizer.kmeans_iterations=2 decoder.epochs=1 decoder.decoder.layers=1
    decoder.decoder.width=16 decoder.decoder.heads=2 decoder.decoder.head_width=8 decoder.decoder.ff_width=24
    decoder.decoder.prefix=2""".split()  # noqa: SIM905 (one a word)


def train_stage(name: str, settings: Settings, root: Path) -> None:
    run_stage(name, pipeline.TRAIN[name], Arguments(root / "collection", root / "run", "small", settings, "cpu"))


def train_locked(root: Path) -> None:
    towers = locked_settings(*tower_names(root / "towers"))
    train_stage("encoder", replace(TINY, encoder=replace(towers, epochs=1, batch=7)), root)


def train_all(root: Path) -> None:
    pipeline.train(Arguments(root / "collection", root / "run", "small", TINY, "cpu"))


def draw_maps(root: Path) -> None:
    """Without UMAP, which is compiled for a minute."""
    maps.first_layout = lambda vectors, seed: vectors[:, :2]
    maps.next_layout = lambda vectors, group, before, seed: vectors[group][:, :2]
    maps.layout_correlation = lambda layout, before: 0.0
    maps.main([str(root / "collection"), str(root / "run"), "--device", "cpu"])


def add(root: Path) -> None:
    index_command.main([str(root / "run"), "add", str(root / "shop"), "--device", "cpu"])


def remove(root: Path) -> None:
    index_command.main([str(root / "run"), "remove", "0:1", "0:101", "2:1"])


def compact(root: Path) -> None:
    index_command.main([str(root / "run"), "compact"])


def evaluate(root: Path) -> None:
    evaluation_command.main([str(root / "run"), "--beams", "4", "--limit", "2", "--device", "cpu"])


def evaluate_growing(root: Path) -> None:
    growing_command.main([str(root / "run"), "--fractions", "30", "--beams", "4", "--limit", "2", "--device", "cpu"])


def train_folder(root: Path) -> None:
    pseudo_queries.visual_words = lambda: ["dog", "snow", "ball", "tree", "red", "street"]
    changes = [part for change in FOLDER_SIZES for part in ("--set", change)]
    folder.main([str(root / "photos"), str(root / "run"), "--model", f"local-dir:{root / 'model'}", *changes])


def convert_published(root: Path) -> None:
    files = ["--clip-sf", str(root / "clip.pth"), "--genius", str(root / "genius.pth")]
    published_command.main([*files, str(root / "run")])


def build_collection(root: Path) -> None:
    collections_command.main([str(root / "shop"), str(root / "built")])


def ship(root: Path) -> None:
    shipping.ship_run(
        Run(root / "run"), root / "shipped", {"about": {}}, lambda aside: write_json(aside / "about.json", {})
    )


@dataclass(frozen=True)
class Command:
    """What `python -m` runs, and the state that it starts from."""

    state: str
    run: Callable[[Path], None]


COMMANDS = {
    "collections": Command("sources", build_collection),
    "encoder": Command("sources", partial(train_stage, "encoder", TINY)),
    "features": Command("encoder", partial(train_stage, "features", TINY)),
    "quantizer": Command("features", partial(train_stage, "quantizer", TINY)),
    "decoder": Command("quantizer", partial(train_stage, "decoder", TINY)),
    "index": Command("decoder", partial(train_stage, "index", TINY)),
    "locked": Command("towers", train_locked),
    "training": Command("sources", train_all),
    "folder": Command("photos", train_folder),
    "published": Command("checkpoints", convert_published),
    "maps": Command("index", draw_maps),
    "add": Command("index", add),
    "remove": Command("add", remove),
    "remove at once": Command("untrained", remove),  # from a run that is made in a second
    "compact": Command("remove", compact),
    "evaluation": Command("index", evaluate),
    "growing": Command("index", evaluate_growing),
    "ship": Command("index", ship),
}


def write_sources(root: Path) -> None:
    write_micro_collection(root / "collection")
    write_source(
        root / "shop",
        [{"img_path": f"images/{number}.png", "txt": f"a thing of number {number}"} for number in range(9)],
    )


def write_photos(root: Path) -> None:
    (root / "photos").mkdir()
    for number in range(24):
        pixels = np.random.default_rng(number).integers(256, size=(12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / "photos" / f"{number:02d}.png")
    (root / "model").mkdir()
    encoder = tiny_encoder()
    config = {"model_cfg": encoder.config.model, "preprocess_cfg": encoder.config.preprocess}
    write_json(root / "model" / "open_clip_config.json", config)
    weights = {name: weight.contiguous() for name, weight in encoder.clip.state_dict().items()}
    save_file(weights, root / "model" / "open_clip_model.safetensors")


def write_checkpoints(root: Path) -> None:
    published_files.save(root / "clip.pth", published_files.clip_weights(published_files.SMALL))
    published_files.save(root / "genius.pth", published_files.genius_weights(published_files.SMALL))


def write_tower_state(root: Path) -> None:
    write_sources(root)
    write_towers(root / "towers")


def write_untrained(root: Path) -> None:
    publish_tiny_run(root / "run", 12)


FIRST = {
    "untrained": write_untrained,
    "sources": write_sources,
    "photos": write_photos,
    "checkpoints": write_checkpoints,
    "towers": write_tower_state,
}


@dataclass(frozen=True)
class Ended:
    status: int | None  # None: it did not end in time, and was killed
    output: str

    @property
    def refused(self) -> bool:
        """Whether it ended with a sentence for the user, and nothing else."""
        return self.status == 2 and "error: " in self.output and not self.has_traceback

    @property
    def has_traceback(self) -> bool:
        return "Traceback (most recent call last)" in self.output


class Laboratory:
    """States of all commands, kept below a folder; attempts happen in `work`, for manifests name absolute paths."""

    def __init__(self, folder: Path):
        self.folder, self.work = folder, folder / "work"
        self.results: dict[str, dict[str, str]] = {}
        self.repeated: dict[tuple[str, str], tuple[Ended, list[str]]] = {}

    def start(self, state: str) -> Path:
        """The folder to work in, in this state."""
        shutil.rmtree(self.work, ignore_errors=True)
        if not (kept := self.folder / state).exists():
            if state in FIRST:
                self.work.mkdir(parents=True)
                self.end(begin(FIRST[state], self.work))
            else:
                self.start(COMMANDS[state].state)
                ended = self.attempt(state)
                assert ended.status == 0, ended.output
            shutil.copytree(self.work, kept)
            shutil.rmtree(self.work)
        shutil.copytree(kept, self.work)
        return self.work

    def attempt(self, name: str, plan: Plan = Plan()) -> Ended:  # noqa: B008 (frozen)
        """Run a command in the folder as it is."""
        return self.end(begin(COMMANDS[name].run, self.work, plan))

    def uninterrupted(self, name: str) -> dict[str, str]:
        """What the folder holds after an undisturbed command."""
        if name not in self.results:
            self.start(COMMANDS[name].state)
            ended = self.attempt(name)
            assert ended.status == 0, ended.output
            self.results[name] = contents(self.work)
        return self.results[name]

    def repeat(self, name: str) -> tuple[Ended, list[str]]:
        """Run a command in the folder as it is, after it was interrupted: how it ends, and what differs from an
        undisturbed one. From equal folders it is run once."""
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

    def calls(self, name: str, action: str = "") -> list[tuple[str, str]]:
        """The calls of an undisturbed command to the file layer, as the plan's action counts them."""
        self.start(COMMANDS[name].state)
        notes = self.folder / "calls.json"
        ended = self.attempt(name, Plan(action, notes=notes))
        assert ended.status == 0, ended.output
        return self.noted(notes)

    @staticmethod
    def noted(notes: Path) -> list[tuple[str, str]]:
        return [tuple(call) for call in json.loads(notes.read_text())]

    def end(self, started: Started, seconds: float = SECONDS) -> Ended:
        return started.end(seconds)


class Started:
    """A command in a child process."""

    def __init__(self, target: Callable[[Path], None], root: Path, plan: Plan):
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

    def stop(self, seconds: float) -> None:
        """Let it run for some seconds, then stop it unless it has ended."""
        self.process.join(seconds)
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGSTOP)
        self.stopped()

    def stopped(self, seconds: float = SECONDS) -> bool:
        """Wait until all its threads are stopped, or it has ended; whether they are stopped."""
        deadline = time.monotonic() + seconds
        while self.process.is_alive():
            with suppress(OSError):  # it ends meanwhile
                tasks = [task.read_text() for task in Path(f"/proc/{self.process.pid}/task").glob("*/stat")]
                if tasks and all(task.rpartition(")")[2].split()[0] == "T" for task in tasks):
                    return True
            assert time.monotonic() < deadline, "it neither stopped nor ended"
            self.process.join(0.002)
        return False

    def resume(self) -> None:
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGCONT)


clip_tokenizer(tiny_encoder().config.model["text_cfg"]["context_length"], "{}")  # as encoders ask: children inherit it
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["pytest", __name__])


def begin(target: Callable[[Path], None], root: Path, plan: Plan = Plan()) -> Started:  # noqa: B008 (frozen)
    return Started(target, root, plan)


def execute(target: Callable[[Path], None], root: Path, plan: Plan, log: Path) -> None:
    """What the child does."""
    handle = os.open(log, os.O_WRONLY)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    torch.set_num_threads(1)
    genius.encoding.features.SHARD = 20
    genius.index.writing.BLOCK = 20
    own = root / TEMPORARY / str(os.getpid())
    own.mkdir(parents=True)
    tempfile.tempdir = str(own)
    layer = FileLayer(root, plan)
    if plan != Plan():
        layer.install()
    try:
        with exit_on_user_error():
            target(root)
    finally:
        layer.note()
        shutil.rmtree(own, ignore_errors=True)


# of keys; the checksum of the records is one of times of files, too
TIMES = re.compile("second|time|_ms$|per_query|rate_of|^records$")
RANDOM = re.compile(r"(\d+-)?[0-9a-f]{32}|tmp/\d+")


def contents(root: Path) -> dict[str, str]:
    """What the files below a folder hold, without the times that something took."""
    return {
        str(file.relative_to(root)): _content(file)
        for file in sorted(root.rglob("*"))
        if file.is_file() and file.name != ".lock" and file.relative_to(root).parts[0] != TEMPORARY
    }


def present(root: Path) -> dict[str, str]:
    """The files of a run, if there is one, without those of versions that are not the present one."""
    if not (root / "run" / "manifest.json").exists():
        return contents(root)
    parts = json.loads((root / "run" / "manifest.json").read_text())["parts"]
    named = {part["folder"] for part in parts.values()} | {"reports", "manifest.json", "features"}
    found = contents(root / "run")
    return {name: content for name, content in found.items() if name.split("/")[0] in named}


def fingerprint(root: Path) -> str:
    """A checksum of all that a folder holds, but times and the random parts of names."""
    held = {str(path.relative_to(root)): "" for path in root.rglob("*") if path.is_dir() or path.is_symlink()}
    held |= contents(root)
    return hashlib.sha256(RANDOM.sub("", json.dumps(sorted(held.items()))).encode()).hexdigest()


def differences(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """The files that only one of them has, or that differ."""
    names = {
        "missing": expected.keys() - found.keys(),
        "more": found.keys() - expected.keys(),
        "other": {name for name in expected.keys() & found.keys() if expected[name] != found[name]},
    }
    return [f"{kind}: {name}" for kind, group in names.items() for name in sorted(group)]


def _content(file: Path) -> str:
    with suppress(ValueError, sqlite3.Error):  # half of a file
        return _meaning(file)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _meaning(file: Path) -> str:
    if file.suffix == ".json":
        return json.dumps(_without_times(json.loads(file.read_text())), sort_keys=True)
    if file.suffix == ".md" and file.parent.name == "reports":
        return re.sub(r"[\d.,\s|:-]+", "", file.read_text())  # the JSON has the figures
    if file.suffix == ".sqlite":
        with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as database:
            return "\n".join(database.iterdump())
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if not TIMES.search(key)}
    return [_without_times(one) for one in value] if isinstance(value, list) else value
