"""One thing once: results that show the same photograph are one result, the best of them; the
others are its versions.

A picture and its pairs show the same photograph; so do the captions whose source names it, and its
copies. A copy is told by its embedding, and by the pixels of its thumbnail.

Shapes: t candidates of a query, d embedding dim.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from genius.collections.images import open_image
from genius.collections.versions import ALIKE, are_versions, small
from genius.index.store import Index
from genius.schema import Item, described_picture
from genius.search.rerank import RankedCandidates

FURTHER = 20  # candidates beyond the results, which take the place of versions


def one_of_each(
    index: Index, ranked: RankedCandidates, k: int
) -> tuple[tuple[np.ndarray, np.ndarray], list[list[Item]]]:
    """The k best candidates of each query that show different things, by query and rank: their
    (query, place) in `ranked`, (t,) each, and of each the items that show the same, its own first.
    """
    query, place = np.nonzero(ranked.rows >= 0)
    rows = ranked.rows[query, place]
    items = index.items(rows)
    embeddings = index.embeddings[rows].astype(np.float32)
    groups = []
    for number in range(len(ranked.rows)):
        own = np.flatnonzero(query == number)
        of_query = [items[at] for at in own]
        places = groups_of(of_query, rows[own].tolist(), embeddings[own], index.thumbnail, k)
        groups += [own[group] for group in places]
    best = np.array([group[0] for group in groups], dtype=np.int64)
    return (query[best], place[best]), [[items[at] for at in group] for group in groups]


def groups_of(
    items: Sequence[Item],
    rows: Sequence[int],
    embeddings: np.ndarray,
    thumbnail: Callable[[int], bytes | None],
    k: int,
) -> list[list[int]]:
    """The places of candidates in groups of the same thing, the first k, both in the order given.

    rows (t,): of the candidates in the index. embeddings (t, d): normalized. thumbnail: of the item
    at a row.
    """

    @cache
    def pixels(place: int) -> np.ndarray | None:
        picture = thumbnail(rows[place])
        return small(open_image(picture)) if picture else None

    groups: list[list[int]] = []
    by_picture: dict[str, list[int]] = {}
    near = embeddings @ embeddings.T >= ALIKE
    for place, item in enumerate(items):
        picture = item.image or described_picture(item.source)
        group = by_picture.get(picture) if picture else None
        if group is None and len(groups) == k:
            continue  # no further picture is opened
        if group is None and item.image:
            alike = [
                own
                for own in groups
                if near[place, own[0]] and items[own[0]].modality == item.modality
            ]
            group = next(
                (own for own in alike if show_the_same(pixels(own[0]), pixels(place))), None
            )
        if group is None:
            group = []
            groups.append(group)
        group.append(place)
        if picture:
            by_picture[picture] = group
    return groups


def show_the_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    """Whether two small thumbnails (s, s, 3), s their side, are versions of one photograph; None:
    there is none.
    """
    return one is not None and other is not None and bool(are_versions(one, other[None])[0])
