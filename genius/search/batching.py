"""Many callers, one thread that runs the models: requests that wait at the same time share a batch.

Callers on any thread hand over queries and block until these are answered. One thread does all the
work, so the models need no lock and the device holds one batch at a time.

- *Turns.* Callers say who asks (`asker`). The client goes first that was served longest ago, so one
  who asks a lot delays nobody else; a request whose asker no longer listens comes after all others.
- *Batches.* The first request goes together with every other waiting request for the same work with
  equal options that still fits. A lone request is never delayed for batching. After a batch of
  several requests the thread pauses for a millisecond, so that callers who ask again at once join
  those who waited: without it eight such callers fall into two groups that take turns, at a third
  more computation for each query.
- *Large requests* go in parts of `size` queries. A caller hands over one part at a time, so others
  go between two parts.
- *Cancellation.* A request whose caller was interrupted is dropped before the next batch is formed.
  A batch that has started is finished.
- *Errors.* When a batch of several requests fails, each request is run again alone, so an exception
  reaches only the caller whose queries raise it.
- *Cores.* OpenMP keeps a team of threads for every thread that ever ran a parallel loop of torch.
  They wait for the next loop by spinning while all teams have no more threads than there are cores;
  with a second team the system must wake them for each loop, and a query takes twice as long. So
  the engines of a process share one thread.
"""

import atexit
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, TypeVar

import torch

Queued = TypeVar("Queued")
Options = TypeVar("Options")
Answer = TypeVar("Answer")
Work = Callable[[list[Queued], Options], Sequence[Answer]]

PAUSE = 0.001  # seconds


@dataclass(eq=False)
class Asker:
    """For whom requests are made. listens: whether somebody still waits for the answer."""

    client: str = ""
    listens: bool = True


NOBODY_ELSE = Asker()  # a program of its own
asker: ContextVar[Asker] = ContextVar("asker", default=NOBODY_ELSE)


class Batcher:
    """Runs work on a thread of its own."""

    def __init__(self) -> None:
        self._requests: SimpleQueue[_Request] = SimpleQueue()
        self._thread = threading.Thread(
            target=_serve, args=(self._requests,), name="engine", daemon=True
        )
        self._thread.start()

    def run(
        self,
        work: Work[Queued, Options, Answer],
        queries: Sequence[Queued],
        options: Options,
        size: int,
    ) -> list[Answer]:
        """work(queries, options) on the batching thread; one answer per query, in order.

        work: gets at most `size` queries at once, other callers' among them if they ask for the
        same work with equal
            options. It sets up thread-local state, such as torch.inference_mode, itself. It may
            call `run`.
        Raises what `work` raises for these queries.
        """
        parts = (queries[start : start + size] for start in range(0, len(queries), size))
        if threading.current_thread() is self._thread:  # called by work
            return [answer for part in parts for answer in _answers(work, part, options)]
        return [
            answer for part in parts for answer in self._wait(_Request(work, options, part, size))
        ]

    def call(self, function: Callable[..., Answer], *given: Any) -> Answer:
        """function(*given) on the batching thread, by itself."""
        answers: list[Answer] = self.run(lambda *_: [function(*given)], [None], None, size=1)
        return answers[0]

    def _wait(self, request: "_Request") -> Sequence[Any]:
        try:  # before it is queued: an interrupt may come at any time
            self._requests.put(request)
            return request.future.result()
        finally:
            request.future.cancel()  # changes nothing unless the caller was interrupted
            del request  # its exception would hold this frame, and so itself


@dataclass(eq=False)
class _Request:
    """Queries of one caller."""

    work: Work
    options: Any
    queries: Sequence
    size: int
    asker: Asker = field(default_factory=lambda: asker.get())
    future: Future = field(default_factory=Future)


@lru_cache(1)
def engine_thread() -> Batcher:
    """The thread that runs the models of all engines of this process."""
    return Batcher()


os.register_at_fork(after_in_child=engine_thread.cache_clear)  # a forked process lacks the thread


@atexit.register
def _finish() -> None:
    """Let the thread finish what it was asked for: a process that ends while models run is
    aborted.
    """
    if engine_thread.cache_info().currsize:
        engine_thread().call(int)


def leave_cores_to_engines() -> None:
    """Torch computes on one core in all threads but that of the engines, also in threads that start
    later.

    It changes the whole process: for programs that serve, not for library functions.
    """
    # each thread keeps what torch says when it asks first
    engine_thread().call(torch.get_num_threads)
    torch.set_num_threads(1)


def _serve(requests: SimpleQueue[_Request]) -> None:
    """The thread. Between two batches it refers to no request, so it keeps no engine alive."""
    waiting: list[_Request] = []
    served: dict[str, float] = {}  # when a client that has other requests waiting was last served
    while True:
        while not waiting or not requests.empty():
            waiting.append(requests.get())
        if _work_on(_next_batch(waiting, served)) > 1:
            time.sleep(PAUSE)


def _next_batch(waiting: list[_Request], served: dict[str, float]) -> list[_Request]:
    """Take the next request and those that can join it from `waiting`; empty if all were cancelled.

    served: when a client was last served, of those that have more requests waiting; it is kept up
    to date.
    """
    batch: list[_Request] = []
    for request in _in_turns(waiting, served):
        first = batch[0] if batch else request
        room = first.size - sum(len(joined.queries) for joined in batch)
        joins = (request.work, request.options) == (first.work, first.options) and len(
            request.queries
        ) <= room
        if joins and request.future.set_running_or_notify_cancel():
            batch.append(request)
    waiting[:] = [
        request for request in waiting if not (request.future.running() or request.future.done())
    ]
    now = time.monotonic()
    served |= {request.asker.client: now for request in batch}
    others = {request.asker.client for request in waiting}
    for client in served.keys() - others:
        del served[client]
    return batch


def _in_turns(waiting: Sequence[_Request], served: Mapping[str, float]) -> list[_Request]:
    """The requests in the order in which they are due: clients take turns, and who does not listen
    comes last.
    """
    turns: Counter[str] = Counter()
    due = []
    for place, request in enumerate(waiting):
        client = request.asker.client
        due.append((not request.asker.listens, turns[client], served.get(client, 0.0), place))
        turns[client] += 1
    return [waiting[place] for *_, place in sorted(due)]


def _work_on(batch: list[_Request]) -> int:
    """Answer the requests of a batch; returns how many there were."""
    if not batch:
        return 0
    queries = [query for request in batch for query in request.queries]
    answers, error = _attempt(batch[0].work, queries, batch[0].options)
    if error is not None and len(batch) > 1:
        for request in batch:
            _work_on([request])
    elif error is not None:
        batch[0].future.set_exception(error)
    else:
        remaining = iter(answers)
        for request in batch:
            request.future.set_result([next(remaining) for _ in request.queries])
    return len(batch)


def _attempt(work: Work, queries: Sequence, options: Any) -> tuple[Sequence, BaseException | None]:
    """The answers, or the exception. A frame of its own: an exception keeps the frames alive that
    it passed.
    """
    try:
        return _answers(work, queries, options), None
    except BaseException as error:
        return [], error


def _answers(work: Work, queries: Sequence, options: Any) -> Sequence:
    answers = work(list(queries), options)
    assert len(answers) == len(queries), f"{len(answers)} answers to {len(queries)} queries"
    return answers
