"""Take candidates out of a collection that the program made, and with them all that only they say
or show.

`removed.txt`, beside the collections of a run, remembers them by a checksum of their content, so
that a collection that is built again of the same files goes without them.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from genius.collections.layout import FILES
from genius.collections.lines import text_lines
from genius.collections.listing import COPY, TEXT, VERSION, read_report
from genius.collections.mbeir import Collection
from genius.collections.records import parse_item, read_lines
from genius.files import fsync, sha256, write_text, written_aside
from genius.schema import Item

REMOVED = "removed.txt"


def erase_candidates(root: Path, ids: Set[str]) -> int:
    """Erase the candidates with these ids, and remember them; returns how many. After a kill it can
    be repeated.

    A query goes with its last positive, or with the candidate that has its text or its picture; so
    do the lines about files. Reads all records of the collection once.
    """
    collection = Collection(root)
    gone = {item.id: item for item in _items(collection) if item.id in ids}
    if not gone:  # pools are written last
        return 0
    texts = {item.text for item in gone.values()} - {""}
    images = {item.image for item in gone.values() if item.image}
    for item in _items(collection):
        if item.id not in gone:
            texts.discard(item.text)
            images.discard(item.image or "")
    remember(root.parent, filter(None, (content(collection, item) for item in gone.values())))
    files = [collection.image_path(image) for image in images]
    _erase_reports(root / FILES, {sha256(file) for file in files if file.exists()}, texts)
    for file in files:
        file.unlink(missing_ok=True)
    erasure = _Erasure(gone.keys(), texts, images)
    changes: list[tuple[str, Callable[[str], str | None]]] = [
        ("query/*/*.jsonl", erasure.query),
        ("qrels/*/*.txt", erasure.judgment),
        ("cand_pool/*/*.jsonl", erasure.candidate),
    ]
    for pattern, change in changes:
        for file in sorted(root.glob(pattern)):
            _rewrite(file, change)
    return len(gone)


@dataclass
class _Erasure:
    """What becomes of a line of each kind of file; None: it goes."""

    gone: Set[str]  # ids of candidates
    texts: Set[str]
    images: Set[str]
    lost: set[str] = field(default_factory=set)  # ids of queries that went, for the qrels

    def query(self, line: str) -> str | None:
        record = json.loads(line)
        for name in ("pos_cand_list", "neg_cand_list"):
            record[name] = [id for id in record.get(name) or () if id not in self.gone]
        pictured = record.get("query_img_path") in self.images
        if pictured or record.get("query_txt") in self.texts or not record["pos_cand_list"]:
            self.lost.add(record["qid"])
            return None
        return json.dumps(record, ensure_ascii=False)

    def judgment(self, line: str) -> str | None:
        query, _, candidate, *_ = line.split()
        return None if query in self.lost or candidate in self.gone else line

    def candidate(self, line: str) -> str | None:
        return None if json.loads(line)["did"] in self.gone else line


def erase_removed(root: Path) -> int:
    """Erase from a collection that was built anew what was removed from one beside it; returns how
    many candidates.
    """
    known = remembered(root.parent)
    collection = Collection(root)
    if not known:
        return 0
    return erase_candidates(
        root, {item.id for item in _items(collection) if content(collection, item) in known}
    )


def content(collection: Collection, item: Item) -> str | None:
    """A checksum of what an item says and shows; None if its picture is erased already."""
    file = collection.image_path(item.image) if item.image else None
    if file and not file.exists():
        return None
    shown = sha256(file) if file else ""
    return hashlib.sha256(f"{shown} {item.text}".encode()).hexdigest()


def _items(collection: Collection) -> Iterator[Item]:
    for file in collection.pool_files().values():
        yield from read_lines(file, parse_item)


def remembered(folder: Path) -> set[str]:
    """The checksums of what was removed from the collections in a folder."""
    file = folder / REMOVED
    return set(file.read_text(encoding="utf-8").split()) if file.exists() else set()


def remember(folder: Path, contents: Iterable[str]) -> None:
    """Add checksums to those."""
    folder.mkdir(exist_ok=True)
    write_text(
        folder / REMOVED,
        "".join(f"{each}\n" for each in sorted(remembered(folder).union(contents))),
    )


def _erase_reports(table: Path, pictures: Set[str], texts: Set[str]) -> None:
    """Drop the lines about files that hold these pictures (by checksum), are copies of them, or say
    these texts.
    """
    lost: set[tuple[str, str]] = set()

    def kept(line: str) -> str | None:
        dataset, report = read_report(line)
        if report.detail in pictures or (
            report.outcome in (COPY, VERSION) and (dataset, report.detail) in lost
        ):
            lost.add((dataset, report.file))
            return None
        return None if report.outcome == TEXT and report.detail in texts else line

    if table.exists():
        _rewrite(table, kept)


def _rewrite(file: Path, change: Callable[[str], str | None]) -> None:
    """Replace a file of lines by what `change` makes of each of them; None drops it."""
    with written_aside(file) as aside:
        with aside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(
                f"{changed}\n"
                for _, line in text_lines(file)
                if (changed := change(line)) is not None
            )
        fsync(aside)
        os.replace(aside, file)
