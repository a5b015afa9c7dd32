"""Find new items that an index already holds under another id: those with the same text and the
same image.

Images are the same if the encoder maps them to the same embedding, up to rounding. Then their IDs
are the same, too, so only items of one bucket are compared.

Shapes: n items, d embedding dim, p pairs.
"""

from collections.abc import Callable

import numpy as np

from genius.trie.ids import IDTable, expand_ranges

# distance of two embeddings in fp16 that were the same before they were rounded
MAX_DISTANCE = 1e-3
MAX_COMPARED = 1000  # items of a bucket that a new one is compared with
PAIR_BLOCK = 16_384  # pairs compared together


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
