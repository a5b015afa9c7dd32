"""Generate the demo world: a procedural dataset in M-BEIR format, the same for the same seed.

python -m genius.demo_world DEST [--seed N] [--scale N] [--pixels N]
python -m genius.demo_world --sheet FILE.png
"""

from __future__ import annotations

import argparse
from pathlib import Path

from genius.demo_world.sheet import write_sheet
from genius.demo_world.write import SCALE, write_world
from genius.errors import exit_on_user_error


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m genius.demo_world", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("destination", nargs="?", type=Path, metavar="DEST", help="the new directory")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    parser.add_argument(
        "--scale", type=int, default=SCALE, help="candidates in the test pool, 1,000 to 1,000,000 (default %(default)s)"
    )
    parser.add_argument("--pixels", type=int, help="side of the images (default 256; 48 above 100,000 candidates)")
    parser.add_argument("--workers", type=int, help="drawing processes (default: one per core)")
    parser.add_argument("--sheet", type=Path, metavar="FILE", help="only draw a contact sheet of all kinds and scenes")
    given = parser.parse_args(arguments)
    if given.sheet is not None:
        write_sheet(given.sheet)
    elif given.destination is None:
        parser.error("expected a directory DEST, or --sheet FILE")
    else:
        facts = write_world(given.destination, given.seed, given.scale, given.pixels, workers=given.workers)
        print(f"{given.destination}: {', '.join(f'{name} {value}' for name, value in facts.items())}")


if __name__ == "__main__":
    with exit_on_user_error():
        main()
