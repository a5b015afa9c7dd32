"""Serve a trained run in the browser.

python app.py [--run RUN] [--host HOST] [--port PORT] [--root-path PATH] [--auth NAME:PASSWORD] [--device DEVICE]
              [--fast-dtype DTYPE] [--editable]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

# Nothing leaves the machine. Gradio and transformers read these when they are imported.
os.environ.update(GRADIO_ANALYTICS_ENABLED="False", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

from genius.errors import UserError, exit_on_user_error
from genius.schema import FAST_DTYPES
from genius.ui.access import read_people

DEMO = Path(__file__).parent / "assets" / "demo"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Where a host such as Hugging Face Spaces sets Gradio's own variables, these are the defaults."""
    given = os.environ.get
    parser = argparse.ArgumentParser(description="Serve a trained run in the browser.")
    parser.add_argument("--run", type=Path, default=DEMO, help="folder that training wrote (%(default)s)")
    parser.add_argument(
        "--host", default=given("GRADIO_SERVER_NAME", "127.0.0.1"), help="address, 0.0.0.0 for all (%(default)s)"
    )
    parser.add_argument("--port", type=int, default=given("GRADIO_SERVER_PORT", "7860"), help="(%(default)s)")
    parser.add_argument(
        "--root-path",
        default=given("GRADIO_ROOT_PATH", ""),
        metavar="PATH",
        help="path that visitors know behind a proxy, e.g. /genius",
    )
    parser.add_argument(
        "--auth",
        default=given("GENIUS_AUTH"),
        metavar="NAME:PASSWORD",
        help="who may log in, or a file with one such line a person; also from GENIUS_AUTH, which "
        "does not show in the list of processes; by default nobody has to",
    )
    parser.add_argument(
        "--editable",
        action="store_true",
        help="let visitors add items to the run and remove them; by default they only search",
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, …; by default a GPU if there is one")
    parser.add_argument(
        "--fast-dtype",
        choices=FAST_DTYPES,
        default=FAST_DTYPES[0],
        help="arithmetic of the decoder in mode fast; bfloat16 is faster on processors and GPUs that compute in it, "
        "and results may differ (%(default)s)",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments(argv)
    with exit_on_user_error():
        people = read_people(options.auth)
        if not (options.run / "manifest.json").is_file():
            run = os.path.relpath(options.run)
            raise UserError(
                f"There is no run at {run}; make one with: "
                "python -m genius.collections SOURCE... COLLECTION && "
                "python -m training COLLECTION RUN, then: python app.py --run RUN"
            )
        from genius.runtime import keep_freed_memory  # slow to import, so not before there is a run to serve
        from genius.search.engine import Engine
        from genius.ui.common.context import Served
        from genius.ui.page import build
        from genius.ui.serving import Hosting, serve

        print(f"Loading {options.run} …", flush=True)
        keep_freed_memory()
        served = Served.read(options.run, options.editable)
        engine = Engine.load(options.run, options.device, options.fast_dtype)
        engine.follow()
        page = build(engine, served)
        address = serve(page, Hosting(options.host, options.port, options.root_path, people))
        print(f"Serving at {address} until Ctrl+C", flush=True)
        page.block_thread()


if __name__ == "__main__":
    main()
