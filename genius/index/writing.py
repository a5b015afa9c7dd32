"""Write an index folder, one block of items at a time (see store.py for its files).

A killed process leaves whole blocks, after which a later one can resume; the files are then the
same, byte for byte.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from tqdm import tqdm

from genius.collections.images import thumbnail
from genius.encoding.features import batched
from genius.errors import UserError
from genius.files import link_or_copy, write_array
from genius.index.database import placeholders, resumable_database, saved_progress, transaction
from genius.index.layout import (
    CONFIG,
    DISTANCES,
    INSTRUCTIONS,
    IndexConfig,
    Instruction,
    write_config,
    write_instructions,
)
from genius.index.segments import (
    EMBEDDINGS,
    FUSED,
    ITEM_KEY,
    ITEM_TABLE,
    ITEMS,
    THUMBNAIL_TABLES,
    THUMBNAILS,
    Vectors,
)
from genius.schema import Item
from genius.trie.ids import pack

ITEM_BLOCK = 4096  # items in memory at once
# share of images that may be unreadable; of more it is likely that their folder is not there
MAX_UNREADABLE = 0.1
THUMBNAIL_QUALITY = 70  # of WebP
MAX_EXAMPLES = 5  # unreadable images that are named
SEEN = "CREATE TEMP TABLE seen (image TEXT PRIMARY KEY, picture INTEGER NOT NULL) WITHOUT ROWID"
SEEN_BEFORE = (
    "INSERT INTO seen SELECT image, min(picture) FROM shown JOIN items USING (row) GROUP BY image"
)


@dataclass(frozen=True)
class UnreadableImages:
    """Images that cannot be read; an image that several items share counts once."""

    count: int
    examples: tuple[str, ...]  # sentences that name some

    def __add__(self, more: "UnreadableImages") -> "UnreadableImages":
        return UnreadableImages(
            self.count + more.count, (self.examples + more.examples)[:MAX_EXAMPLES]
        )


def write_index(
    folder: Path,
    items: Iterable[Item],
    codes: np.ndarray,
    embeddings: Vectors,
    code_sizes: Sequence[int],
    *,
    image_path: Callable[[str], Path] | None,
    instructions: Iterable[Instruction],
    fused: Vectors | None = None,
    thumbnail_side: int = 192,
    distances: np.ndarray | None = None,
    resume_folder: Path | None = None,
) -> UnreadableImages:
    """Fill `folder`, which is empty.

    items: n of them, streamed; codes (n, M) and embeddings (n, d), normalized, may be
    memory-mapped. fused (n, d): fused features, normalized, which are to be kept. image_path: finds
    an item's image; None makes no thumbnails. thumbnail_side: in pixels. distances (n, 2): see
    store.py; with its errors those of items that are added later are compared. resume_folder: holds
    the databases that a killed process was writing for the same items; empty at first. They stay
    there, so that nothing is lost before the caller has published `folder`. Returns the items whose
    images cannot be read; they have no thumbnail. Raises UserError that names the item if an id
    comes twice, the number of items is another than that of embeddings or zero, or more than
    MAX_UNREADABLE of the images cannot be read; ValueError if codes and embeddings are not equally
    many.
    """
    n, dim = embeddings.shape
    if len(codes) != n:
        raise ValueError(f"{len(codes)} IDs and {n} embeddings; expected one of each per item")
    if not n:
        raise UserError("the collection has no candidates; an index needs at least one")
    config = IndexConfig(n, dim, tuple(code_sizes), segments=(n,), trained=n)
    config.check()
    write_instructions(folder / INSTRUCTIONS, instructions)
    modalities, unreadable = write_segment(
        folder, items, embeddings, fused, image_path, thumbnail_side, resume_folder
    )
    write_rows(folder, config, pack(codes, code_sizes), modalities, distances)
    return unreadable


def write_segment(
    folder: Path,
    items: Iterable[Item],
    embeddings: Vectors,
    fused: Vectors | None,
    image_path: Callable[[str], Path] | None,
    thumbnail_side: int,
    resume_folder: Path | None = None,
) -> tuple[np.ndarray, UnreadableImages]:
    """Write the files of one segment (see segments.py), as `write_index` does: embeddings (m, d)
    and, if there are any, fused features (m, d).

    Returns the modalities (m,) of its items, and those whose images cannot be read.
    """
    folder.mkdir(exist_ok=True)
    shrink = partial(_thumbnail, image_path, thumbnail_side) if image_path is not None else None
    modalities, unreadable = _write_items(resume_folder or folder, items, len(embeddings), shrink)
    if resume_folder:
        for name in (ITEMS, THUMBNAILS):
            link_or_copy(resume_folder / name, folder / name)
    write_vectors(folder, embeddings, fused)
    return modalities, unreadable


def write_rows(
    folder: Path,
    config: IndexConfig,
    packed: np.ndarray,
    modalities: np.ndarray,
    distances: np.ndarray | None,
) -> None:
    """Write the files about rows: IDs (n, B), modalities (n,), distances (n, 2) if known."""
    write_config(folder / CONFIG, config)
    np.save(folder / "ids.npy", packed)
    np.save(folder / "modalities.npy", modalities)
    if distances is not None:
        np.save(folder / DISTANCES, distances.astype(np.float32))


def write_vectors(segment: Path, embeddings: Vectors, fused: Vectors | None) -> None:
    """Embeddings (m, d) and, if there are any, fused features (m, d) as fp16, block by block.

    Raises UserError if one is not a number.
    """

    def blocks(what: str, model: str, vectors: Vectors) -> Iterator[np.ndarray]:
        for first in range(0, len(vectors), ITEM_BLOCK):
            block = np.asarray(vectors[first : first + ITEM_BLOCK])
            if not np.isfinite(block).all():
                last = first + len(block) - 1
                raise UserError(
                    f"{what} of rows {first} to {last} is not a number; train the {model} again"
                )
            yield block

    given = blocks("an embedding", "encoder", embeddings)
    write_array(segment / EMBEDDINGS, embeddings.shape, np.float16, given)
    if fused is not None:
        write_array(
            segment / FUSED, fused.shape, np.float16, blocks("a fused feature", "fusion", fused)
        )


def _write_items(
    folder: Path, items: Iterable[Item], n: int, shrink: Callable[[Item], bytes | UserError] | None
) -> tuple[np.ndarray, UnreadableImages]:
    """Write both databases, from where they stopped; returns as `write_segment`. shrink: makes an
    item's thumbnail.
    """
    changed = (
        f"the collection no longer has the {n} candidates that were encoded; compute the "
        "features again"
    )
    read = 0
    failed = UnreadableImages(0, ())
    with resumable_database(folder / THUMBNAILS, THUMBNAIL_TABLES):
        pass
    with (
        resumable_database(folder / ITEMS, ITEM_TABLE) as database,
        ThreadPoolExecutor(os.cpu_count()) as workers,  # Pillow decodes outside the GIL
    ):
        # SQLite commits to both files or none
        database.execute("ATTACH ? AS thumbnails", (str(folder / THUMBNAILS),))
        database.execute(SEEN)
        database.execute(SEEN_BEFORE)
        row = saved_progress(database)
        with tqdm(total=n, initial=row, desc="index", unit="item", disable=None) as bar:
            for block in batched(islice(items, row, None), ITEM_BLOCK):
                end = row + len(block)
                if end > n:
                    raise UserError(changed)
                with transaction(database, end):
                    records = (
                        (number, item.id, int(item.modality), item.text, item.image, item.source)
                        for number, item in enumerate(block, row)
                    )
                    database.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?)", records)
                    if shrink is not None:
                        new, unreadable = _write_thumbnails(
                            database, row, block, partial(workers.map, shrink)
                        )
                        read = read + new
                        failed = failed + unreadable
                        if failed.count > MAX_UNREADABLE * (read + failed.count):
                            raise UserError(
                                f"{failed.count:,} of {read + failed.count:,} images cannot be "
                                f"read, e.g. {failed.examples[0]}"
                            )
                row = end
                bar.update(len(block))
        if row < n:
            raise UserError(changed)
        twice = database.execute(
            "SELECT id FROM items GROUP BY id HAVING count(*) > 1 LIMIT 1"
        ).fetchone()
        if twice:
            raise UserError(
                f"the collection has two candidates with id {twice[0]!r}; rename or remove one"
            )
        database.execute(ITEM_KEY)
        modalities = (
            modality for (modality,) in database.execute("SELECT modality FROM items ORDER BY row")
        )
        return np.fromiter(modalities, dtype=np.uint8, count=n), failed


def _write_thumbnails(
    database: sqlite3.Connection,
    first: int,
    block: list[Item],
    shrink: Callable[[Iterable[Item]], Iterable[bytes | UserError]],
) -> tuple[int, UnreadableImages]:
    """Write those of the items from row `first` on. An image that several items share is shrunk and
    stored once.

    Returns how many new images were stored, and which could not be read.
    """
    pictured = {row: item for row, item in enumerate(block, first) if item.image is not None}
    items = {item.image: item for item in pictured.values()}  # one of each image
    query = f"SELECT image, picture FROM seen WHERE image IN {placeholders(len(items))}"
    pictures = dict(database.execute(query, list(items)))
    ((known,),) = database.execute("SELECT ifnull(max(picture) + 1, 0) FROM pictures")
    new = [item for image, item in items.items() if image not in pictures]
    made = list(zip(new, shrink(new), strict=True))
    failed = [str(error) for _, error in made if isinstance(error, UserError)]
    stored = [(item.image, thumbnail) for item, thumbnail in made if isinstance(thumbnail, bytes)]
    pictures |= {image: known + i for i, (image, _) in enumerate(stored)}
    database.executemany(
        "INSERT INTO seen VALUES (?, ?)", ((image, pictures[image]) for image, _ in stored)
    )
    database.executemany(
        "INSERT INTO pictures VALUES (?, ?)", enumerate((webp for _, webp in stored), start=known)
    )
    shown = (
        (row, pictures[item.image]) for row, item in pictured.items() if item.image in pictures
    )
    database.executemany("INSERT INTO shown VALUES (?, ?)", shown)
    return len(stored), UnreadableImages(len(failed), tuple(failed[:MAX_EXAMPLES]))


def _thumbnail(image_path: Callable[[str], Path], side: int, item: Item) -> bytes | UserError:
    assert item.image is not None
    try:
        return thumbnail(image_path(item.image), side, THUMBNAIL_QUALITY)
    except UserError as error:
        return UserError(f"candidate {item.id}: {error}")
