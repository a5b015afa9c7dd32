"""The queue of a page's events: which starts next, which are dropped, and which are refused.

Gradio starts events in the order of their arrival, whether or not a client waits for the answer, and lets one client
fill the queue. Here clients take turns, as they do in the batches of the engine (genius/search/batching.py). An event
that no client listens to starts only while half of the places are free. It is dropped after GRACE seconds, or after
PATIENCE seconds where a full queue would refuse another event. One client gets at most half of the queue.

The methods are internal to Gradio: requirements.txt pins its minor version, and a test asserts that they are called.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

from gradio.queueing import Event, EventQueue, Queue
from gradio.server_messages import EventMessage, ProcessCompletedMessage

from genius.search.batching import ANYONE, Caller, Turns
from genius.ui import security
from genius.ui.failures import CLIENT_LEFT
from genius.ui.security import client_network, listeners

QUEUE_FULL = "Too many requests are waiting; try again in a moment."
CLIENT_SHARE_FULL = "Too many of your requests are waiting; send more when some of them are answered."
NO_SESSION = "The request names no session."
MAX_SESSIONS = 1_000  # that are remembered, besides those with events; Gradio would forget any beyond 2,000

# Who waits for the answer of the current callback; the page sets it for each callback.
current_caller: ContextVar[Caller] = ContextVar("current_caller", default=ANYONE)


class FairQueue(Queue):
    """Gradio's queue, in which clients take turns and the events of those who left are dropped."""

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.turns = Turns()
        self.answered: deque[tuple[float, str]] = deque()  # when, and to which session, for GRACE seconds
        self.ANALYTICS_MAX_EVENTS = 1  # statistics that no page shows

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Add an event, unless the queue or the share of its client is full."""
        if body.session_hash == "":  # Gradio would run the event, and fail when it sends the answer
            return False, NO_SESSION, "error"
        self.drop_abandoned(full=len(self) >= self.max_size)
        waiting = Counter(client_address(event.request) for event, _ in self.queued())
        if waiting.total() >= self.max_size:
            return False, QUEUE_FULL, "queue_full"
        if waiting[client_address(request)] >= max(self.max_size // 2, 1):
            return False, CLIENT_SHARE_FULL, "queue_full"
        for entries in (self.pending_messages_per_session, self.pending_event_ids_session):
            if body.session_hash in entries:  # to the end, as the first are forgotten
                entries[body.session_hash] = entries.pop(body.session_hash)
        self.forget_sessions()
        return await super().push(body, request, username)

    def send_message(self, event: Event, event_message: EventMessage) -> None:
        """Unless the session is forgotten: Gradio would raise KeyError, often in a loop on which all events depend."""
        if not event.alive or event.session_hash not in self.pending_messages_per_session:
            return
        super().send_message(event, event_message)
        if isinstance(event_message, ProcessCompletedMessage):
            now = time.monotonic()
            while self.answered and now - self.answered[0][0] > security.GRACE:
                self.answered.popleft()
            self.answered.append((now, event.session_hash))

    def get_events(self) -> tuple[list[Event], bool, str] | None:
        """The event to start next, if one may start."""
        if not any(queue.queue and has_place(queue, True) for queue in self.event_queue_per_concurrency_id.values()):
            return None  # Gradio asks every millisecond
        self.drop_abandoned()
        half_idle = sum(job is not None for job in self.active_jobs) < self.max_thread_count // 2
        free = [(event, queue) for event, queue in self.queued() if has_place(queue, has_listener(event))]
        ready = [entry for entry in free if has_listener(entry[0])] or free * half_idle
        if not ready:
            return None
        event, queue = self.turns.order([(event_client(entry[0]), entry[0].enqueue_time, entry) for entry in ready])[0]
        queue.queue.remove(event)
        self.turns.serve([event_client(event)], [event_client(other) for other, _ in self.queued()])
        return [event], False, queue.concurrency_id

    def forget_sessions(self) -> None:
        """Forget the sessions that sent nothing for longest, if no event of theirs waits and no client listens.

        The event of a program is a session of its own, and Gradio keeps the id of an answer until it is fetched.
        """
        for entries in (self.pending_messages_per_session, self.pending_event_ids_session):
            for session in [*entries] if len(entries) > MAX_SESSIONS else ():
                if len(entries) <= MAX_SESSIONS:
                    break
                events = self.pending_event_ids_session.get(session, ())
                if not listeners.has(session, *events) and self.event_ids_to_events.keys().isdisjoint(events):
                    self.pending_messages_per_session.pop(session, None)
                    self.pending_event_ids_session.pop(session, None)

    def has_undelivered(self) -> bool:
        """Whether answers wait for clients that listen, or are so new that their clients may still come."""
        now = time.monotonic()
        recent = {session for answered, session in self.answered.copy() if now - answered <= security.GRACE}
        return any(
            events and (session in recent or listeners.has(session, *events))
            for session, events in self.pending_event_ids_session.copy().items()
        )

    def drop_abandoned(self, full: bool = False) -> None:
        """Drop the events that no client has listened to; full: the oldest of them has to make room."""
        for event, queue in list(self.queued()):
            age = time.monotonic() - event.enqueue_time
            if not has_listener(event) and age > (security.PATIENCE if full else security.GRACE):
                full = False
                queue.queue.remove(event)
                self.event_ids_to_events.pop(event._id, None)
                self.send_message(event, ProcessCompletedMessage(output={"error": CLIENT_LEFT}, success=False))

    def queued(self) -> Iterator[tuple[Event, EventQueue]]:
        """Oldest first within each queue."""
        for queue in self.event_queue_per_concurrency_id.values():
            for event in queue.queue:
                yield event, queue

    def compute_analytics_summary(self, records: Any) -> None:
        """Gradio summarizes the last 10,000 events after each event; no page shows that."""


def has_place(queue: EventQueue, has_listener: bool) -> bool:
    """Whether another event of this queue may start; half of the places are for those that a client listens to."""
    limit = queue.concurrency_limit
    return limit is None or queue.current_concurrency < (limit if has_listener else (limit + 1) // 2)


def has_listener(event: Event) -> bool:
    return listeners.has(event.session_hash, event._id)


def event_client(event: Event) -> tuple[str, str]:
    return client_name(event.request, event.session_hash, event._id)


def caller_of(request: Any, event_id: str) -> Caller:
    """Who waits for the answer of an event."""
    session = getattr(request, "session_hash", None)
    return Caller(
        client_name(request, session, event_id),
        partial(listeners.has, session, event_id),
        listeners.abandonment_check(session, event_id),
    )


def client_name(request: Any, session: str | None, event_id: str) -> tuple[str, str]:
    """Address and session: clients take turns, and so do the sessions of one client. Programs need no session."""
    return client_address(request), "" if session in (None, event_id) else session


def client_address(request: Any) -> str:
    return client_network(getattr(getattr(request, "client", None), "host", ""))
