"""Clients that search a served run, each from an address of its own, and what their answers are compared with.

Settings come from the environment, so that the load can be put on any run:

    GENIUS_LOAD_RUN=assets/photos GENIUS_LOAD_SEARCHES=2000 GENIUS_LOAD_SWAPS=10 pytest -m hostile tests/hostile/load
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import numpy as np

from genius.collections.images import open_image
from genius.index import update
from genius.index.item_source import uploaded_items
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.ui.security import UPLOAD_LIFETIME
from tests.search.rounding import MARGIN, is_clear, traced
from tests.search.tiny import publish_tiny_run

ROOT = Path(__file__).resolve().parents[3]
RUN = os.environ.get("GENIUS_LOAD_RUN", "")  # a run to be copied; empty: a tiny one of 200 items
SEARCHES = int(os.environ.get("GENIUS_LOAD_SEARCHES", "10000"))
CLIENTS = int(os.environ.get("GENIUS_LOAD_CLIENTS", "16"))
SWAPS = int(os.environ.get("GENIUS_LOAD_SWAPS", "100"))
QUERIES = 24  # different ones: a third texts, a third images, a third pairs
OPTIONS = SearchOptions(beams=10, k=5) if not RUN else SearchOptions()
COMPACTED = 10  # every tenth swap merges the segments
WAIT = 300  # seconds for one answer

Hits = list[tuple[str, str, float, float]]  # id, text, cosine and score


@dataclass(frozen=True)
class Asked:
    """One answered search."""

    query: int
    started: float  # time.monotonic()
    ended: float
    hits: Hits


@dataclass
class Version:
    """A version of the index, what one thread gets from it, and when it was published and loaded by the server."""

    published: float = 0.0  # before it could be seen
    loaded: float = float("inf")  # after it was seen
    expected: list[Hits | None] = field(default_factory=list)  # by query; None where rounding decides


def make_run(folder: Path) -> Path:
    """The run that is put under load; tests change it."""
    if RUN:
        shutil.copytree(RUN, folder / "run")
    else:
        publish_tiny_run(folder / "run", n=200)
    return folder / "run"


def make_queries(engine: Engine, folder: Path, seed: int = 0) -> list[tuple[Query, Path | None]]:
    """Queries made of items of the index, and the files of their pictures."""
    rng, index, queries = random.Random(seed), engine.index, []
    pictured, worded = np.flatnonzero(index.modalities != Modality.TEXT), np.flatnonzero(index.modalities)
    for number in range(QUERIES):
        (item,) = index.items([int(rng.choice(worded.tolist()))])
        text = "" if number % 3 == 1 else item.text
        file = None
        if number % 3:
            file = folder / f"query-{number}.webp"
            file.write_bytes(index.thumbnail(int(rng.choice(pictured.tolist()))))
        queries.append((Query(text, open_image(file) if file else None, "Find it." * (number % 2)), file))
    return queries


class Swapper:
    """Publishes versions of the index, one item more or less each, and computes what one thread gets from each."""

    def __init__(self, run: Path, engine: Engine, queries: Sequence[Query]):
        self.run, self.engine, self.queries = run, engine, queries
        self.models = update.Models(engine.encoder, engine.fusion, engine.quantizer, run=engine.run)
        self.versions: dict[str, Version] = {}  # by folder, in order
        self.rng, self.added = random.Random(1), []
        self.record(0.0)
        self.versions[engine.index.folder.name].loaded = 0.0

    def swap(self) -> None:
        started, number = time.monotonic(), len(self.versions)
        if number % COMPACTED == 0 and update.compact(self.run):
            self.engine.versions.reload()
        elif self.added and number % 2:
            update.remove(self.run, [self.added.pop()])
            self.engine.versions.reload()
        else:
            query = self.queries[self.rng.randrange(0, len(self.queries), 3)]
            text = f"{query.text} {self.rng.random():.6f}"  # near a query, so that it is among its results
            update.add(self.run, partial(uploaded_items, [(text, None)]), self.models)
            self.engine.versions.reload()
            self.added += [item.id for item in self.engine.index.items([self.engine.index.n - 1])]
        self.record(started)

    def record(self, published: float) -> None:
        version = self.versions.setdefault(self.engine.index.folder.name, Version())
        version.published = published
        wide, results = (self.engine.search(self.queries, options) for options in (traced(OPTIONS), OPTIONS))
        for more, result in zip(wide, results, strict=True):
            clear = is_clear(more, OPTIONS.rerank)
            version.expected.append(
                [(hit.item.id, hit.item.text, hit.cosine, hit.score) for hit in result.hits] if clear else None
            )

    def judge(self, asked: Asked) -> str:
        """ "right", "wrong", or "undecided" where rounding decides in one of the versions that may have answered."""
        versions = list(self.versions.values())
        oldest = max(number for number, version in enumerate(versions) if version.loaded <= asked.started)
        expected = [version.expected[asked.query] for version in versions[oldest:] if version.published <= asked.ended]
        if any(hits is not None and alike(asked.hits, hits) for hits in expected):
            return "right"
        return "undecided" if None in expected else "wrong"


def alike(hits: Hits, expected: Hits) -> bool:
    return [hit[:2] for hit in hits] == [hit[:2] for hit in expected] and all(
        np.allclose([hit[column] for hit in hits], [hit[column] for hit in expected], atol=MARGIN) for column in (2, 3)
    )


class Client:
    """A program that searches: it uploads pictures, posts searches and waits for the answers."""

    def __init__(self, url: str, number: int = 0):
        try:  # every address of 127.0.0.0/8 is this machine's on Linux
            transport = httpx.HTTPTransport(local_address=f"127.0.1.{number + 1}")
            self.http = httpx.Client(base_url=url, transport=transport, timeout=WAIT)
            self.http.get("/healthz").raise_for_status()
        except httpx.ConnectError:
            self.http = httpx.Client(base_url=url, timeout=WAIT, trust_env=False)
        self.uploaded: dict[Path, tuple[str, float]] = {}  # the server's path, and when it was last used

    def search(self, query: Query, file: Path | None) -> Hits:
        """Raises for any answer but results."""
        event = self.post(query.text, file, query.instruction, OPTIONS.k, OPTIONS.beams)
        for line in self.http.get(f"/gradio_api/call/search/{event}").raise_for_status().text.splitlines():
            if line.startswith("event: "):
                kind = line
            elif kind == "event: complete":
                (answer,) = json.loads(line.removeprefix("data: "))
                return [(hit["id"], hit["text"], hit["cosine"], hit["score"]) for hit in answer["hits"]]
            elif kind == "event: error":
                raise RuntimeError(line)
        raise RuntimeError("no answer")

    def post(self, text: str, file: Path | None, instruction: str, k: int, beams: int) -> str:
        """The number of the event whose answer is to be fetched."""
        picture = file and {"path": self.upload(file), "meta": {"_type": "gradio.FileData"}}
        data = [text, picture, instruction, k, beams, "any"]
        return self.http.post("/gradio_api/call/search", json={"data": data}).raise_for_status().json()["event_id"]

    def upload(self, file: Path) -> str:
        path, used = self.uploaded.get(file, ("", 0.0))
        if not path or time.monotonic() - used > UPLOAD_LIFETIME / 3:
            sent = self.http.post("/gradio_api/upload", files={"files": (file.name, file.read_bytes())})
            path = sent.raise_for_status().json()[0]
        self.uploaded[file] = path, time.monotonic()
        return path


class Load:
    """Clients that search in threads of their own until each has had its number of answers."""

    def __init__(self, url: str, queries: Sequence[tuple[Query, Path | None]], clients: int, searches: int):
        self.queries, self.answers, self.errors = queries, list[Asked](), list[str]()
        self.threads = [
            threading.Thread(target=self._ask, args=(Client(url, number), number, searches // clients), daemon=True)
            for number in range(clients)
        ]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def running(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def milliseconds(self) -> np.ndarray:
        return np.array([1000 * (asked.ended - asked.started) for asked in self.answers])

    def _ask(self, client: Client, seed: int, searches: int) -> None:
        rng = random.Random(seed)
        for _ in range(searches):
            number, started = rng.randrange(len(self.queries)), time.monotonic()
            try:
                hits = client.search(*self.queries[number])
                self.answers.append(Asked(number, started, time.monotonic(), hits))
            except Exception as error:
                self.errors.append(f"{type(error).__name__}: {error}")


class ServedRun:
    """A run that is served by a process of its own; `loaded`: when it had which version of the index."""

    def __init__(self, run: Path):
        command = [sys.executable, "-m", "tests.hostile.load.serve", str(run)]
        environment = os.environ | {"GRADIO_TEMP_DIR": str(run.parent / "uploads")}
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
        self.loaded: dict[str, float] = {}
        self.url = self.process.stdout.readline().removeprefix("address ").strip()
        threading.Thread(target=self._read, daemon=True).start()

    def memory(self) -> float:
        """MB"""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def _read(self) -> None:
        for line in self.process.stdout:
            if line.startswith("version "):
                self.loaded[line.removeprefix("version ").strip()] = time.monotonic()


@contextmanager
def served(run: Path) -> Iterator[ServedRun]:
    server = ServedRun(run)
    try:
        yield server
    finally:
        server.close()
