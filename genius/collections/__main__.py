"""Build a collection (a directory in M-BEIR format) from folders of images, or check one.

python -m genius.collections SOURCE... DEST      each SOURCE is a folder or a table, or NAME=SOURCE
python -m genius.collections --benchmark SOURCE... DEST    with the queries of M-BEIR's benchmarks
python -m genius.collections --check DIR [--images]
"""

from collections import Counter
from pathlib import Path

from genius.collections.building import build
from genius.collections.checker import Checker, LineWarning
from genius.collections.lines import LineError
from genius.commands import command_parser
from genius.errors import exit_on_user_error

SHOWN = 10  # problems printed per file; one bad file may have millions


def main(arguments: list[str] | None = None) -> int:
    parser = command_parser("genius.collections", __doc__)
    parser.add_argument(
        "--check",
        metavar="DIR",
        type=Path,
        help="print every problem in the collection DIR with its file and line; "
        "a collection without a problem is accepted by every later stage that no warning names",
    )
    parser.add_argument(
        "--benchmark",
        action="store_true",
        help="as in M-BEIR: of several captions the first only asks for the others, and "
        "photographs for iconic images",
    )
    keep = (
        "let every picture be an item; else a photograph in several versions, resized or "
        "encoded again, is one"
    )
    parser.add_argument("--keep-versions", action="store_true", help=keep)
    parser.add_argument("--images", action="store_true", help="with --check: open every image too")
    parser.add_argument(
        "paths", nargs="*", metavar="SOURCE... DEST", help="folders of images; the new directory"
    )
    options = parser.parse_args(arguments)
    if options.check is not None and not options.paths:
        return check(options.check, options.images)
    if options.check is not None or options.images or len(options.paths) < 2:
        parser.error("expected at least one SOURCE and a DEST, or only --check DIR")
    *sources, destination = options.paths
    for row in build(sources, destination, options.benchmark, keep_versions=options.keep_versions):
        print(row)
    return 0


def check(root: Path, images: bool) -> int:
    """Print the problems and warnings of a collection. Returns 1 if there is a problem, else 0."""
    checker = Checker(root, images)
    problems = Counter[Path]()
    warnings = Counter[Path]()
    for finding in checker.findings():
        counts = warnings if isinstance(finding, LineWarning) else problems
        counts[finding.file] += 1
        if counts[finding.file] <= SHOWN:
            print(finding)
    for kind, counts in (("problems", problems), ("warnings", warnings)):
        for file, count in counts.items():
            if count > SHOWN:
                print(LineError(file, 0, f"{count - SHOWN:,} more {kind}"))
    print(
        f"{checker.summary()}, problems: {problems.total():,}"
        + f", warnings: {warnings.total():,}" * bool(warnings)
    )
    return 1 if problems else 0


if __name__ == "__main__":
    with exit_on_user_error():
        raise SystemExit(main())
