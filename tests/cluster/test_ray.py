"""Shards on Ray: equal answers, faults, and encoding by actors."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from genius.errors import UserError
from genius.index.item_source import read_item_source
from genius.index.store import load_index
from genius.index.update import Models, add, remove
from genius.run import Run
from genius.schema import SearchOptions
from genius.search.engine import Engine
from tests.cluster.equal import assert_equal, assert_same_answers, every_option, orders_of, vectors
from tests.collections.samples import photos
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]
SCAN = SearchOptions(mode="scan", k=40)


@contextmanager
def served(run: Path, shards: int, patience: float = 5.0, replicas: int = 1):
    from genius.cluster.serving import connected, start_shards, stop_shards

    start_shards(run, shards, replicas, patience, None)
    try:
        yield connected(run, None, "cpu")
    finally:
        stop_shards(run)


def process(name: str) -> int | None:
    """The process whose title, which Ray gives it, begins with this."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if file.read_bytes().startswith(f"ray::{name}".encode()):
                return int(file.parent.name)
    return None


def pid_of(run: Path, share: str) -> int | None:
    """The process of a shard."""
    return process(f"ServeReplica:genius-{run.name}-{share}:")


def test_shards_on_ray_give_what_one_index_gives_and_take_in_a_newer_one(run):
    with served(run, 3) as parts:
        one = Engine.load(run, "cpu")
        for order in orders_of(one):
            for options in every_option(one, order):
                assert_same_answers(parts, one, vectors(one, 8), options)
        remove(run, ["0:3", "0:20"])
        assert parts.snapshots.reload() and one.snapshots.reload()
        assert_same_answers(parts, one, vectors(one, 8), SCAN)


def test_of_a_killed_shard_the_answer_says_so_or_waits_and_none_is_lost_after_the_restart(run):
    with served(run, 3, patience=1.0) as parts:
        one = Engine.load(run, "cpu")
        given = vectors(one, 1)
        (whole,) = one.search_encoded(given, SCAN)
        first = pid_of(run, "2-of-3")
        os.kill(first, signal.SIGKILL)
        (found,) = parts.search_encoded(given, SCAN)
        known = {hit.item.id: hit.cosine for hit in whole.hits}
        assert all(known[hit.item.id] == hit.cosine for hit in found.hits), (
            "nothing wrong is among what is left"
        )
        assert found.missing == "2 of 3 parts answered" or len(found.hits) == len(whole.hits)
        parts.retriever.shards.patience = 0  # wait
        (again,) = parts.search_encoded(given, SCAN)
        assert_equal([again], [whole])
        assert pid_of(run, "2-of-3") not in (None, first)


def test_searches_beside_a_kill_are_all_answered(run):
    with served(run, 2, patience=0) as parts:
        one = Engine.load(run, "cpu")
        given = vectors(one, 1)
        wrong = []
        stop = threading.Event()
        (whole,) = one.search_encoded(given, SCAN)
        counts = [0]

        def ask() -> None:
            while not stop.is_set():
                (found,) = parts.search_encoded(given, SCAN)
                counts[0] += 1
                if [hit.row for hit in found.hits] != [
                    hit.row for hit in whole.hits
                ] or found.missing:
                    wrong.append(found)

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until(lambda: counts[0] > 3)
        os.kill(pid_of(run, "1-of-2"), signal.SIGKILL)
        after = counts[0]
        wait_until(lambda: counts[0] > after + 5)
        stop.set()
        asking.join()
        assert not wrong


ROUTER = """
import sys
from pathlib import Path
from genius.cluster.serving import connected
parts = connected(Path(sys.argv[1]), sys.argv[2], "cpu")
print("connected", flush=True)
while True:
    parts.search("a red dog")
"""


def test_a_killed_router_costs_the_others_nothing_and_another_one_takes_its_place(run, cluster):
    from genius.cluster.serving import connected

    with served(run, 2, patience=0, replicas=2) as parts:
        one = Engine.load(run, "cpu")
        router = subprocess.Popen(
            [sys.executable, "-c", ROUTER, str(run), cluster], stdout=subprocess.PIPE, text=True
        )
        assert router.stdout.readline() == "connected\n"
        time.sleep(0.5)  # of searches
        router.kill()
        router.wait()
        for each in (parts, connected(run, None, "cpu")):
            assert_same_answers(each, one, vectors(one, 4), SCAN)


def test_a_full_disk_on_a_worker_is_one_sentence(run, tmp_path, monkeypatch):
    from genius.cluster.indexing import PartitionEncoder

    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device", str(run / "partitions"))

    monkeypatch.setattr("genius.index.partitions.write_index", full)
    source = photos(tmp_path / "more", "1.png")
    told = PartitionEncoder(str(run), str(source), 1)({"id": 0})
    assert "is full" in told["error"] and told["id"] == 0


def test_what_the_cluster_does_not_serve_or_serves_otherwise_is_refused(run, monkeypatch):
    from genius.cluster import serving

    with pytest.raises(UserError, match="does not serve run; start it: genius cluster serve"):
        serving.connected(run, None)
    with served(run, 2):
        monkeypatch.setattr(serving, "models_of", lambda run: ("another",))
        with pytest.raises(UserError, match="the cluster serves other models of run"):
            serving.connected(run, None)


def test_an_address_that_does_not_answer_gets_one_sentence(run):
    command = f"{sys.executable} -m genius.cluster serve {run} --address 127.0.0.1:1"
    ended = subprocess.run(command.split(), capture_output=True, text=True, timeout=240)
    assert ended.returncode == 2 and "no Ray cluster could be joined at 127.0.0.1:1" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("killed", [False, True])
def test_actors_encode_a_folder_in_parts_and_a_killed_one_is_taken_over(
    run, tmp_path, killed, capsys
):
    from genius.cluster.indexing import index_source

    source = photos(tmp_path / "more", *(f"{number}.png" for number in range(24)))
    (source / "broken.png").write_bytes(b"no picture")
    if killed:
        threading.Thread(target=kill_an_encoder, daemon=True).start()
    alone = tmp_path / "alone"
    Run(run).copy(alone)
    add(alone, lambda dataset: read_item_source(str(source), dataset), Models.load(alone, "cpu"))
    assert index_source(run, str(source), 6, 2, None) == 1
    said = capsys.readouterr().out
    assert "unreadable: " in said and "broken.png" in said
    one, parts = load_index(Run(alone)), load_index(Run(run))
    assert parts.n == one.n > 40 and np.array_equal(parts.packed, one.packed)
    index_source(run, str(source), 6, 2, None)  # again: nothing is added twice
    assert load_index(Run(run)).n == one.n


def kill_an_encoder() -> None:
    """The first worker that encodes."""
    wait_until(lambda: process("MapWorker"))
    os.kill(process("MapWorker"), signal.SIGKILL)
