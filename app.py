"""Serve a trained run in the browser.

    python app.py [--run RUN] [--host HOST] [--port PORT] [--device DEVICE]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

# Nothing leaves the machine. Gradio and transformers read these when they are imported.
os.environ.update(GRADIO_ANALYTICS_ENABLED="False", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

from genius.errors import UserError, reported  # noqa: E402

DEMO = Path(__file__).parent / "assets" / "demo"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve a trained run in the browser.")
    parser.add_argument("--run", type=Path, default=DEMO, help="folder that training wrote (%(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address, 0.0.0.0 for all (%(default)s)")
    parser.add_argument("--port", type=int, default=7860, help="(%(default)s)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, …; by default a GPU if there is one")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    with reported():
        if not (options.run / "manifest.json").is_file():
            run = os.path.relpath(options.run)
            raise UserError(f"There is no run at {run}; make one with: "
                            "python -m genius.collections SOURCE... COLLECTION && "
                            "python -m training COLLECTION RUN, then: python app.py --run RUN")
        from genius.search.engine import Engine     # slow to import, so not before there is a run to serve
        from genius.ui.page import Served, build, serve

        print(f"Loading {options.run} …", flush=True)
        page = build(Engine.load(options.run, options.device), Served.read(options.run))
        print(f"Serving at {serve(page, options.host, options.port)} until Ctrl+C", flush=True)
        page.block_thread()


if __name__ == "__main__":
    main()
