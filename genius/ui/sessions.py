"""What the server keeps of each visitor: the values of the page's states, and nothing for Gradio's deep links.

For those links Gradio describes every component of the page whenever a session begins, and again what an event changes.
That took 125 ms of the event loop, in which nobody else is answered, for each opened page and each call of the API,
whose event is a session of its own. Addresses of this page name what they show instead (genius/ui/common/links.py), and
Gradio's are closed (genius/ui/security.py).

The methods are internal to Gradio: requirements.txt pins its minor version, and a test asserts that they are called.
"""

from types import SimpleNamespace
from typing import Any

from gradio import Blocks
from gradio.state_holder import SessionState, StateHolder


class Sessions(StateHolder):
    """Gradio's sessions, without descriptions of components."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Note that a session is used. Of too many, forget one that holds no value, such as that of a program's call,
        or else the one whose use is longest ago."""
        with self.lock:
            if session_id in self.session_data:
                self.session_data.move_to_end(session_id)
            while len(self.session_data) > self.capacity:
                empty = [id for id, session in self.session_data.items() if not session.state_data]
                forgotten = (empty or list(self.session_data))[0]
                if forgotten == session_id:  # one more than the capacity, until it has a value or another comes
                    break
                del self.session_data[forgotten]
                self.time_last_used.pop(forgotten, None)


class Session(SessionState):
    """The states of one visitor's page."""

    def __init__(self, blocks: Blocks):
        super().__init__(SimpleNamespace(default_config=blocks.default_config, blocks=()))  # none to be described

    def _update_config(self, key: int) -> None:
        pass

    def _update_value_in_config(self, key: int, value: Any) -> None:
        pass
