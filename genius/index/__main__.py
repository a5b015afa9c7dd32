"""Add items to the index of a trained run, or remove items, without training; an app that serves
the run reloads it.

python -m genius.index RUN add SOURCE        a collection, FOLDER or NAME=FOLDER; --replace: also
                                             changed items
python -m genius.index RUN add SOURCE --partition 2/9    encode the second of nine parts, to be
                                                         joined; see README.md
python -m genius.index RUN add SOURCE --commit 9         join them
python -m genius.index RUN remove ID...      from every file; or - to read ids from standard input,
                                             one per line
python -m genius.index RUN check             are the files whole, do the codes still fit, is it time
                                             to train again?
python -m genius.index RUN compact           merge all segments into one
"""

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from genius.commands import command_parser
from genius.errors import exit_on_user_error
from genius.index import partitions, update
from genius.index.check import TRAINING, DriftReport, description, problems
from genius.index.duplicates import count_versions
from genius.index.item_source import ItemSource, read_item_source
from genius.index.store import Index, load_index, load_newer_index
from genius.run import Run, expect_run

SHOWN = 10  # ids or problems


def main(arguments: list[str] | None = None) -> int:
    parser = command_parser("genius.index", __doc__)
    parser.add_argument(
        "run", type=Path, metavar="RUN", help="a directory made by python -m training"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser(
        "add", help="encode, quantize and insert the items that the index does not hold yet"
    )
    adding.add_argument("source", metavar="SOURCE")
    adding.add_argument(
        "--replace",
        action="store_true",
        help="also replace items whose ids are known, but not their texts or pictures",
    )
    keep = "let every picture of a folder be an item, also versions of one photograph"
    adding.add_argument("--keep-versions", action="store_true", help=keep)
    part = adding.add_mutually_exclusive_group()
    part.add_argument(
        "--partition", metavar="I/N", help="only encode part I of N, anywhere and in any order"
    )
    part.add_argument(
        "--commit", metavar="N", type=int, help="add all N encoded parts in one change"
    )
    adding.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    commands.add_parser("remove", help="delete items").add_argument("ids", nargs="+", metavar="ID")
    commands.add_parser("check", help="verify the files, and compare added items with trained ones")
    commands.add_parser("compact", help="merge all segments into one")
    options = parser.parse_args(arguments)
    expect_run(options.run)
    if options.command == "add":
        if options.replace and (options.partition or options.commit):
            parser.error(
                "--replace does not go with --partition and --commit; replace items in one process"
            )
        return add(options)
    if options.command == "remove":
        return remove(options.run, options.ids)
    return {"check": check, "compact": compact}[options.command](options.run)


def add(options: Namespace) -> int:
    """Add the items of a source. Returns the exit status: 0, or 1 if an image was unreadable."""
    run: Path = options.run
    sources: list[ItemSource] = []

    def read(dataset: int) -> ItemSource:
        sources.append(read_item_source(options.source, dataset, options.keep_versions))
        return sources[-1]

    if options.commit is not None:
        added = partitions.commit(run, read, options.commit)
    elif options.partition is not None:
        share = partitions.Share.parse(options.partition)
        models = update.Models.load(run, options.device)
        added = partitions.encode_partition(run, read, models, share)
    else:
        models = update.Models.load(run, options.device)
        added = update.add(run, read, models, options.replace)
    print(*sources[-1].notes, added, sep="\n")
    if added.replaced:
        print(f"replaced {_listed(added.replaced)}")
    for complaint in added.complaints:
        print(f"unreadable: {complaint}")
    if added.unreadable > len(added.complaints):
        print(f"unreadable: {added.unreadable - len(added.complaints):,} more")
    if added.changed:
        print(
            f"changed {_listed(added.changed)}; the index keeps the texts and pictures it has for "
            "these ids; to replace them: add --replace"
        )
    if added.new and options.partition is None:
        index = opened(run)
        if versions := count_versions(index, index.n - added.new):
            are = "picture is a version" if versions == 1 else "pictures are versions"
            print(f"{versions:,} {are} of items that are here")
        _advise(run, DriftReport.of(index))
    return 1 if added.unreadable else 0


def remove(run: Path, ids: list[str]) -> int:
    """Remove the items with these ids. Returns the exit status: 0, or 1 if the index has no item
    with one of them.
    """
    removed = update.remove(
        run, [line.strip() for line in sys.stdin if line.strip()] if ids == ["-"] else ids
    )
    print(
        f"removed {removed.removed:,}"
        + (f", unknown {_listed(removed.unknown)}" if removed.unknown else "")
    )
    return 1 if removed.unknown else 0


def check(run: Path) -> int:
    """Verify the index, and say whether it fits its training. Returns the exit status: 0, or 1 if
    it has a problem.
    """
    index = opened(run)
    count = 0
    for problem in problems(run, index):
        count += 1
        if count <= SHOWN:
            print(problem)
    drift = DriftReport.of(index)
    print(description(index, drift))
    print(f"problems: {count:,}")
    if not _advise(run, drift):
        print("no need to train again")
    return 1 if count else 0


def compact(run: Path) -> int:
    """Merge the segments. Returns the exit status, 0."""
    print("one segment" if update.compact(run) else "nothing to do: one segment")
    return 0


def opened(run: Path) -> Index:
    """The run's index as it is now, though another process may be changing it."""
    index = load_index(Run(run))
    while newer := load_newer_index(Run(run), index):
        index = newer
    return index


def _listed(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN:,} more" if len(ids) > SHOWN else ""
    return f"{len(ids):,}: {', '.join(ids[:SHOWN])}{more}"


def _advise(run: Path, drift: DriftReport) -> bool:
    """Print what to do. Returns whether there is anything."""
    sentences = drift.warnings()
    sources = Run(run).manifest.get("sources")  # of a run that training.folder made
    again = (
        shlex.join(["python", "-m", "training.folder", *sources, "ADDED", "NEW_RUN", "--train"])
        if sources
        else ""
    )
    for sentence in sentences:
        print(sentence.replace(TRAINING, again or TRAINING))
    return bool(sentences)


if __name__ == "__main__":
    with exit_on_user_error():
        raise SystemExit(main())
