"""Sources of items to add to an index: a collection, a folder of images, or the uploads of a visitor."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from genius.collections.draft import Draft, SourceImage
from genius.collections.images import PAGE, image_header, read_image_file
from genius.collections.layout import SPLITS
from genius.collections.listing import account
from genius.collections.mbeir import Collection
from genius.collections.metadata import Said, inside
from genius.collections.rules import SourceEntry, apply_rules
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.schema import Item, Modality


@dataclass(frozen=True)
class ItemSource:
    """Items and the paths of their images."""

    items: Callable[[], Iterable[Item]]  # each call iterates over all of them, in the same order
    image_path: Callable[[str], Path]  # raises UserError for an image outside of the source
    notes: tuple[str, ...] = ()  # what became of the files that are no images of items


def read_item_source(source: str, dataset: int) -> ItemSource:
    """An M-BEIR-format directory, FOLDER or NAME=FOLDER, as `python -m genius.collections` reads it.

    The items of a collection have their ids; those of a folder become dataset `dataset`.
    Raises UserError that names file and line of what cannot be used.
    """
    _name, equals, folder = source.rpartition("=")
    root = Path(source if not equals or Path(source).exists() else folder)
    if (root / "cand_pool").is_dir():
        collection = Collection(root)
        return ItemSource(collection.all_candidates, collection.image_path)
    images, draft, everywhere = read_source(root), Draft(dataset), frozenset(SPLITS)
    for record in images.records:
        record.hear(_inside(images.path_of(record.image)), last=True)
    others = [*images.others, *(report for record in images.records for report in record.heard)]
    entries = [
        SourceEntry(record, SourceImage(record.image, record.image.encode(), everywhere, record.facts))
        for record in images.records
    ]
    apply_rules(draft, entries, images.pairs, missing=images.missing)
    items = [item for item, _, _ in draft.candidates()]
    return ItemSource(lambda: items, images.path_of, (*images.notes, *account(others)))


def _inside(file: Path) -> list[Said]:
    """What a picture says of itself; nothing if it cannot be read, which its encoding will say."""
    try:
        return inside(read_image_file(file), file.name)
    except UserError:
        return []


def uploaded_items(uploads: Sequence[tuple[str, Path | None]], dataset: int, first: int = 1) -> ItemSource:
    """(text, image file) pairs, either of which may be missing, numbered from `first` on.

    Raises ValueError for a pair of neither. Pictures above the limits of the page have no path.
    """

    def image_path(name: str) -> Path:
        image_header(pictures[name], limits=PAGE)
        return pictures[name]

    pictures = {f"{number}/{picture.name}": picture for number, (_, picture) in enumerate(uploads, first) if picture}
    names = iter(pictures)
    items = [
        Item(f"{dataset}:{number}", Modality.of(text, picture), text, next(names) if picture else None)
        for number, (text, picture) in enumerate(uploads, first)
    ]
    return ItemSource(lambda: items, image_path)
