"""Write the demo world as a directory in M-BEIR format. Entries are made and drawn by several processes."""

from __future__ import annotations

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
from genius.collections.mbeir import record_digest
from genius.collections.writer import CollectionWriter, new_collection
from genius.demo_world.datasets import DATASETS, DemoEntry, make_entry
from genius.demo_world.lexicon import synonyms
from genius.demo_world.phrasings import PHRASINGS
from genius.demo_world.picture import render
from genius.errors import UserError

SCALE = 12_600  # approximate number of candidates in the test pool
SCALES = (1_000, 1_000_000)
PIXELS = (32, 512)
WORKERS = (1, 1_024)
LARGE = 100_000  # candidates; above this, the default image size is smaller
CHUNK_SIZE = 32  # entries made by a process at a time


@dataclass(frozen=True)
class Chunk:
    """A range of entries for one process."""

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
    """Generate the demo world of a seed; returns the content of world.json.

    scale: approximate number of candidates in the test pool. pixels: side of the images; default 256, or 48 above
    100,000 candidates. pictures: path -> whether to draw that image; all records are written in any case. workers:
    number of processes; default one per core.
    Raises UserError for numbers out of range, or if the destination is not empty.
    """
    if pixels is None:
        pixels = 256 if scale <= LARGE else 48
    if workers is None:
        workers = os.cpu_count() or 1
    limited = (("scale", scale, SCALES), ("pixels", pixels, PIXELS), ("workers", workers, WORKERS))
    for name, value, (low, high) in limited:
        if not low <= value <= high:
            raise UserError(f"--{name} {value}: expected a number from {low:,} to {high:,}")
    chunks = list(plan(scale))
    entry_count = sum(chunk.stop - chunk.start for chunk in chunks)
    with new_collection(destination) as writer:
        write_instructions(writer)
        make = partial(_make, seed, pixels, writer.root, pictures)
        with (
            _processes(workers, make) as made,
            tqdm(total=entry_count, desc="demo world", unit="entry", disable=None) as bar,
        ):
            for entries in made(chunks):
                for entry in entries:
                    write_entry(writer, entry)
                bar.update(len(entries))
        writer.close()
        facts = {"seed": seed, "scale": scale, "pixels": pixels, "digest": record_digest(writer.root)}
        for name, value in ((PROVENANCE, facts), (SYNONYMS, synonyms())):
            (writer.root / name).write_text(json.dumps(value, indent=1) + "\n")
    return facts


def plan(scale: int) -> Iterator[Chunk]:
    """Yield all entries of a world in chunks, in the order in which they are written."""
    for dataset_id, dataset in enumerate(DATASETS):
        for role, first, end in dataset.numbers(scale / SCALE):
            for start in range(first, end, CHUNK_SIZE):
                yield Chunk(dataset_id, role, start, min(start + CHUNK_SIZE, end))


def write_instructions(writer: CollectionWriter) -> None:
    names = [dataset.name for dataset in DATASETS]
    for (name, task), phrasings in PHRASINGS.items():
        for prompts, held_out in zip(phrasings, (False, True), strict=True):
            writer.instructions(names.index(name), name, *TASKS[task], prompts, held_out)


def write_entry(writer: CollectionWriter, entry: DemoEntry) -> None:
    """Write the records of an entry. Local pools have the candidates of the test pool."""
    for item, tasks, pools in entry.candidates:
        writer.candidate(item, entry.dataset, tasks if "test" in pools else (), pools)
    for split, query in entry.queries:
        writer.query(query, entry.dataset, split)


def _make(seed: int, pixels: int, root: Path, pictures: Callable[[str], bool] | None, chunk: Chunk) -> list[DemoEntry]:
    """Make the entries of a chunk and draw their images. The returned entries no longer have drawings."""
    entries = [make_entry(seed, chunk.dataset_id, number, chunk.role) for number in range(chunk.start, chunk.stop)]
    for entry in entries:
        for path, picture in entry.drawings.items():
            if pictures is None or pictures(path):
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(render(picture, pixels))
        entry.drawings.clear()
    return entries


@contextmanager
def _processes(
    workers: int, make: Callable[[Chunk], list[DemoEntry]]
) -> Iterator[Callable[..., Iterator[list[DemoEntry]]]]:
    """A map over chunks that keeps their order, over several processes if workers > 1."""
    if workers == 1:
        yield partial(map, make)
    else:  # spawn: a fork would be unsafe after torch has started threads
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            yield partial(pool.imap, make)
