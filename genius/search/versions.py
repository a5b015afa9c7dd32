"""One thing once: results that show the same photograph are one result, the best of them; the others are its versions.

The same photograph have a picture and its pairs, the captions whose source names it, and copies of a picture: the
embeddings are as near as those of copies, and so are the pixels of the thumbnails.

Shapes: t candidates of a query, d embedding dim.
"""

from collections.abc import Callable, Sequence

import numpy as np

from genius.collections.images import open_image
from genius.schema import Item, described_picture

ALIKE = 0.95  # cosine of the embeddings of copies
SIDE, MOST_DIFFERENT = 16, 8.0  # of their thumbnails: pixels, and mean difference of values up to 255
FURTHER = 20  # candidates beyond the results, which take the place of versions


def groups_of(
    items: Sequence[Item], embeddings: np.ndarray, thumbnail: Callable[[int], bytes | None]
) -> list[list[int]]:
    """The places of candidates in groups of the same thing, both in the order given.

    embeddings (t, d): normalized. thumbnail: of the candidate at a place.
    """
    groups: list[list[int]] = []
    by_picture: dict[str, list[int]] = {}
    near = embeddings @ embeddings.T >= ALIKE
    for place, item in enumerate(items):
        picture = item.image or described_picture(item.source)
        group = by_picture.get(picture) if picture else None
        if group is None and item.image:
            alike = [own for own in groups if near[place, own[0]] and items[own[0]].modality == item.modality]
            group = next((own for own in alike if are_copies(thumbnail(own[0]), thumbnail(place))), None)
        if group is None:
            group = []
            groups.append(group)
        group.append(place)
        if picture:
            by_picture[picture] = group
    return groups


def are_copies(one: bytes | None, other: bytes | None) -> bool:
    """Whether two thumbnails show the same pixels, but for their encoding."""
    if not one or not other:
        return False
    pixels = [np.asarray(open_image(picture).resize((SIDE, SIDE)), dtype=np.float32) for picture in (one, other)]
    return float(np.abs(pixels[0] - pixels[1]).mean()) <= MOST_DIFFERENT
