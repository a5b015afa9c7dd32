"""Encode and serve a run on several machines, with Ray; the run lies at the same path on all of
them.

python -m genius.cluster serve RUN --shards 3 --replicas 2    search in three parts, each of them
                                                              twice, until Ctrl+C
python -m genius.cluster index RUN SOURCE --partitions 32     encode a source in 32 parts, and add
                                                              them in one change

--address names a cluster (ray start --head prints it); without it, one is started on this machine.
Then: python app.py --run RUN --cluster ADDRESS
"""

import argparse
import signal
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from genius.commands import command_parser
from genius.errors import UserError, exit_on_user_error
from genius.index.partitions import MAX_PARTITIONS

PATIENCE = 5.0  # seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a run in parts until Ctrl+C, or index a source; returns the exit status. Raises
    UserError without Ray.
    """
    parser = command_parser("genius.cluster", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="serve a run in parts")
    serving.add_argument("run", type=Path, metavar="RUN")
    serving.add_argument(
        "--shards", type=_count(400), default=2, help="parts of the IDs (default: %(default)s)"
    )
    serving.add_argument(
        "--replicas", type=_count(400), default=1, help="processes of each part (default: 1)"
    )
    patience = (
        "how long a search waits for a part before it answers without it; 0: as long as it "
        "takes (default: 5)"
    )
    serving.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS", help=patience
    )
    indexing = commands.add_parser("index", help="encode a source in parts, and add it")
    indexing.add_argument("run", type=Path, metavar="RUN")
    indexing.add_argument("source", metavar="SOURCE", help="a collection, FOLDER or NAME=FOLDER")
    parts = "how many; a part that is done is not made again (default: %(default)s)"
    indexing.add_argument(
        "--partitions", type=_count(MAX_PARTITIONS), default=8, metavar="N", help=parts
    )
    actors = "processes that encode, each with the models (default: one for each GPU, or two)"
    indexing.add_argument("--actors", type=_count(1_000), metavar="N", help=actors)
    for command in (serving, indexing):
        command.add_argument("--address", help="of the cluster, such as 10.0.0.1:6379 or auto")
    options = parser.parse_args(argv)
    if not find_spec("ray"):
        raise UserError(
            "genius cluster needs one more package: pip install 'genius-explorer[cluster]'"
        )
    if options.command == "index":
        from genius.cluster.indexing import index_source

        return index_source(
            options.run, options.source, options.partitions, options.actors, options.address
        )
    from genius.cluster.serving import start_shards, stop_shards

    start_shards(options.run, options.shards, options.replicas, options.patience, options.address)
    print(f"{options.run.name} is served in {options.shards} parts until Ctrl+C", flush=True)
    ended = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: ended.set())
    ended.wait()
    stop_shards(options.run)
    return 0


def _count(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected a number from 1 to {most}, not {text!r}")
        return int(text)

    return read


if __name__ == "__main__":
    with exit_on_user_error():
        raise SystemExit(main())
