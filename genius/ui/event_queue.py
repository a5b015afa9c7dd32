"""The queue of a page's events: which starts next, which are dropped, and which are refused.

Gradio starts events in the order of their arrival, whether or not a client waits for the answer, and lets one client
fill the queue. Here clients take turns, as they do in the batches of the engine (genius/search/batching.py). An event
that no client listens to starts only while half of the places are free. It is dropped after GRACE seconds, or after
PATIENCE seconds where a full queue would refuse another event. One client gets at most half of the queue.

The methods are internal to Gradio: requirements.txt pins its minor version, and a test asserts that they are called.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

from gradio.queueing import Event, EventQueue, Queue
from gradio.server_messages import ProcessCompletedMessage

from genius.search.batching import ANYONE, Caller, Turns
from genius.ui import security
from genius.ui.failures import LEFT
from genius.ui.security import listeners

FULL = "Too many requests are waiting; try again in a moment."
SHARE_FULL = "Too many of your requests are waiting; send more when some of them are answered."
NO_SESSION = "The request names no session."
MAX_SESSIONS = 2_000  # that may have entries without events

# Who waits for the answer of the current callback; the page sets it for each callback.
caller: ContextVar[Caller] = ContextVar("caller", default=ANYONE)


class FairQueue(Queue):
    """Gradio's queue, in which clients take turns and the events of those who left are dropped."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.turns = Turns()
        self.ANALYTICS_MAX_EVENTS = 1  # statistics that no page shows

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add an event, unless the queue or the share of its client is full."""
        if body.session_hash == "":  # Gradio would run the event, and fail when it sends the answer
            return False, NO_SESSION, "error"
        self.drop_abandoned(full=len(self) >= self.max_size)
        waiting = Counter(address(event.request) for event, _ in self.waiting())
        if waiting.total() >= self.max_size:
            return False, FULL, "queue_full"
        if waiting[address(request)] >= max(self.max_size // 2, 1):
            return False, SHARE_FULL, "queue_full"
        self.forget_sessions()
        return await super().push(body, request, username)

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        """The event to start next, if one may start."""
        if not any(queue.queue and has_place(queue, True) for queue in self.event_queue_per_concurrency_id.values()):
            return None  # Gradio asks every millisecond
        self.drop_abandoned()
        half_idle = sum(job is not None for job in self.active_jobs) < self.max_thread_count // 2
        free = [(event, queue) for event, queue in self.waiting() if has_place(queue, is_heard(event))]
        ready = [entry for entry in free if is_heard(entry[0])] or free * half_idle
        if not ready:
            return None
        event, queue = self.turns.order([(name_of(entry[0]), entry[0].enqueue_time, entry) for entry in ready])[0]
        queue.queue.remove(event)
        self.turns.serve([name_of(event)], [name_of(other) for other, _ in self.waiting()])
        return [event], False, queue.concurrency_id

    def forget_sessions(self) -> None:
        """Gradio keeps an entry for each session for ever, and the event of a program is a session of its own."""
        if len(self.pending_event_ids_session) > MAX_SESSIONS:
            for session in [session for session, events in self.pending_event_ids_session.items() if not events]:
                if not listeners.hear(session):
                    del self.pending_event_ids_session[session]

    def drop_abandoned(self, full: bool = False) -> None:
        """Drop the events that no client has listened to; full: the oldest of them has to make room."""
        for event, queue in list(self.waiting()):
            age = time.monotonic() - event.enqueue_time
            if not is_heard(event) and age > (security.PATIENCE if full else security.GRACE):
                full = False
                queue.queue.remove(event)
                self.event_ids_to_events.pop(event._id, None)
                self.send_message(event, ProcessCompletedMessage(output={"error": LEFT}, success=False))

    def waiting(self) -> Iterator[tuple[Event, EventQueue]]:
        """Oldest first within each queue."""
        for queue in self.event_queue_per_concurrency_id.values():
            for event in queue.queue:
                yield event, queue

    def compute_analytics_summary(self, records: Any) -> None:
        """Gradio summarizes the last 10,000 events after each event; no page shows that."""


def has_place(queue: EventQueue, heard: bool) -> bool:
    """Whether another event of this queue may start; half of the places are for those that a client listens to."""
    limit = queue.concurrency_limit
    return limit is None or queue.current_concurrency < (limit if heard else (limit + 1) // 2)


def is_heard(event: Event) -> bool:
    return listeners.hear(event.session_hash, event._id)


def name_of(event: Event) -> tuple[str, str]:
    return name(event.request, event.session_hash, event._id)


def caller_of(request: Any, event_id: str) -> Caller:
    """Who waits for the answer of an event."""
    session = getattr(request, "session_hash", None)
    return Caller(
        name(request, session, event_id),
        partial(listeners.hear, session, event_id),
        listeners.abandonment(session, event_id),
    )


def name(request: Any, session: str | None, event_id: str) -> tuple[str, str]:
    """Address and session: clients take turns, and so do the sessions of one client. Programs need no session."""
    return address(request), "" if session in (None, event_id) else session


def address(request: Any) -> str:
    return getattr(getattr(request, "client", None), "host", "")
