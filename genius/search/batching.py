"""One device, many callers: queries that wait at the same time are worked on together.

Callers on any thread hand over groups of queries and block until theirs are answered. One thread does all work, so
the device has one owner and no lock, and the memory that work needs is needed once.

- *Who goes together.* Whoever has waited longest goes first, and with it those, in order of arrival, who want the
  same work with equal options, `size` queries in all. A larger group goes in parts; between two of them it queues
  again behind the others, so a large group holds a small one up for one batch.
- *When.* An idle device takes what comes at once: a caller alone does not pay for company. While the device works,
  the others gather. Whoever was just answered is likely to ask again, so the next batch waits until as many callers
  are back, but no longer than `wait_ms`. Otherwise callers who ask one query after another would fall into two
  parties that take turns, each at the price of a batch.
- *Memory.* A caller blocks until it is answered and cannot ask again before: what waits is one group a caller, which
  the caller holds anyway. The device holds `size` queries.
- *Failure.* Work that fails for several callers is done again for each alone: an exception reaches only those whose
  queries raise it.

The thread starts with the first query and ends with the `Batcher`. After a fork the child starts its own.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

Asked, Options, Answer = TypeVar("Asked"), TypeVar("Options"), TypeVar("Answer")
Work = Callable[[list[Asked], Options], Sequence[Answer]]

CLOSED = "this search engine was closed"


class Batcher:
    """The way to the one thread that owns a device."""

    def __init__(self, wait_ms: float = 2.0):
        """wait_ms: the longest that a query waits for company while the device is idle."""
        self._patience = wait_ms / 1000
        self._lock = threading.Lock()
        self._closed = False
        self._worker: _Worker | None = None

    def run(self, work: Work, queries: Sequence[Asked], options: Options, size: int) -> list[Answer]:
        """work(queries, options), one answer a query, done on the device's thread.

        work: is given at most `size` queries at once, other callers' among them if they want the same work with
            equal options. Whatever is local to a thread, torch.inference_mode, too, it sets up itself. It may call
            `run`.
        Raises what `work` raises for these queries, and RuntimeError if closed before they are answered.
        """
        if not queries:
            return []
        worker, request = self._started(), _Request(work, options, queries, size)
        if worker is threading.current_thread():  # called by work
            return [
                answer
                for start in range(0, len(queries), size)
                for answer in _answers(work, queries[start : start + size], options)
            ]
        worker.submit(request)
        try:
            return request.result.result()
        except BaseException:  # a KeyboardInterrupt, too: nobody is left to take the answers
            worker.withdraw(request)
            raise
        finally:
            del request  # or its exception would hold this frame, and so itself

    def close(self) -> None:
        """End the thread when the batch at work is done. Callers that still wait get a RuntimeError."""
        with self._lock:
            self._closed, worker = True, self._worker
        if worker is not None:
            worker.close()
            if worker is not threading.current_thread():
                worker.join()

    def _started(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise RuntimeError(CLOSED)
            if self._worker is None or not self._worker.is_alive():  # a fork leaves threads behind
                self._worker = _Worker(self._patience)
                self._worker.start()
                weakref.finalize(self, self._worker.close)
            return self._worker


@dataclass(eq=False)
class _Request:
    """The group of one caller."""

    work: Work
    options: Any
    queries: Sequence
    size: int
    taken: int = 0  # queries that are or were at work
    answers: list = field(default_factory=list)  # to the first of them
    result: Future = field(default_factory=Future)  # guarded by the worker's lock, but for waiting

    @property
    def left(self) -> int:
        return len(self.queries) - self.taken

    def joins(self, other: _Request) -> bool:
        """Whether the two may be worked on together."""
        return (self.work, self.options) == (other.work, other.options)

    def take(self, most: int) -> Sequence:
        """The next queries: `most`, or all that are left."""
        part = self.queries[self.taken : self.taken + most]
        self.taken += len(part)
        return part

    def add(self, answers: Iterable) -> None:
        self.answers += answers
        if len(self.answers) == len(self.queries) and not self.result.done():
            self.result.set_result(self.answers)

    def fail(self, error: BaseException) -> None:
        if not self.result.done():  # its caller may have left
            self.result.set_exception(error)


Batch = list[tuple[_Request, Sequence]]  # requests, and which of their queries


class _Worker(threading.Thread):
    """The thread and its queue. It knows requests alone, so between two batches it keeps nothing else alive."""

    def __init__(self, patience: float):
        super().__init__(name="device", daemon=True)
        self._patience = patience  # seconds
        self._changed = threading.Condition()  # guards what follows
        self._waiting: list[_Request] = []  # in the order of their turns
        self._company, self._until = 0, 0.0  # so many callers are expected to wait by that time
        self._closed = False

    def submit(self, request: _Request) -> None:
        with self._changed:
            if self._closed:
                raise RuntimeError(CLOSED)
            self._waiting.append(request)
            self._changed.notify()

    def withdraw(self, request: _Request) -> None:
        """Its queries that wait will not be done; answers to those at work are dropped."""
        with self._changed:
            request.result.cancel()
            self._forget(request)

    def close(self) -> None:
        if self.is_alive():  # else its lock may have been left behind by a fork, with the thread that held it
            with self._changed:
                self._closed = True
                for request in self._waiting:
                    request.fail(RuntimeError(CLOSED))
                self._waiting.clear()
                self._changed.notify()

    def run(self) -> None:
        while batch := self._next():
            self._work_on(batch)
            del batch  # while it waits for the next

    def _next(self) -> Batch:
        """Waits for work and company. Empty when closed."""
        with self._changed:
            while not self._closed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                self._changed.wait_for(self._gathered, timeout=self._until - time.monotonic())
                if self._waiting:
                    return self._take()
            return []

    def _gathered(self) -> bool:
        """Nobody else is expected, or there is no room for more."""
        return (
            not self._waiting
            or len(self._waiting) >= self._company
            or sum(request.left for request in self._waiting) >= self._waiting[0].size
        )

    def _take(self) -> Batch:
        first, batch = self._waiting[0], []
        room = first.size
        for request in self._waiting.copy():
            if room and request.joins(first):
                part = request.take(room)
                room -= len(part)
                batch.append((request, part))
                self._waiting.remove(request)
                if request.left:
                    self._waiting.append(request)
        return batch

    def _work_on(self, batch: Batch) -> None:
        first, queries = batch[0][0], [query for _, part in batch for query in part]
        answers, error = _attempt(first.work, queries, first.options)
        if error and len(batch) > 1:
            for part in batch:
                self._work_on([part])
            return
        with self._changed:
            if error:
                self._forget(first)
                first.fail(error)
            else:
                rest = iter(answers)
                for request, part in batch:
                    request.add(islice(rest, len(part)))
            self._company = len(self._waiting) + sum(request.result.done() for request, _ in batch)
            self._until = time.monotonic() + self._patience

    def _forget(self, request: _Request) -> None:
        if request in self._waiting:
            self._waiting.remove(request)


def _attempt(work: Work, queries: Sequence, options: Any) -> tuple[Sequence, BaseException | None]:
    """The answers, or what was raised. A frame of its own: an exception holds the frames that it passed."""
    try:
        return _answers(work, queries, options), None
    except BaseException as error:
        return [], error


def _answers(work: Work, queries: Sequence, options: Any) -> Sequence:
    answers = work(list(queries), options)
    assert len(answers) == len(queries), f"{len(answers)} answers to {len(queries)} queries"
    return answers
