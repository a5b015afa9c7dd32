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
    options = parser.parse_args(arguments)
    if options.sheet is not None:
        unused = [
            name for name, value in vars(options).items() if name != "sheet" and value != parser.get_default(name)
        ]
        if unused:
            parser.error(f"--sheet draws no world, so it takes no {' and no '.join(unused)}")
        write_sheet(options.sheet)
    elif options.destination is None:
        parser.error("expected a directory DEST, or --sheet FILE")
    else:
        facts = write_world(options.destination, options.seed, options.scale, options.pixels, workers=options.workers)
        print(f"{options.destination}: {', '.join(f'{name} {value}' for name, value in facts.items())}")


if __name__ == "__main__":
    with exit_on_user_error():
        main()
