"""Write the world as an M-BEIR-format directory: entry by entry, drawn by several processes."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from genius.collections.layout import PROVENANCE, SYNONYMS, TASKS
from genius.collections.writer import CollectionWriter, new_collection
from genius.demo_world.datasets import DATASETS, Entry, make_entry
from genius.demo_world.instructions import PHRASINGS
from genius.demo_world.lexicon import synonyms
from genius.demo_world.picture import render
from genius.errors import UserError

SCALE = 12_600  # candidates of the test pool, about
SCALES = (1_000, 1_000_000)
PIXELS = (32, 512)
LARGE = 100_000  # candidates; above, pictures are small unless --pixels says otherwise
TOGETHER = 32  # entries that a process makes at a time


@dataclass(frozen=True)
class Task:
    """Entries that a process makes at a time."""

    dataset_id: int
    role: str
    start: int
    stop: int


def write_world(
    destination: Path | str,
    seed: int = 0,
    scale: int = SCALE,
    pixels: int | None = None,
    pictures: Callable[[str], bool] | None = None,
    workers: int | None = None,
) -> dict[str, Any]:
    """Write the world of a seed; returns the facts that world.json holds.

    scale: candidates of the test pool, about. pixels: side of the pictures, by default 256, or 48 above 100,000
    candidates. pictures: says of a path whether to draw it; records are whole in any case. workers: processes, by
    default one for each core.
    Raises UserError for sizes that cannot be, or if the destination holds something.
    """
    if pixels is None:
        pixels = 256 if scale <= LARGE else 48
    for name, value, (low, high) in (("scale", scale, SCALES), ("pixels", pixels, PIXELS)):
        if not low <= value <= high:
            raise UserError(f"--{name} {value}: expected {low:,} to {high:,}")
    tasks = list(plan(scale))
    with new_collection(destination) as writer:
        write_instructions(writer)
        make = partial(_make, seed, pixels, writer.root, pictures)
        with (
            _processes(workers or os.cpu_count() or 1, make) as made,
            tqdm(total=sum(task.stop - task.start for task in tasks), desc="world", unit="entry", disable=None) as bar,
        ):
            for entries in made(tasks):
                for entry in entries:
                    write_entry(writer, entry)
                bar.update(len(entries))
        writer.finish()
        facts = {"seed": seed, "scale": scale, "pixels": pixels, "digest": digest(writer.root)}
        for name, value in ((PROVENANCE, facts), (SYNONYMS, synonyms())):
            (writer.root / name).write_text(json.dumps(value, indent=1) + "\n")
    return facts


def plan(scale: int) -> Iterator[Task]:
    """All entries of a world, in the order in which they are written."""
    for dataset_id, dataset in enumerate(DATASETS):
        for role, first, end in dataset.numbers(scale / SCALE):
            for start in range(first, end, TOGETHER):
                yield Task(dataset_id, role, start, min(start + TOGETHER, end))


def write_instructions(writer: CollectionWriter) -> None:
    names = [dataset.name for dataset in DATASETS]
    for (name, task), phrasings in PHRASINGS.items():
        for prompts, held_out in zip(phrasings, (False, True), strict=True):
            writer.instructions(names.index(name), name, *TASKS[task], prompts, held_out)


def write_entry(writer: CollectionWriter, entry: Entry) -> None:
    """The records of an entry; local pools hold what the test pool holds."""
    for item, tasks, pools in entry.candidates:
        writer.candidate(item, entry.dataset, tasks if "test" in pools else (), pools)
    for split, query in entry.queries:
        writer.query(query, entry.dataset, split)


def digest(root: Path) -> str:
    """Checksum of all record files of a collection, by relative path."""
    total = hashlib.sha256()
    for file in sorted(
        file
        for folder in ("cand_pool", "query", "qrels", "instructions")
        for file in (root / folder).rglob("*")
        if file.is_file()
    ):
        total.update(file.relative_to(root).as_posix().encode())
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def _make(seed: int, pixels: int, root: Path, pictures: Callable[[str], bool] | None, task: Task) -> list[Entry]:
    """Make some entries and draw their pictures; what is returned has none."""
    entries = [make_entry(seed, task.dataset_id, number, task.role) for number in range(task.start, task.stop)]
    for entry in entries:
        for path, picture in entry.drawings.items():
            if pictures is None or pictures(path):
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(render(picture, pixels))
        entry.drawings.clear()
    return entries


@contextmanager
def _processes(workers: int, make: Callable[[Task], list[Entry]]) -> Iterator[Callable[..., Iterator[list[Entry]]]]:
    """A map over tasks, in their order."""
    if workers == 1:
        yield partial(map, make)
    else:  # spawned, because a fork would copy the threads of whoever imported torch
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            yield partial(pool.imap, make)
