"""Maps with places that mean nothing, and a page over a tiny run that has one."""

from collections.abc import Sequence

import numpy as np

from genius.collections.keys import id_key
from genius.explore.map_data import Maps, Moved, Region, View
from tests.ui.fake_engine import HOSTILE, FakeIndex

FEW = 5  # places with all codes
REGIONS = (
    Region(0, None, ("mug", "hat"), 20, 15, ""),
    Region(0, None, (HOSTILE[:100],), 19, 9, "0:3"),
    Region(1, 0, ("mug",), 20, 12, ""),
    Region(1, 1, (), 19, 0, ""),
    Region(2, 2, ("red mug",), 20, 11, ""),
    Region(2, 3, ("boat",), 19, 8, ""),
)


def fake_maps(ids: Sequence[str], levels: int) -> Maps:
    """These items in two views, the second of which has few places, and six regions, two of each
    size.
    """
    random = np.random.default_rng(3)
    keys = np.sort([id_key(id) for id in ids])
    side = np.where(np.arange(len(keys)) % 2, 0.5, -0.5)  # of each region
    places = random.normal(0, 0.12, (2, len(keys), 2)).clip(-0.4, 0.4).astype(np.float32)
    places[0, :, 0] += side
    places[1] = places[1, np.arange(len(keys)) % FEW]
    views = (View(0, len(keys)), View(levels, FEW, (Moved(4, 0.5, None, 5),)))
    names = {0: "birds", 1: "birds", 2: "<b>boats</b>", 3: "mugs", 4: "hats"}
    return Maps(views, places, keys, REGIONS, 4 + (np.arange(len(keys)) % 2), names)


def many_maps() -> Maps:
    """Of the made-up index: every 26th item."""
    return fake_maps(
        [item.id for item in FakeIndex().items(range(0, 76_000, 26))], len(FakeIndex.code_sizes)
    )
