"""Sources of items to add to an index: a collection, a folder of images, or the uploads of a
visitor.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genius.collections.building import NOTHING, Shown, fold, look
from genius.collections.draft import Draft, SourceImage
from genius.collections.images import DISK, PAGE, Limits, image_header, read_image_file
from genius.collections.layout import SPLITS
from genius.collections.listing import VERSION, FileReport, account
from genius.collections.mbeir import Collection
from genius.collections.metadata import inside
from genius.collections.rules import SourceEntry, apply_rules
from genius.collections.source_records import Record
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.schema import PICTURE, Item, Modality


@dataclass(frozen=True)
class ItemSource:
    """Items and the paths of their images."""

    items: Callable[[], Iterable[Item]]  # each call iterates over all of them, in the same order
    image_path: Callable[[str], Path]  # raises UserError for an image outside of the source
    notes: tuple[str, ...] = ()  # what became of the files that are no images of items

    def picture_stat(self, image: str | None) -> os.stat_result | None:
        """Size and times of an image file; None without one, or if it cannot be read, which is said
        when it is opened.
        """
        try:
            return self.image_path(image).stat() if image else None
        except (UserError, OSError):
            return None


def read_item_source(source: str, dataset: int, keep_versions: bool = False) -> ItemSource:
    """An M-BEIR-format directory, FOLDER or NAME=FOLDER, as `python -m genius.collections` reads
    it.

    The items of a collection have their ids; those of a folder become dataset `dataset`.
    keep_versions: pictures of a folder that repeat a photograph are items, too.
    Raises UserError that names file and line of what cannot be used.
    """
    _name, equals, folder = source.rpartition("=")
    root = Path(source if not equals or Path(source).exists() else folder)
    if (root / "cand_pool").is_dir():
        collection = Collection(root)
        return ItemSource(collection.all_candidates, collection.image_path)
    images = read_source(root)
    draft = Draft(dataset)
    everywhere = frozenset(SPLITS)
    seen = [_hear(record, images.path_of(record.image)) for record in images.records]
    folded = {} if images.pairs or keep_versions else fold(images.records, seen)
    records = [record for record in images.records if record.image not in folded]
    others = [*images.others, *(report for record in records for report in record.heard)]
    others += (FileReport(file, VERSION, first) for file, first in folded.items())
    entries = [
        SourceEntry(
            record, SourceImage(record.image, record.image.encode(), everywhere, record.facts)
        )
        for record in records
    ]
    apply_rules(draft, entries, images.pairs, missing=images.missing)
    items = [item for item, _, _ in draft.candidates()]
    return ItemSource(lambda: items, images.path_of, (*images.notes, *account(others)))


def _hear(record: Record, file: Path, limits: Limits = DISK) -> Shown:
    """Let a picture say what it says of itself; nothing if it cannot be read, which its encoding
    will say.
    """
    try:
        data = read_image_file(file, limits)
        seen = look(data, file.name, limits)
    except UserError:
        record.hear([], last=True)
        return NOTHING
    record.hear(inside(data, file.name), last=True)
    return seen


def uploaded_items(
    uploads: Sequence[tuple[str, Path | None]], dataset: int, first: int = 1
) -> ItemSource:
    """(text, image file) pairs, either of which may be missing, numbered from `first` on.

    A picture without a text that brings its caption is followed by this caption as an item.
    Raises ValueError for a pair of neither. Pictures above the limits of the page have no path.
    """
    items = list[Item]()
    pictures = dict[str, Path]()

    def append(text: str, name: str | None, facts: dict[str, Any]) -> None:
        source = json.dumps(facts, ensure_ascii=False) if facts else ""
        modality = Modality.of(text, name)
        items.append(Item(f"{dataset}:{first + len(items)}", modality, text, name, source))

    for text, picture in uploads:
        record = Record("", "", 0, captions=[text] * bool(text))
        name = None
        if picture:
            name = f"{first + len(items)}/{picture.name}"
            pictures[name] = picture
            _hear(record, picture, PAGE)
        append(text, name, {fact: value for fact, value in record.facts.items() if fact != "id"})
        if not text and record.captions:
            append(record.captions[0], None, record.origin | {PICTURE: name})

    def image_path(name: str) -> Path:
        image_header(pictures[name], limits=PAGE)
        return pictures[name]

    return ItemSource(lambda: items, image_path)
