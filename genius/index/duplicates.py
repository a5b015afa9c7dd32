"""Find new items that an index already holds under another id: those with the same text and the
same image; and count new pictures that are versions of others, which stay items.

Images are the same if the encoder maps them to the same embedding, up to rounding. Then their IDs
are the same, too, so only items of one bucket are compared.

Shapes: n items, k of them that are kept, m new ones, d embedding dim, M levels, p pairs.
"""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from genius.collections.images import open_image
from genius.collections.versions import ALIKE, are_versions, small
from genius.index.segments import ConcatenatedArray
from genius.index.store import Index
from genius.index.writing import MAX_EXAMPLES
from genius.schema import Item, Modality
from genius.trie.ids import IDTable, expand_ranges, pack

# distance of two embeddings in fp16 that were the same before they were rounded
MAX_DISTANCE = 1e-3
MAX_COMPARED = 1000  # items of a bucket that a new one is compared with
NEAREST = 5  # pictures, by their embeddings, that a new one is compared with as a version
MOST_PAIRS = 2**30  # of a new picture and an older one: a minute on one processor
PICTURES, OLDER = 256, 2**14  # new and older ones whose embeddings are compared together
PAIR_BLOCK = 16_384  # pairs compared together


def content_hash(item: Item) -> int:
    """Equal for equal modality and text."""
    return int.from_bytes(
        hashlib.blake2b(f"{item.modality:d} {item.text}".encode(), digest_size=8).digest()
    )


def find_copies(
    index: Index,
    kept: np.ndarray,
    new: Iterable[Item],
    codes: np.ndarray,
    embeddings: ConcatenatedArray,
    contents: np.ndarray,
) -> tuple[np.ndarray, tuple[tuple[str, str], ...]]:
    """Which new items (m,) bool are copies of the kept rows (k,) of the index, or of earlier new
    ones; and of the first copies their names, and those of whose copies they are: of the index by
    their ids, too.

    Of the new items: codes (m, M), embeddings (m, d), contents (m,) of `content_hash`.
    """
    packed = np.concatenate([index.packed[kept], pack(codes, index.code_sizes)])
    rows = np.concatenate([kept, np.arange(index.n, index.n + len(codes))])
    vectors = ConcatenatedArray([index.embeddings, embeddings], rows)

    def content(places: np.ndarray) -> np.ndarray:
        indexed = places < len(kept)
        hashes = np.empty(len(places), dtype=np.uint64)
        hashes[~indexed] = contents[places[~indexed] - len(kept)]
        hashes[indexed] = [content_hash(item) for item in index.items(rows[places[indexed]])]
        return hashes

    table = IDTable.from_packed(packed, index.code_sizes)
    copied = find_duplicates(table, len(kept), vectors.__getitem__, content)  # a place, or −1
    return copied >= 0, _examples(index, kept, new, copied)


def _examples(
    index: Index, kept: np.ndarray, new: Iterable[Item], copied: np.ndarray
) -> tuple[tuple[str, str], ...]:
    """copied (m,): the place of the original among the kept rows (k,) and then the new items."""
    places = {int(row): int(copied[row]) for row in np.flatnonzero(copied >= 0)[:MAX_EXAMPLES]}
    if not places:
        return ()
    mentioned = {*places, *(place - len(kept) for place in places.values())}
    named = {row: _name(item) for row, item in enumerate(new) if row in mentioned}

    def original(name: str, place: int) -> str:
        if place >= len(kept):
            return named[place - len(kept)]
        (item,) = index.items(kept[[place]])
        return f"item {item.id}" if _name(item) == name else f"item {item.id}, {_name(item)}"

    return tuple((named[row], original(named[row], place)) for row, place in places.items())


def _name(item: Item) -> str:
    return Path(item.image).name if item.image else item.text


def find_duplicates(
    table: IDTable,
    first: int,
    embeddings: Callable[[np.ndarray], np.ndarray],
    contents: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """(n − first,) int64: the smallest row of which the item at this row, from `first` on, is a
    copy; −1: none.

    table: of all n items. embeddings: rows (p,) -> (p, d). contents: rows (p,) -> (p,) hashes of
    modality and text.
    """
    position = np.flatnonzero(table.rows >= first)
    ids = table.ids_of(position)
    crowded = np.flatnonzero(table.bucket_sizes(ids) > 1)
    position, ids = position[crowded], ids[crowded]
    compared = np.minimum(table.bucket_sizes(ids), MAX_COMPARED)
    none = len(table)
    copies = np.full(none - first, none)
    for part in np.split(
        np.arange(len(ids)), np.flatnonzero(np.diff(np.cumsum(compared) // PAIR_BLOCK)) + 1
    ):
        owner, neighbor = expand_ranges(ids[part], ids[part] + compared[part])
        row, older = table.rows[position[part][owner]], table.rows[neighbor]
        row, older = row[older < row], older[older < row]
        near = (
            np.square(embeddings(row).astype(np.float32) - embeddings(older)).sum(1)
            <= MAX_DISTANCE**2
        )
        row, older = row[near], older[near]
        same = contents(row) == contents(older)
        np.minimum.at(copies, row[same] - first, older[same])
    return np.where(copies == none, -1, copies)


def count_versions(index: Index, first: int) -> int:
    """How many pictures, from row `first` on, are versions of earlier ones, by their thumbnails;
    0 also where there are more than MOST_PAIRS to compare.
    """
    rows = np.flatnonzero(index.modalities == Modality.IMAGE)
    older, new = rows[rows < first], rows[rows >= first]
    if not 0 < len(older) * len(new) <= MOST_PAIRS:
        return 0
    found = 0
    for start in range(0, len(new), PICTURES):
        part = new[start : start + PICTURES]
        for row, cosines, near in zip(part, *_nearest(index, part, older), strict=True):
            found += _has_version(index, row, near[cosines >= ALIKE])
    return found


def _has_version(index: Index, row: int, others: np.ndarray) -> bool:
    picture, *rest = (_pixels(index, each) for each in (row, *others))
    there = [each for each in rest if each is not None]
    return (
        picture is not None and bool(there) and bool(are_versions(picture, np.stack(there)).any())
    )


def _pixels(index: Index, row: int) -> np.ndarray | None:
    picture = index.thumbnail(int(row))
    return small(open_image(picture)) if picture else None


def _nearest(index: Index, rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the others, those with the embeddings nearest to rows (m,): cosines and rows, (m, NEAREST)
    at most.
    """
    vectors = index.embeddings[rows].astype(np.float32)
    cosines: np.ndarray = np.empty((len(rows), 0), np.float32)
    near: np.ndarray = np.empty((len(rows), 0), np.int64)
    for start in range(0, len(others), OLDER):
        block = others[start : start + OLDER]
        of_block = vectors @ index.embeddings[block].astype(np.float32).T
        cosines = np.concatenate([cosines, of_block], 1)
        near = np.concatenate([near, np.broadcast_to(block, of_block.shape)], 1)
        best = np.argpartition(-cosines, min(NEAREST, cosines.shape[1]) - 1)[:, :NEAREST]
        cosines, near = (np.take_along_axis(each, best, 1) for each in (cosines, near))
    return cosines, near
