"""Write CREDITS.md of a run on photographs: whom each picture and text is owed to, and under which license.

python -m training.photos.credits RUN DATA
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.files import write_text
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item
from training.distributed import expect_one_process
from training.photos.licenses import SETS, Terms, photo_facts, read_flickr_addresses
from training.photos.pictures import photo_name
from training.photos.worked_examples import picture_records

FILE = "CREDITS.md"
BLOCK = 1_000  # items read at a time
LEARNED_FROM = """\
The weights of the two towers are those of their authors: EfficientNet-Lite2 (Apache-2.0; Tan and Le 2019; trained on
ImageNet-1k) and all-MiniLM-L6-v2 (Apache-2.0; Reimers and Gurevych 2019, the sentence-transformers project). What was
trained here, the small heads behind them, fusion, quantizer and decoder, learned from the pictures and texts below and
from three sets that do not ship: none of their pictures or texts is in this folder."""
WORDNET = """\
WordNet Release 3.0. This software and database is being provided to you, the LICENSEE, by Princeton University under
the following license. By obtaining, using and/or copying this software and database, you agree that you have read,
understood, and will comply with these terms and conditions.:

Permission to use, copy, modify and distribute this software and database and its documentation for any purpose and
without fee or royalty is hereby granted, provided that you agree to comply with the following copyright notice and
statements, including the disclaimer, and that the same appear on ALL copies of the software, database and
documentation, including modifications that you make for internal use or for distribution.

WordNet 3.0 Copyright 2006 by Princeton University. All rights reserved.

THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES, EXPRESS
OR IMPLIED. BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES OF
MERCHANT- ABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE OF THE LICENSED SOFTWARE, DATABASE OR
DOCUMENTATION WILL NOT INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR OTHER RIGHTS.

The name of Princeton University or Princeton may not be used in advertising or publicity pertaining to distribution of
the software and/or database. Title to copyright in this software, database and any associated documentation shall at
all times remain with Princeton University and LICENSEE agrees to preserve same."""

MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""
NOTICES = {  # of sets whose license text is not in the data
    "wordnet": WORDNET,
    "grocery": f"MIT License. Copyright (c) Marcus Klasson and the other authors\n\n{MIT}",
    "emoji": "Noto Emoji: Apache License, Version 2.0, https://www.apache.org/licenses/LICENSE-2.0; the pictures were "
    f"scaled and put on white.\n\nemojilib: MIT License. Copyright (c) 2014 Mu-An Chiou, 2015 BEEVA Labs\n\n{MIT}",
}


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.photos.credits", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a run whose index holds what may ship")
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the six sets, for their license texts")
    options = parser.parse_args(arguments)
    print(f"{write_credits(options.run, options.data)} pictures: {options.run / FILE}")


def write_credits(run: Path, data: Path) -> int:
    """Write the file; returns the number of pictures. Raises UserError if an item's set may not ship."""
    index = Index.load(Run(run).folder("index"))
    rows = range(index.n)
    items = [item for start in rows[::BLOCK] for item in index.items(rows[start : start + BLOCK])]
    pictures, texts = _grouped(items)
    lines = [
        "# Credits",
        "",
        f"This run shows {sum(map(len, pictures.values())):,} pictures, and texts, of the sets below. Pictures were "
        "scaled to thumbnails; a picture under CC BY-SA stays under that license.",
        "",
        "## What the weights learned from",
        "",
        LEARNED_FROM,
        "",
    ]
    for terms in SETS.values():
        if not terms.ships:
            lines.append(f"- {terms.title} ({terms.credit}; license: {terms.license}; {terms.origin}): not shipped, "
                         f"{terms.reason}.")  # fmt: skip
    lines += ["", "## Pictures of the worked examples", "", *_table(_example_rows(data))]
    for name in SETS:
        if name in pictures or name in texts:
            lines += ["", *_section(SETS[name], pictures.get(name, {}), texts.get(name, 0), _license_text(data, name))]
    write_text(run / FILE, "\n".join(lines) + "\n")
    return sum(map(len, pictures.values()))


def _grouped(items: Iterable[Item]) -> tuple[dict[str, dict[str, Item]], dict[str, int]]:
    """By set: file name -> an item with this picture; number of texts."""
    pictures: dict[str, dict[str, Item]] = defaultdict(dict)
    texts: dict[str, int] = defaultdict(int)
    for item in items:
        name = json.loads(item.source or "{}").get("set", "")
        if name not in SETS or not SETS[name].ships:
            raise UserError(
                f"{item.id} is of the set {name or 'unknown'}, which may not ship; set index.pool=shipped and make "
                "the index again"
            )
        if item.image is None:
            texts[name] += 1
        else:
            pictures[name].setdefault(item.image.rpartition("/")[2], item)
    return pictures, texts


def _section(terms: Terms, pictures: dict[str, Item], texts: int, license_text: str) -> Iterator[str]:
    """Markdown lines about one set. Pictures with a credit of their own get a row of a table each."""
    yield f"## {terms.title}"
    yield ""
    counts = [f"{len(pictures):,} pictures"] * bool(pictures) + [f"{texts:,} texts"] * bool(texts)
    yield f"{', '.join(counts)}. Credit: {terms.credit}. License: {terms.license}. Source: {terms.origin}"
    if license_text:
        yield ""
        yield from (f"> {line}".rstrip() for line in license_text.splitlines())
    own = {file: json.loads(item.source) for file, item in pictures.items() if _credit(item) != terms.facts}
    if own:
        yield ""
        yield from _table(own)


def _example_rows(data: Path) -> dict[str, dict[str, str]]:
    """File name -> facts of the pictures that the worked examples show, which are not in the index."""
    flickr, rows = read_flickr_addresses(data / "photos"), {}
    for picture, record in picture_records(data).items():
        file = Path(record.image).name
        if picture.startswith("photos/"):
            facts = photo_facts(record.attributes, flickr, file)
        else:
            facts = SETS[picture.partition("/")[0]].facts
        rows[file] = facts | {"title": photo_name(record) if picture.startswith("photos/") else record.id}
    return rows


def _table(rows: dict[str, dict[str, str]]) -> Iterator[str]:
    """A Markdown table of files and their facts."""
    yield "| picture | title | credit | license | source |"
    yield "|---|---|---|---|---|"
    for file, facts in sorted(rows.items()):
        cells = [file, *(facts.get(name, "") for name in ("title", "credit", "licence", "origin"))]
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _credit(item: Item) -> dict[str, str]:
    facts = json.loads(item.source)
    return {name: facts.get(name, "") for name in ("credit", "licence", "origin")}


def _license_text(data: Path, name: str) -> str:
    if name in NOTICES:
        return NOTICES[name]
    file = data / "photos" / "licences" / f"{name}.txt"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
