"""Errors and logs of model hubs: Hugging Face's, and the sites that open_clip and timm download
from.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
from huggingface_hub.utils import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)
from transformers.utils import logging as transformers_logging

CLIENTS = ("huggingface_hub", "urllib3", "httpx", "timm")


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Silence the clients of hubs, which log dozens of lines when a hub is out of reach, and their
    progress bars.
    """
    root = logging.getLogger()
    clients = [logging.getLogger(name) for name in CLIENTS]
    levels = [client.level for client in clients]
    verbosity = transformers_logging.get_verbosity()
    bars = not are_progress_bars_disabled()

    def not_open_clip(record: logging.LogRecord) -> bool:  # which logs to the root logger
        return Path(record.pathname).parent.name != "open_clip"

    root.addFilter(not_open_clip)
    for client in clients:
        client.setLevel(logging.CRITICAL)
    transformers_logging.set_verbosity(logging.CRITICAL)
    transformers_logging.disable_progress_bar()
    disable_progress_bars()
    try:
        yield
    finally:
        root.removeFilter(not_open_clip)
        for client, level in zip(clients, levels, strict=True):
            client.setLevel(level)
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
            enable_progress_bars()


def is_hub_unreachable(error: BaseException | None) -> bool:
    """Whether an error was caused by a hub or a network that does not answer."""
    while error is not None:
        if isinstance(
            error, (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, URLError)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
