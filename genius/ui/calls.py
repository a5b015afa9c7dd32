"""The calls of the public endpoints of a run: how many may wait, who asks, and when each is
answered.

A call is accepted by its POST, answered by its function, and delivered when its client has read the
stream of its answer. `Calls` knows each from its first moment to its last, so that the limits, the
metrics and the end of the server rest on our own account of them.
"""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from genius.errors import UserError
from genius.search.batching import Asker, asker

QUEUE_FULL = "Too many requests are waiting; try again in a moment."
CLIENT_SHARE_FULL = (
    "Too many of your requests are waiting; send more when some of them are answered."
)
UNFETCHED_SECONDS = 60  # after which an answer that nobody fetches is forgotten


def one_at_a_time(kind: str) -> Callable[[Callable], Callable]:
    """Calls of the endpoints of a kind wait for each other in the queue, where they take no
    thread.
    """

    def mark(function: Callable) -> Callable:
        function.one_at_a_time = kind  # type: ignore[attr-defined]
        return function

    return mark


class TooMany(UserError):
    """A call is refused because others wait."""


@dataclass(eq=False)
class Call(Asker):
    """One call. `listens`, of an Asker: its client reads the stream of its answer."""

    headers: Mapping[str, str] = field(default_factory=dict)  # of its request
    listens: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    names: tuple[str, ...] = ()  # of its event and session, by which its stream is asked for
    refusal: str = ""  # why it is not answered
    state: str = "waiting"  # then "running", at last "answered"
    answered: float = 0.0  # when


caller: ContextVar[Call | None] = ContextVar("caller", default=None)  # whose call is being answered


class Calls:
    """Those of one run that are not delivered yet."""

    def __init__(self, most: int):
        """most: that may be accepted and not answered yet; half of them of one client."""
        self.most = most
        self.open: dict[str, Call] = {}

    def accept(self, client: str, headers: Mapping[str, str]) -> Call:
        """Raises TooMany."""
        now = time.monotonic()
        for call in [*self.open.values()]:
            if call.state == "answered" and now - call.answered > UNFETCHED_SECONDS:
                self.forget(call)
        unanswered = Counter(call.client for call in self.open.values() if call.state != "answered")
        if unanswered.total() >= self.most:
            raise TooMany(QUEUE_FULL)
        if unanswered[client] >= max(self.most // 2, 1):
            raise TooMany(CLIENT_SHARE_FULL)
        call = Call(client, headers=headers)
        self.open[call.id] = call
        return call

    def forget(self, call: Call) -> None:
        self.open.pop(call.id, None)

    @contextmanager
    def answering(self, id: str) -> Iterator[Call]:
        """Around the function of a call."""
        call = self.open.get(id) or Call("", listens=True)
        call.state = "running"
        tokens = caller.set(call), asker.set(call)
        try:
            yield call
        finally:
            call.state = "answered"
            call.answered = time.monotonic()
            caller.reset(tokens[0])
            asker.reset(tokens[1])

    @contextmanager
    def listening(self, name: str) -> Iterator[None]:
        """Around the stream of answers to an event or a session. What waits for nobody is not
        answered any more.
        """
        for call in self.named(name):
            call.listens = True
        try:
            yield
        finally:
            for call in self.named(name):
                call.listens = False
                if call.state != "running":
                    self.forget(call)

    def named(self, name: str) -> list[Call]:
        return [call for call in [*self.open.values()] if name in call.names]

    def count(self, *states: str) -> int:
        return sum(call.state in states for call in [*self.open.values()])
