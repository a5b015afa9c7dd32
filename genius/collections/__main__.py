"""Build a collection from folders of images.

    python -m genius.collections SOURCE... DEST      SOURCE is a folder or NAME=FOLDER
"""

from __future__ import annotations

import argparse

from genius.collections.folder import build
from genius.errors import reported


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m genius.collections", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("destination", metavar="DEST")
    arguments = parser.parse_args()
    for row in build(arguments.sources, arguments.destination):
        print(row)


if __name__ == "__main__":
    with reported():
        main()
