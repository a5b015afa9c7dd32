"""A collection of a million candidates, from records to a page that is searched: time and memory of each step.

    python -m tests.training.test_million FOLDER [--candidates 1000000]
    pytest -m slow -s tests/training/test_million.py

The records are the drawn world's. One picture in 500 is drawn, the others are links to these: each is opened,
decoded, encoded and shrunk like any other. The encoder is a stand-in, one layer of 64 numbers over patches of
16 pixels with random weights, because a real one would take days on two cores. Features and index are killed on
their way and started again. What is done in FOLDER is not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np
import pytest
from gradio_client import Client

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.demo_world.write import write_world
from genius.index.segments import THUMBNAILS
from genius.run import Run

ROOT = Path(__file__).resolve().parents[2]
DIM, PIXELS, DRAWN = 64, 48, 500  # of the embedding; side of a picture; one in so many is drawn
KILLED_AT = {"features": 0.4, "index": 0.6}  # share that is done
ASKED = 100  # queries, one after the other
ENCODER = {
    "embed_dim": DIM,
    "custom_text": True,
    "vision_cfg": {"layers": 1, "width": 64, "head_width": 32, "patch_size": 16, "image_size": PIXELS},
    "text_cfg": {"context_length": 32, "vocab_size": 8192, "width": 64, "heads": 2, "layers": 1},
}
SETTINGS = {
    "encoder": {"architecture": ENCODER, "epochs": 0},
    "features": {"phrasings": 1},
    "quantizer": {
        "fusion.dim": DIM,
        "fusion.branch": 128,
        "fusion.hidden": 256,
        "quantizer.dim": DIM,
        "epochs": 1,
        "upsample_to": 0,
    },
    "decoder": {
        "decoder.dim": DIM,
        "decoder.width": 128,
        "decoder.layers": 2,
        "decoder.ff_width": 256,
        "epochs": 1,
        "upsample_to": 0,
        "self_queries": False,
    },
    "index": {"thumbnail_side": 32},
}


@dataclass
class Cost:
    """Of a process and those that it starts."""

    seconds: float
    gigabytes: float = 0.0  # at most; pages that processes share count once


def pipeline(folder: Path, candidates: int) -> dict[str, Cost]:
    """World, training, index and a served page; step -> cost."""
    world, run, costs = folder.resolve() / "world", folder.resolve() / "run", {}
    if not world.exists():
        begun = time.perf_counter()
        draw(world, candidates)
        told("world", Cost(time.perf_counter() - begun))
    pairs = [
        f"--set={stage}.{name}={value if isinstance(value, str) else json.dumps(value)}"
        for stage, values in SETTINGS.items()
        for name, value in values.items()
    ]
    for stage in ("encoder", "features", "quantizer", "decoder", "index"):
        if stage not in Run(run).manifest.get("stages", {}):
            command = [sys.executable, "-m", f"training.{stage}", str(world), str(run), "--workers=2", *pairs]
            if stage in KILLED_AT:
                done = {"features": shards_done, "index": items_indexed}[stage]
                costs[f"{stage}, killed"], before = killed(command, lambda done=done: done(run), KILLED_AT[stage])
                told(f"{stage}, killed at {before:.0%}", costs[f"{stage}, killed"])
                costs[stage] = told(f"{stage}, again", finished(command, lambda done=done: done(run), before))
            else:
                costs[stage] = told(stage, finished(command))
    costs["served"] = search(world, run)
    return costs


def draw(world: Path, candidates: int) -> None:
    records = world.with_name("records")
    if not records.exists():
        write_world(records, scale=candidates, pixels=PIXELS, pictures=is_drawn)
    link_pictures(records)
    records.rename(world)


def is_drawn(path: str) -> bool:
    return zlib.crc32(path.encode()) % DRAWN == 0


def link_pictures(world: Path) -> None:
    """Every path that the records name and that was not drawn becomes a link to a picture that was."""
    collection = Collection(world)
    drawn = cycle(sorted(file for file in (world / "images").rglob("*") if file.is_file()))
    named = chain(collection.all_candidates(), *(collection.queries(split) for split in SPLITS))
    for path in (collection.root / one.image for one in named if one.image):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(next(drawn), path)


def shards_done(run: Path) -> float:
    """Share of the candidates' shards."""
    folder = run / "features" / "candidates"
    with suppress(OSError, ValueError):
        state = json.loads((folder / "progress.json").read_text())
        if state["done"] == state["things"]:
            return 1.0
        return len(list((folder / "shards").iterdir())) * state["shard"] / state["things"]
    return 0.0


def items_indexed(run: Path) -> float:
    """Share of the items whose records and thumbnails are written."""
    things = json.loads((run / "features" / "candidates" / "progress.json").read_text())["things"]
    with suppress(OSError, StopIteration):
        with next((run / "indexing").glob(f"*/{THUMBNAILS}")).open("rb") as database:
            header = database.read(100)
        return int.from_bytes(header[60:64], "big") / things  # user_version, see genius/index/database.py
    return 0.0


def finished(command: list[str], done: Callable[[], float] = lambda: 0.0, before: float = 0.0) -> Cost:
    """Run it to its end. done: the share that is done, which never falls below `before` as long as it is known."""
    with started(command) as (process, cost):
        while process.poll() is None:
            share = done()
            assert share == 0.0 or share >= before, f"{share:.0%} were done, and {before:.0%} before the kill"
            cost()
    assert process.returncode == 0, process.returncode
    return cost()


def killed(command: list[str], done: Callable[[], float], share: float) -> tuple[Cost, float]:
    """Run it until this share is done, and kill it with all that it started; also the share that it leaves."""
    with started(command) as (process, cost):
        while done() < share:
            assert process.poll() is None, f"it ended with {process.returncode} before it could be killed"
            cost()
    return cost(), done()


@contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen, Callable[[], Cost]]]:
    """A process in a group of its own, which is killed at the end, and what measures it at most twice a second."""
    process, spent = subprocess.Popen(command, cwd=ROOT, start_new_session=True), Cost(0.0)
    begun = time.perf_counter()

    def cost() -> Cost:
        if process.poll() is None:
            spent.gigabytes = max(spent.gigabytes, sum(map(memory, family(process.pid))) / 2**30)
            time.sleep(0.5)
        spent.seconds = time.perf_counter() - begun
        return spent

    try:
        yield process, cost
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    children = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_text().split())
    return [pid, *chain.from_iterable(map(family, children))]


def memory(pid: int) -> int:
    """Bytes of a process, shared pages divided among those that share them."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


def search(world: Path, run: Path) -> Cost:
    """Serve the run, ask it test queries, and print how long that takes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, collection = f"http://127.0.0.1:{port}", Collection(world)
    with started([sys.executable, "app.py", "--run", str(run), "--port", str(port)]) as (process, cost):
        while not is_up(address):
            assert process.poll() is None, f"the page ended with {process.returncode}"
            cost()
        told("served after", cost())
        client, found, searching = Client(address, verbose=False), 0, []
        begun = time.perf_counter()
        queries = [query for query in islice(collection.queries("test"), 20 * ASKED) if query.text][::20][:ASKED]
        for query in queries:
            answer = client.predict(text=query.text, k=50, api_name="/search")
            assert len(answer["hits"]) == 50
            found += any(hit["id"] in query.positives for hit in answer["hits"])
            searching.append(sum(answer["milliseconds"].values()))
        each = 1000 * (time.perf_counter() - begun) / len(queries)
        print(
            f"{len(queries)} searches by 50 beams: median {np.median(searching):.0f} ms, 95 % in "
            f"{np.percentile(searching, 95):.0f}, {each:.0f} with client and page; {found} found",
            flush=True,
        )
        return told("served and searched", cost())


def is_up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def told(what: str, cost: Cost) -> Cost:
    memory_used = f", {cost.gigabytes:5.2f} GB at most" if cost.gigabytes else ""
    print(f"{what:28s} {cost.seconds:7.0f} s{memory_used}", flush=True)
    return cost


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read as Linux tells it")
def test_a_large_collection_is_indexed_through_kills_and_served(tmp_path):
    """Small enough for minutes: 40,000 candidates in ten shards; growth with their number is the command's to show."""
    costs = pipeline(tmp_path, 12_600)
    assert max(cost.gigabytes for cost in costs.values()) < 3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    given = parser.parse_args()
    print(f"{max(cost.gigabytes for cost in pipeline(given.folder, given.candidates).values()):.2f} GB at most")
