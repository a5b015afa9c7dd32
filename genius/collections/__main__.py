"""Build a collection (a directory in M-BEIR format) from folders of images, or check one.

python -m genius.collections SOURCE... DEST      each SOURCE is FOLDER or NAME=FOLDER
python -m genius.collections --check DIR
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from genius.collections.checker import Checker
from genius.collections.from_folders import build
from genius.errors import exit_on_user_error

SHOWN = 10  # problems printed per file; one bad file may have millions


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m genius.collections", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", metavar="DIR", type=Path, help="print every problem in the collection DIR with its file and line"
    )
    parser.add_argument("paths", nargs="*", metavar="SOURCE... DEST", help="folders of images; the new directory")
    options = parser.parse_args(arguments)
    if options.check is not None and not options.paths:
        return check(options.check)
    if options.check is not None or len(options.paths) < 2:
        parser.error("expected at least one SOURCE and a DEST, or only --check DIR")
    *sources, destination = options.paths
    for row in build(sources, destination):
        print(row)
    return 0


def check(root: Path) -> int:
    """Print the problems of a collection. Returns 1 if there are any, else 0."""
    checker, counts = Checker(root), Counter[Path]()
    for problem in checker.problems():
        counts[problem.file] += 1
        if counts[problem.file] <= SHOWN:
            print(problem)
    for file, count in counts.items():
        if count > SHOWN:
            print(f"{file}: {count - SHOWN:,} more problems")
    print(f"{checker.summary()}, problems: {counts.total():,}")
    return 1 if counts else 0


if __name__ == "__main__":
    with exit_on_user_error():
        raise SystemExit(main())
