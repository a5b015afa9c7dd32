"""genius/search/batching.py, with work that writes down what it is given."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from genius.search.batching import Batcher

ROOT = Path(__file__).parents[2]
LONG = 60.0  # seconds; what should happen at once has happened long before


class Device:
    """Work that doubles numbers. It keeps the batches that it was given, and stops at a gate while told to."""

    def __init__(self, poison: int | None = None):
        self.batches: list[tuple[str, list[int]]] = []
        self.poison = poison
        self.gate = threading.Event()
        self.gate.set()
        self.busy = threading.Event()

    def __call__(self, queries: list[int], options: str) -> list[int]:
        self.batches.append((options, queries))
        self.busy.set()
        assert self.gate.wait(LONG)
        if self.poison in queries:
            raise ValueError(f"cannot double {self.poison}")
        return [2 * query for query in queries]


class Crowd:
    """Callers on threads of their own, who ask while the device is busy."""

    def __init__(self, batcher: Batcher, device: Device, size: int = 4):
        self.batcher, self.device, self.size = batcher, device, size
        self.threads: list[threading.Thread] = []
        self.got: dict[int, list[int] | BaseException] = {}

    def __enter__(self) -> "Crowd":
        self.device.gate.clear()
        self.ask([0], "first")
        assert self.device.busy.wait(LONG)
        return self

    def ask(self, queries: list[int], options: str = "") -> None:
        """Returns when the queries wait for the device, or are at work."""
        number, before = len(self.threads), self._waiting()

        def caller() -> None:
            try:
                self.got[number] = self.batcher.run(self.device, queries, options, self.size)
            except BaseException as error:
                self.got[number] = error

        self.threads.append(threading.Thread(target=caller, daemon=True))
        self.threads[-1].start()
        until(lambda: self.device.busy.is_set() if number == 0 else self._waiting() > before)

    def _waiting(self) -> int:
        return len(self.batcher._worker._waiting) if self.threads else 0

    def __exit__(self, *error: object) -> None:
        self.device.gate.set()
        for thread in self.threads:
            thread.join(LONG)


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.fixture
def batcher():
    batcher = Batcher()
    yield batcher
    batcher.close()


def test_a_group_that_is_too_large_is_split_and_comes_back_in_order(batcher):
    device = Device()
    assert batcher.run(device, range(10), "", size=4) == [2 * query for query in range(10)]
    assert [queries for _, queries in device.batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batcher.run(device, [], "", size=4) == [] and len(device.batches) == 3


def test_queries_that_wait_go_together_in_order_of_arrival_if_their_options_are_equal(batcher):
    with Crowd(batcher, device := Device()) as crowd:
        for queries, options in (([1], "a"), ([2, 3], "b"), ([4, 5], "a"), ([6], "b"), ([7, 8], "a")):
            crowd.ask(queries, options)

    assert device.batches[1:] == [("a", [1, 4, 5, 7]), ("b", [2, 3, 6]), ("a", [8])]
    assert crowd.got == {0: [0], 1: [2], 2: [4, 6], 3: [8, 10], 4: [12], 5: [14, 16]}


def test_different_work_never_shares_a_batch(batcher):
    with Crowd(batcher, first := Device()) as crowd:
        crowd.ask([1])
        crowd.device = second = Device()
        crowd.ask([2])
        crowd.device = first
        crowd.ask([3])

    assert [queries for _, queries in first.batches] == [[0], [1, 3]]
    assert [queries for _, queries in second.batches] == [[2]]


def test_a_large_group_holds_a_small_one_up_for_one_batch(batcher):
    with Crowd(batcher, device := Device()) as crowd:
        crowd.ask(list(range(100, 120)), "large")
        crowd.ask([1], "small")

    assert [options for options, _ in device.batches] == ["first", "large", "small"] + 4 * ["large"]
    assert crowd.got[1] == [2 * query for query in range(100, 120)]


def test_a_caller_alone_waits_for_nobody():
    batcher = Batcher(wait_ms=1000 * LONG)
    start = time.monotonic()
    for query in range(50):
        assert batcher.run(Device(), [query], "", size=4) == [2 * query]
    assert time.monotonic() - start < LONG / 10
    batcher.close()


def test_callers_who_ask_again_at_once_go_together_instead_of_in_turns():
    batcher, device, rounds = Batcher(wait_ms=1000 * LONG), Device(), 9
    threads = [
        threading.Thread(target=lambda times=times: [batcher.run(device, [1], "", size=8) for _ in range(times)])
        for times in (1 + rounds, rounds, rounds, rounds)
    ]
    device.gate.clear()
    threads[0].start()
    assert device.busy.wait(LONG)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(batcher._worker._waiting) == 3)
    device.gate.set()
    for thread in threads:
        thread.join(LONG)
    batcher.close()

    assert [len(queries) for _, queries in device.batches] == [1] + rounds * [4]


def test_company_that_does_not_come_is_waited_for_no_longer_than_said():
    batcher = Batcher(wait_ms=200)
    with Crowd(batcher, device := Device()) as crowd:
        crowd.ask([1])
    start = time.monotonic()
    assert batcher.run(device, [2], "", size=4) == [4]  # two were answered a moment ago; one is back
    assert time.monotonic() - start < LONG / 2
    time.sleep(0.3)
    start = time.monotonic()
    batcher.run(device, [3], "", size=4)
    assert time.monotonic() - start < 0.15
    batcher.close()


def test_an_exception_reaches_the_caller_whose_query_raised_it_and_nobody_else(batcher):
    with Crowd(batcher, device := Device(poison=13)) as crowd:
        for queries in ([1], [2, 13], [3]):
            crowd.ask(queries)

    assert (crowd.got[1], crowd.got[3]) == ([2], [6])
    assert isinstance(crowd.got[2], ValueError) and crowd.got[2].__context__ is None
    assert batcher.run(device, [4], "", size=4) == [8]  # and the device goes on


def test_a_group_that_failed_in_one_part_is_not_worked_on_further(batcher):
    device = Device(poison=1)
    with pytest.raises(ValueError, match="cannot double 1"):
        batcher.run(device, range(100), "", size=4)
    batcher.run(device, [200], "", size=4)
    assert [queries for _, queries in device.batches] == [[0, 1, 2, 3], [200]]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError])
def test_no_exception_ends_the_thread(batcher, error):
    def work(queries: list[int], options: str) -> list[int]:
        raise error

    with pytest.raises(error):
        batcher.run(work, [1], "", size=4)
    assert batcher.run(Device(), [1], "", size=4) == [2]


def test_work_that_answers_too_few_queries_fails(batcher):
    with pytest.raises(AssertionError, match="1 answers to 2 queries"):
        batcher.run(lambda queries, options: queries[1:], [1, 2], "", size=4)


def test_an_interrupted_caller_takes_its_queries_along(batcher):
    def interrupt_when_waiting() -> None:
        until(lambda: batcher._worker._waiting)
        os.kill(os.getpid(), signal.SIGINT)

    with Crowd(batcher, device := Device(), size=2) as crowd:
        threading.Thread(target=interrupt_when_waiting).start()
        with pytest.raises(KeyboardInterrupt):
            batcher.run(device, range(50, 100), "", size=2)
        crowd.ask([1])

    assert [queries for _, queries in device.batches] == [[0], [1]]


def test_closing_wakes_those_who_wait_and_lets_the_batch_at_work_end(batcher):
    with Crowd(batcher, device := Device()) as crowd:
        crowd.ask([1])
        closing = threading.Thread(target=batcher.close)
        closing.start()
        crowd.threads[1].join(LONG)
        assert isinstance(crowd.got[1], RuntimeError) and "closed" in str(crowd.got[1])
        worker = batcher._worker
        assert worker.is_alive() and closing.is_alive()

    closing.join(LONG)
    assert crowd.got[0] == [0] and not worker.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        batcher.run(device, [1], "", size=4)
    batcher.close()


def test_the_thread_ends_with_its_owner_and_keeps_nothing_alive():
    class Owner:
        def __init__(self):
            self.batcher = Batcher()

        def work(self, queries: list[int], options: str) -> list[int]:
            return queries

    owner = Owner()
    owner.batcher.run(owner.work, [1], "", size=4)
    worker, gone = owner.batcher._worker, weakref.ref(owner)
    until(lambda: worker._until > 0)
    del owner
    until(lambda: gone() is None)  # no cycle: without the garbage collector
    worker.join(LONG)
    assert not worker.is_alive()


def test_an_owner_that_was_never_asked_has_no_thread():
    before = threading.active_count()
    batcher = Batcher()
    assert threading.active_count() == before
    batcher.close()


def test_work_may_ask_its_own_device(batcher):
    def work(queries: list[int], options: str) -> list[int]:
        return batcher.run(device, queries, "inner", size=2)

    device = Device()
    assert batcher.run(work, [1, 2, 3], "", size=4) == [2, 4, 6]
    assert device.batches == [("inner", [1, 2]), ("inner", [3])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own(batcher):
    with Crowd(batcher, device := Device()):
        child = os.fork()
        if not child:
            signal.alarm(int(LONG))  # ends it if it hangs
            device.gate.set()
            os._exit(0 if batcher.run(device, [21], "", size=4) == [42] else 1)
        assert os.waitpid(child, 0) == (child, 0)
    assert batcher.run(device, [1], "", size=4) == [2]


def test_a_process_ends_while_its_device_is_busy():
    program = (
        "import threading, time; from genius.search.batching import Batcher\n"
        "batcher, busy = Batcher(), threading.Event()\n"
        "def work(queries, options): busy.set(); time.sleep(60)\n"
        "threading.Thread(target=batcher.run, args=(work, [1], '', 1), daemon=True).start(); busy.wait()"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=30, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_many_threads_get_what_one_would_and_no_batch_is_too_large(batcher):
    device, wrong = Device(), []

    def ask(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(300):
            queries = [rng.randrange(1000) for _ in range(rng.choice((1, 1, 1, 3, 20)))]
            size = rng.choice((4, 8))
            if batcher.run(device, queries, str(size), size) != [2 * query for query in queries]:
                wrong.append(queries)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)

    assert not wrong and not any(thread.is_alive() for thread in threads)
    assert all(1 <= len(queries) <= int(options) for options, queries in device.batches)
