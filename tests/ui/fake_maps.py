"""Maps with places that mean nothing, and a page over a tiny run that has them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from genius.collections.keys import id_key
from genius.explore.map_data import PART, MappedQuery, Maps, View
from genius.run import Run
from genius.schema import Modality
from tests.search.tiny import LEVELS, publish_tiny_run
from tests.ui import tiny_page
from tests.ui.fake_engine import HOSTILE, FakeIndex

HEALTH = {"ids": 76_000, "largest_bucket": 3, "items_alone": 0.99, "val_hit_at_5": 0.68, "val_hit_at_5_quantized": 0.67}
QUERIES, FEW = 9, 5


def fake_maps(ids: Sequence[str], levels: int) -> Maps:
    """These items and a few queries, the second of which is hostile, in three views; the last has few places."""
    random, keys = np.random.default_rng(3), np.sort([id_key(id) for id in ids])
    texts = [HOSTILE if at == 1 else f"mug {at}" if at % 3 else "" for at in range(QUERIES)]
    queries = tuple(
        MappedQuery(f"1:{at}", Modality(at % 3), text, "Find it.", (ids[at], ids[at + 1]))
        for at, text in enumerate(texts)
    )
    places = random.uniform(-1, 1, (3, len(keys) + QUERIES, 2)).astype(np.float32)
    places[2, : len(keys)] = places[2, np.arange(len(keys)) % FEW]
    return Maps(
        (View(), View(levels), View(levels, contrastive=False)),
        places,
        keys,
        queries,
        {0: "birds", 1: "birds", 2: "<b>boats</b>", 3: "mugs", 4: "hats"},
        "test",
        {"with": HEALTH, "without": HEALTH | {"largest_bucket": 4_321}},
    )


def many_maps() -> Maps:
    """Of the made-up index: every 26th item."""
    return fake_maps([item.id for item in FakeIndex().items(range(0, 76_000, 26))], len(FakeIndex.code_sizes))


@contextmanager
def serving_maps(path: Path) -> Iterator[SimpleNamespace]:
    """A page over a tiny run of 40 items, of which 39 are drawn."""

    def publish(path: Path) -> Run:
        run = publish_tiny_run(path)
        run.publish(PART, fake_maps([f"0:{row}" for row in range(39)], LEVELS).save, ("fusion", "quantizer", "index"))
        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_page, "publish_tiny_run", publish)
        with tiny_page.serving(path) as page:
            yield page
