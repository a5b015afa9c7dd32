"""Serve a run as app.py does, in a process of its own, and print which versions of its index it loads.

python -m tests.hostile.load.serve RUN
"""

import sys
import threading
import time
from pathlib import Path

from genius.runtime import keep_freed_memory
from genius.search.engine import Engine
from genius.ui.common.context import ServedRun
from genius.ui.page import build
from genius.ui.runs import HostedRun
from genius.ui.serving import Hosting, serve

POLL = 0.05  # seconds between two looks for a new version


def main(run: Path) -> None:
    keep_freed_memory(shared=True)
    engine = Engine.load(run, "cpu")
    server = serve([HostedRun(run, lambda: build(engine, ServedRun.read(run)))], Hosting(port=0))
    print("address", server.address, flush=True)
    threading.Thread(target=follow, args=(engine,), daemon=True).start()
    server.wait()


def follow(engine: Engine) -> None:
    shown = None
    while True:
        engine.versions.reload()
        if engine.index.folder.name != shown:
            shown = engine.index.folder.name
            print("version", shown, flush=True)
        time.sleep(POLL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
