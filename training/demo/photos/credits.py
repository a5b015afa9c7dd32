"""CREDITS.md of the run of photographs, whom each picture and text is owed to and under which
license; its examples.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from genius.collections.source_records import Record
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.files import write_text
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item
from training.demo.photos.pictures import photo_name
from training.demo.photos.tables import FOLDER, SETS, Terms, photo_facts, read_flickr_addresses

FILE = "CREDITS.md"
CREDIT = ("credit", "licence", "origin")


def read_worked_examples() -> list[dict[str, Any]]:
    """The fifteen queries of worked_examples.json: every task has at least one.

    Pictures are test pictures of sets that may ship, in no pool that ships; they are named by
    SET/ID. Instructions are phrasings of the training split.
    """
    return json.loads((FOLDER / "worked_examples.json").read_text(encoding="utf-8"))


def picture_records(data: Path) -> dict[str, tuple[str, Record]]:
    """SET/ID -> set and row of its table, of the pictures of the examples. Raises UserError if a
    set lacks one.
    """
    pictures = [example["picture"] for example in read_worked_examples() if example["picture"]]
    records = {
        f"{name}/{record.id}": (name, record)
        for name in {picture.partition("/")[0] for picture in pictures}
        for record in read_source(data / name).records
    }
    for picture in pictures:
        if picture not in records:
            raise UserError(f"{data} has no picture {picture}; give the folder of the seven sets")
    return {picture: records[picture] for picture in pictures}


def write_credits(run: Path, data: Path) -> None:
    """Write the file. Raises UserError if an item's set may not ship."""
    index = Index.load(Run(run).folder("index"))
    pictures, texts = _grouped(index.items(range(index.n)))
    shown = f"{sum(map(len, pictures.values())):,}"
    lines = (
        (FOLDER / "credits.md").read_text(encoding="utf-8").replace("PICTURES", shown).splitlines()
    )
    for terms in SETS.values():
        if not terms.ships:
            lines.append(
                f"- {terms.title} ({terms.credit}; license: {terms.license}; {terms.origin}): "
                f"not shipped, {terms.reason}."
            )
    lines += ["", "## Pictures of the worked examples", "", *_table(_example_rows(data))]
    for name, terms in SETS.items():
        if name in pictures or name in texts:
            text = _license_text(data, name)
            lines += ["", *_section(terms, pictures[name], texts[name], text)]
    write_text(run / FILE, "\n".join(lines) + "\n")


def _grouped(
    items: Iterable[Item],
) -> tuple[defaultdict[str, dict[str, Item]], defaultdict[str, int]]:
    """By set: file name -> an item with this picture; number of texts."""
    pictures: defaultdict[str, dict[str, Item]] = defaultdict(dict)
    texts: defaultdict[str, int] = defaultdict(int)
    for item in items:
        name = json.loads(item.source or "{}").get("set", "")
        if name not in SETS or not SETS[name].ships:
            raise UserError(
                f"{item.id} is of the set {name or 'unknown'}, which may not ship; set "
                "index.pool=shipped and make the index again"
            )
        if item.image is None:
            texts[name] += 1
        else:
            pictures[name].setdefault(item.image.rpartition("/")[2], item)
    return pictures, texts


def _section(
    terms: Terms, pictures: dict[str, Item], texts: int, license_text: str
) -> Iterator[str]:
    """Markdown lines about one set. Pictures with a credit of their own get a row of a table
    each.
    """
    yield f"## {terms.title}"
    yield ""
    counts = [f"{len(pictures):,} pictures"] * bool(pictures) + [f"{texts:,} texts"] * bool(texts)
    yield (
        f"{', '.join(counts)}. Credit: {terms.credit}. License: {terms.license}. Source: "
        f"{terms.origin}"
    )
    if license_text:
        yield ""
        yield from (f"> {line}".rstrip() for line in license_text.splitlines())
    facts = {file: json.loads(item.source) for file, item in pictures.items()}
    own = {
        file: row
        for file, row in facts.items()
        if {name: row.get(name, "") for name in CREDIT} != terms.facts
    }
    if own:
        yield ""
        yield from _table(own)


def _example_rows(data: Path) -> dict[str, dict[str, str]]:
    """File name -> facts of the pictures that the worked examples show, which are not in the
    index.
    """
    flickr = read_flickr_addresses(data / "photos")
    rows = {}
    for name, record in picture_records(data).values():
        file = Path(record.image).name
        if "set" in record.attributes:
            facts, title = photo_facts(record.attributes, flickr, file), photo_name(record)
        else:
            facts, title = SETS[name].facts, record.id
        rows[file] = facts | {"title": title}
    return rows


def _table(rows: dict[str, dict[str, str]]) -> Iterator[str]:
    """A Markdown table of files and their facts."""
    yield "| picture | title | credit | license | source |"
    yield "|---|---|---|---|---|"
    for file, facts in sorted(rows.items()):
        cells = [file, *(facts.get(name, "") for name in ("title", *CREDIT))]
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _license_text(data: Path, name: str) -> str:
    files = [
        FOLDER / f"license_{name}.txt",
        *(data / folder / "licences" / f"{name}.txt" for folder in ("photos", "scenes")),
    ]
    return next((file.read_text(encoding="utf-8").strip() for file in files if file.is_file()), "")
