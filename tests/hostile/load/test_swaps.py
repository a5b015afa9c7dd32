"""Searches from many clients while the index changes: no errors, right answers, flat memory."""

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from genius.search.engine import Engine
from tests.hostile.load.clients import CLIENTS, SEARCHES, SWAPS, Load, Swapper, make_queries, make_run, served
from tests.ui.tiny_page import serving

WARM_UP = min(1_000, SEARCHES // 3)  # searches after which memory must be flat
SAMPLED = max(SEARCHES // 40, 1)  # searches between two samples of memory
GROWTH = 40  # MB from the warm-up to the end, by a straight line through the samples
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read memory")


def judged(load, swapper, loaded, counts):
    """Count the answers by what they are worth; returns those that are neither right nor decided by rounding."""
    for folder, when in loaded.items():
        if folder in swapper.versions:
            swapper.versions[folder].loaded = min(when, swapper.versions[folder].loaded)
    found = Counter(swapper.judge(asked) for asked in load.answers)
    counts("load", "identical", found["right"])
    counts("load", "answered", found["undecided"])
    for outcome, number in (("wrong result", found["wrong"]), ("crash", len(load.errors))):
        if number:
            counts("load", outcome, number)
    return [asked for asked in load.answers if swapper.judge(asked) == "wrong"]


def test_searches_during_swaps_are_right_and_memory_is_flat(tmp_path, counts, measured):
    run = make_run(tmp_path)
    engine = Engine.load(run, "cpu")
    queries = make_queries(engine, tmp_path)
    with served(run) as server:
        swapper = Swapper(run, engine, [query for query, _ in queries])
        load = Load(server.url, queries, CLIENTS, SEARCHES)
        started = time.monotonic()
        load.start()
        memory = [server.memory()]
        while load.running():
            done = len(load.answers) + len(load.errors)
            if len(swapper.versions) <= SWAPS and done >= len(swapper.versions) * SEARCHES // (SWAPS + 1):
                swapper.swap()
            if done >= len(memory) * SAMPLED:
                memory.append(server.memory())
            time.sleep(0.02)
        seconds = time.monotonic() - started
        files = server.open_files()
    wrong = judged(load, swapper, server.loaded, counts)
    flat = memory[WARM_UP // SAMPLED :]
    growth = np.polyfit(range(len(flat)), flat, 1)[0] * len(flat) if len(flat) > 2 else 0.0
    times = np.percentile(load.milliseconds(), [50, 95, 99])
    for name, value in (
        ("searches", len(load.answers)),
        ("clients", CLIENTS),
        ("searches per second", round(len(load.answers) / seconds, 1)),
        ("versions of the index published", len(swapper.versions)),
        ("versions of the index served", len(server.loaded)),
        *zip(("p50, ms", "p95, ms", "p99, ms"), times.round(1).tolist()),
        (f"memory after {WARM_UP:,} searches, MB", round(flat[0], 1)),
        ("memory at the end, MB", round(memory[-1], 1)),
        (f"growth after {WARM_UP:,} searches, MB", round(float(growth), 1)),
        ("open files at the end", files),
        (f"memory, MB, every {SAMPLED} searches", [round(value, 1) for value in memory]),
    ):
        measured("load", name, value)
    assert not load.errors, load.errors[:3]
    assert not wrong, wrong[:3]
    assert len(swapper.versions) > SWAPS
    assert growth < GROWTH, memory


@pytest.mark.sample
def test_a_few_searches_during_swaps_are_right(tmp_path, counts):
    with serving(tmp_path / "run") as served_here:
        engine = Engine.load(served_here.run, "cpu")
        queries = make_queries(engine, tmp_path)
        swapper, loaded = Swapper(served_here.run, engine, [query for query, _ in queries]), {}
        load = Load(served_here.url, queries, clients=4, searches=60)
        load.start()
        for _ in range(3):
            swapper.swap()
            served_here.engine.versions.reload()
            loaded[engine.index.folder.name] = time.monotonic()
        while load.running():
            time.sleep(0.02)
    assert not judged(load, swapper, loaded, counts) and not load.errors and len(load.answers) == 60
