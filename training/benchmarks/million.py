"""Train, index and serve a collection of a million candidates; print the time and memory of each step.

    python -m training.benchmarks.million FOLDER [--candidates 1000000]

The records are those of the demo world. One image in 500 is drawn; the others are links to these, and each is opened,
decoded, encoded and resized like any other. The encoder is a stand-in, one layer of width 64 over patches of 16 pixels
with random weights, because a real one would take days on two cores. The stages features and index are killed on the
way and started again. Run again, the command skips what FOLDER already has.
"""

from __future__ import annotations

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
from gradio_client import Client

from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.demo_world.write import write_world
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.index.segments import THUMBNAILS
from genius.run import Run
from training.distributed import expect_one_process

ROOT = Path(__file__).resolve().parents[2]
SMAPS = Path("/proc/self/smaps_rollup")  # where Linux reports the memory of a process
DIM, PIXELS, DRAWN_EVERY = 64, 48, 500  # embedding dim; side of an image; one image in this number is drawn
KILL_AT = {"features": 0.4, "index": 0.6}  # share of the stage that is done
QUERIES = 100  # one after the other
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
    """Time and peak memory of a process and its children."""

    seconds: float
    gigabytes: float = 0.0  # shared pages count once


def main() -> None:
    parser = command_parser("training.benchmarks.million", __doc__)
    parser.add_argument("folder", type=Path, help="where the world and the run are written")
    parser.add_argument("--candidates", type=int, default=1_000_000, help="about this number (default: %(default)s)")
    arguments = parser.parse_args()
    costs = pipeline(arguments.folder, arguments.candidates)
    print(f"peak memory {max(cost.gigabytes for cost in costs.values()):.2f} GB")


def pipeline(folder: Path, candidates: int) -> dict[str, Cost]:
    """Draw, train, index, serve and search; -> the cost of each step."""
    world, run, costs = folder.resolve() / "world", folder.resolve() / "run", {}
    if not world.exists():
        started = time.perf_counter()
        draw(world, candidates)
        report("world", Cost(time.perf_counter() - started))
    changes = [
        f"--set={stage}.{name}={value if isinstance(value, str) else json.dumps(value)}"
        for stage, values in SETTINGS.items()
        for name, value in values.items()
    ]
    for stage in ("encoder", "features", "quantizer", "decoder", "index"):
        if stage not in Run(run).manifest.get("stages", {}):
            command = [sys.executable, "-m", f"training.{stage}", str(world), str(run), "--workers=2", *changes]
            if stage in KILL_AT:
                progress = {"features": shards_done, "index": items_indexed}[stage]
                cost, before = run_and_kill(command, lambda progress=progress: progress(run), KILL_AT[stage])
                costs[f"{stage}, killed"] = report(f"{stage}, killed at {before:.0%}", cost)
                cost = run_to_end(command, lambda progress=progress: progress(run), before)
                costs[stage] = report(f"{stage}, resumed", cost)
            else:
                costs[stage] = report(stage, run_to_end(command))
    costs["served"] = search(world, run)
    return costs


def draw(world: Path, candidates: int) -> None:
    """Write the demo world, with links instead of most images."""
    records = world.with_name("records")
    if not records.exists():
        write_world(records, scale=candidates, pixels=PIXELS, pictures=is_drawn)
    link_images(records)
    records.rename(world)


def is_drawn(path: str) -> bool:
    return zlib.crc32(path.encode()) % DRAWN_EVERY == 0


def link_images(world: Path) -> None:
    """Link every image that the records name and that was not drawn to one that was."""
    collection = Collection(world)
    drawn = cycle(sorted(file for file in (world / "images").rglob("*") if file.is_file()))
    records = chain(collection.all_candidates(), *(collection.queries(split) for split in SPLITS))
    for path in (collection.root / record.image for record in records if record.image):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.link(next(drawn), path)


def shards_done(run: Path) -> float:
    """Share of the candidates' feature shards that are written."""
    folder = run / "features" / "candidates"
    with suppress(OSError, ValueError):
        state = json.loads((folder / "progress.json").read_text())
        if state["done"] == state["things"]:
            return 1.0
        return len(list((folder / "shards").iterdir())) * state["shard"] / state["things"]
    return 0.0


def items_indexed(run: Path) -> float:
    """Share of the items whose records and thumbnails are written."""
    items = json.loads((run / "features" / "candidates" / "progress.json").read_text())["things"]
    with suppress(OSError, StopIteration):
        with next((run / "indexing").glob(f"*/{THUMBNAILS}")).open("rb") as database:
            header = database.read(100)
        return int.from_bytes(header[60:64], "big") / items  # user_version, see genius/index/database.py
    return 0.0


def run_to_end(command: list[str], progress: Callable[[], float] = lambda: 0.0, before: float = 0.0) -> Cost:
    """Run a command. progress: the share that is done; while it is known, it must not fall below `before`."""
    with started(command) as (process, measure):
        while process.poll() is None:
            share = progress()
            assert share == 0.0 or share >= before, f"{share:.0%} are done, {before:.0%} were before the kill"
            measure()
    assert process.returncode == 0, process.returncode
    return measure()


def run_and_kill(command: list[str], progress: Callable[[], float], share: float) -> tuple[Cost, float]:
    """Run a command until this share is done, kill it with its children; -> cost, share that is then done."""
    with started(command) as (process, measure):
        while progress() < share:
            assert process.poll() is None, f"it ended with {process.returncode} before it was killed"
            measure()
    return measure(), progress()


@contextmanager
def started(command: list[str]) -> Iterator[tuple[subprocess.Popen, Callable[[], Cost]]]:
    """Start a process in a group of its own, which is killed at the end; -> process, function that measures it."""
    process, cost = subprocess.Popen(command, cwd=ROOT, start_new_session=True), Cost(0.0)
    begin = time.perf_counter()

    def measure() -> Cost:
        if process.poll() is None:
            cost.gigabytes = max(cost.gigabytes, sum(map(memory, family(process.pid))) / 2**30)
            time.sleep(0.5)
        cost.seconds = time.perf_counter() - begin
        return cost

    try:
        yield process, measure
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    children = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (thread / "children").read_text().split())
    return [pid, *chain.from_iterable(map(family, children))]


def memory(pid: int) -> int:
    """Bytes of a process; a shared page counts by its number of users."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/{SMAPS.name}").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


def search(world: Path, run: Path) -> Cost:
    """Serve the run, send it test queries, and print how long they take."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, collection = f"http://127.0.0.1:{port}", Collection(world)
    with started([sys.executable, "app.py", "--run", str(run), "--port", str(port)]) as (process, measure):
        while not is_up(address):
            assert process.poll() is None, f"the page ended with {process.returncode}"
            measure()
        report("page ready", measure())
        client, hits, times = Client(address, verbose=False), 0, []
        begin = time.perf_counter()
        queries = [query for query in islice(collection.queries("test"), 20 * QUERIES) if query.text][::20][:QUERIES]
        for query in queries:
            answer = client.predict(text=query.text, k=50, api_name="/search")
            assert len(answer["hits"]) == 50
            hits += any(hit["id"] in query.positives for hit in answer["hits"])
            times.append(sum(answer["milliseconds"].values()))
        each = 1000 * (time.perf_counter() - begin) / len(queries)
        print(
            f"{len(queries)} searches, 50 beams: median {np.median(times):.0f} ms, 95th percentile "
            f"{np.percentile(times, 95):.0f} ms, {each:.0f} ms with client and page; {hits} hits",
            flush=True,
        )
        return report("served and searched", measure())


def is_up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def report(step: str, cost: Cost) -> Cost:
    peak = f", peak {cost.gigabytes:5.2f} GB" if cost.gigabytes else ""
    print(f"{step:28s} {cost.seconds:7.0f} s{peak}", flush=True)
    return cost


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
