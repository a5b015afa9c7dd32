"""The log of the server: sentences for people, or with --log-json one JSON object per line for programs."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from genius.ui.monitoring import CALL_LOG, current_call

SERVER_LOG = logging.getLogger("genius.server")  # what the server does: it loads, serves and shuts down


def configure(as_json: bool) -> None:
    """Write the log to stdout, all of it as JSON; as text only what the server does, while warnings go to stderr."""
    handler = logging.StreamHandler(sys.stdout)
    if as_json:
        handler.setFormatter(JsonFormatter())
        logging.getLogger().handlers = [handler]
        logging.captureWarnings(True)
    SERVER_LOG.handlers, SERVER_LOG.propagate = [] if as_json else [handler], as_json
    SERVER_LOG.setLevel(logging.INFO)
    CALL_LOG.setLevel(logging.INFO if as_json else logging.WARNING)


class JsonFormatter(logging.Formatter):
    """One line per record: time, level, event, message, and the request id of the call that it belongs to.

    A record names its event and further fields by `extra={"event": …, "fields": {…}}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        call = current_call.get()
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
            "logger": record.name,
        }
        if call:
            entry["request_id"] = call.id
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)  # ASCII, so nothing in it can break the line
