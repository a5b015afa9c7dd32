"""genius/search/batching.py, with work that records the batches it is given."""

import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from genius.search import batching
from genius.search.batching import Batcher
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
TIMEOUT = 60.0  # seconds; reached only by a test that fails


class Device:
    """Work that doubles numbers, records its batches, and stops at a gate while that is shut."""

    def __init__(self, poison: int | None = None):
        self.batches: list[tuple[str, list[int]]] = []
        self.poison = poison
        self.gate = threading.Event()
        self.gate.set()
        self.busy = threading.Event()

    def __call__(self, queries: list[int], options: str) -> list[int]:
        self.batches.append((options, queries))
        self.busy.set()
        assert self.gate.wait(TIMEOUT)
        if self.poison in queries:
            raise ValueError(f"cannot double {self.poison}")
        return [2 * query for query in queries]


class Crowd:
    """Callers on threads of their own, whose requests arrive while the device is busy with a first
    one.
    """

    def __init__(self, batcher: Batcher, device: Device, size: int = 4):
        self.batcher, self.device, self.size = batcher, device, size
        self.threads: list[threading.Thread] = []
        self.answers: dict[int, list[int] | BaseException] = {}

    def __enter__(self) -> "Crowd":
        self.device.gate.clear()
        self.ask([0], "first")
        assert self.device.busy.wait(TIMEOUT)
        return self

    def ask(self, queries: list[int], options: str = "") -> None:
        """Returns when the request is queued, or is being worked on."""
        number = len(self.threads)
        before = self.batcher._requests.qsize()
        device = self.device

        def wait() -> None:
            try:
                self.answers[number] = self.batcher.run(device, queries, options, self.size)
            except BaseException as error:
                self.answers[number] = error

        self.threads.append(threading.Thread(target=wait, daemon=True))
        self.threads[-1].start()
        wait_until(
            lambda: device.busy.is_set() if number == 0 else self.batcher._requests.qsize() > before
        )

    def __exit__(self, *error: object) -> None:
        self.device.gate.set()
        for thread in self.threads:
            thread.join(TIMEOUT)


def run(program: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own does."""
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, timeout=30, capture_output=True, text=True
    )


@pytest.fixture
def batcher():
    return Batcher()


def test_a_large_request_is_split_and_its_answers_come_back_in_order(batcher):
    device = Device()
    assert batcher.run(device, range(10), "", size=4) == [2 * query for query in range(10)]
    assert [queries for _, queries in device.batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batcher.run(device, [], "", size=4) == [] and len(device.batches) == 3


def test_waiting_requests_with_equal_options_share_a_batch_in_order_of_arrival(batcher):
    with Crowd(batcher, device := Device()) as crowd:
        for queries, options in (
            ([1], "a"),
            ([2, 3], "b"),
            ([4, 5], "a"),
            ([6], "b"),
            ([7, 8], "a"),
            ([9], "a"),
        ):
            crowd.ask(queries, options)

    assert device.batches[1:] == [("a", [1, 4, 5, 9]), ("b", [2, 3, 6]), ("a", [7, 8])]
    assert crowd.answers == {0: [0], 1: [2], 2: [4, 6], 3: [8, 10], 4: [12], 5: [14, 16], 6: [18]}


def test_different_work_never_shares_a_batch(batcher):
    with Crowd(batcher, first := Device()) as crowd:
        crowd.ask([1])
        second = Device()
        crowd.device = second
        crowd.ask([2])
        crowd.device = first
        crowd.ask([3])

    assert [queries for _, queries in first.batches] == [[0], [1, 3]]
    assert [queries for _, queries in second.batches] == [[2]]


def test_a_large_request_delays_a_small_one_by_one_batch(batcher):
    with Crowd(batcher, device := Device()) as crowd:
        crowd.ask(list(range(100, 120)), "large")
        crowd.ask([1], "small")

    assert [options for options, _ in device.batches] == ["first", "large", "small"] + 4 * ["large"]
    assert crowd.answers[1] == [2 * query for query in range(100, 120)]


def test_an_exception_reaches_only_the_caller_whose_query_raised_it(batcher):
    with Crowd(batcher, device := Device(poison=13)) as crowd:
        for queries in ([1], [2, 13], [3]):
            crowd.ask(queries)

    assert (crowd.answers[1], crowd.answers[3]) == ([2], [6])
    assert isinstance(crowd.answers[2], ValueError) and crowd.answers[2].__context__ is None
    assert batcher.run(device, [4], "", size=4) == [8]  # the thread goes on


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, MemoryError])
def test_no_exception_ends_the_thread(batcher, error):
    def work(queries: list[int], options: str) -> list[int]:
        raise error

    with pytest.raises(error):
        batcher.run(work, [1], "", size=4)
    assert batcher.run(Device(), [1], "", size=4) == [2]


@pytest.fixture
def interruptible():
    """A shell lets what it starts in the background ignore Ctrl+C, and Python then sets no
    handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupted_caller_withdraws_its_queries(batcher, interruptible):
    def interrupt_when_queued() -> None:
        wait_until(lambda: batcher._requests.qsize())
        os.kill(os.getpid(), signal.SIGINT)

    with Crowd(batcher, device := Device(), size=2) as crowd:
        threading.Thread(target=interrupt_when_queued).start()
        with pytest.raises(KeyboardInterrupt):
            batcher.run(device, range(50, 100), "", size=2)
        crowd.ask([1])

    assert [queries for _, queries in device.batches] == [[0], [1]]


def test_the_thread_keeps_nothing_alive(batcher):
    class Owner:
        def work(self, queries: list[int], options: str) -> list[int]:
            return queries

    owner = Owner()
    batcher.run(owner.work, [1], "", size=4)
    gone = weakref.ref(owner)
    del owner
    wait_until(lambda: gone() is None)  # no cycle: without the garbage collector


def test_all_engines_of_a_process_share_a_thread_which_keeps_the_cores_where_others_leave_them():
    program = (
        "import threading, torch; from genius.search import batching\n"
        "torch.set_num_threads(3); batching.leave_cores_to_engines()\n"
        "started = threading.Thread(target=lambda: print(torch.get_num_threads())); "
        "started.start(); started.join()\n"
        "print(torch.get_num_threads(), batching.engine_thread().call(torch.get_num_threads))"
    )
    ended = run(program)
    assert ended.stdout.split() == ["1", "1", "3"], ended.stderr


def test_a_process_that_ends_waits_for_work_that_has_begun():
    program = (
        "import threading, torch; from genius.search.batching import engine_thread\n"
        "begun, numbers = threading.Event(), torch.ones(500, 500)\n"
        "work = lambda: (begun.set(), [numbers @ numbers for _ in range(200)], "
        "print('done')) and None\n"
        "threading.Thread(target=engine_thread().call, args=(work,), "
        "daemon=True).start(); begun.wait()"
    )
    ended = run(program)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_work_may_run_more_work(batcher):
    def work(queries: list[int], options: str) -> list[int]:
        return batcher.run(device, queries, "inner", size=2)

    device = Device()
    assert batcher.run(work, [1, 2, 3], "", size=4) == [2, 4, 6]
    assert device.batches == [("inner", [1, 2]), ("inner", [3])]


def test_a_called_function_runs_on_the_same_thread(batcher):
    assert batcher.call(threading.current_thread) is batcher._thread
    assert batcher.call(lambda: batcher.call(threading.current_thread)) is batcher._thread


def test_a_process_ends_while_its_device_is_busy():
    program = (
        "import threading, time; from genius.search.batching import Batcher\n"
        "batcher, busy = Batcher(), threading.Event()\n"
        "def work(queries, options): busy.set(); time.sleep(60)\n"
        "threading.Thread(target=batcher.run, args=(work, [1], '', 1), "
        "daemon=True).start(); busy.wait()"
    )
    ended = run(program)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_clients_take_turns_and_who_does_not_listen_comes_last():
    def request(client: str, listens: bool = True) -> batching._Request:
        return batching._Request(len, "", [client], 1, batching.Asker(client, listens))

    waiting = [
        request("gone", listens=False),
        *(request("many") for _ in range(3)),
        request("one"),
        request("two"),
    ]
    served = {}
    order = []
    while waiting:
        (first,) = batching._next_batch(waiting, served)
        order.append(first.asker.client)
    assert order == ["many", "one", "two", "many", "many", "gone"]
