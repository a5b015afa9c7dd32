"""The paper's Table 2 (universal information retrieval, global pool of M-BEIR), to stand beside counterpart rows."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Percentages: Recall@5, @10 for Fashion200K and FashionIQ."""

    dense: float       # CLIP-SF
    beam: float        # GENIUS
    reranked: float    # GENIUS, re-ranked by embedding


TABLE_2 = {    # (M-BEIR task, dataset)
    (0, "visualnews"): Published(42.6, 18.5, 27.3),
    (0, "mscoco"): Published(77.9, 55.1, 68.0),
    (0, "fashion200k"): Published(17.8, 13.7, 16.2),
    (1, "webqa"): Published(84.7, 31.1, 42.9),
    (2, "edis"): Published(59.4, 36.6, 44.1),
    (2, "webqa"): Published(78.8, 49.0, 59.7),
    (3, "visualnews"): Published(42.8, 18.4, 26.8),
    (3, "mscoco"): Published(92.3, 82.7, 90.6),
    (3, "fashion200k"): Published(17.9, 12.8, 16.2),
    (4, "nights"): Published(33.4, 8.1, 30.2),
    (6, "oven"): Published(39.2, 34.6, 38.0),
    (6, "infoseek"): Published(24.0, 10.4, 18.0),
    (7, "fashioniq"): Published(26.2, 18.9, 19.2),
    (7, "cirr"): Published(43.0, 20.1, 38.3),
    (8, "oven"): Published(60.2, 36.5, 48.6),
    (8, "infoseek"): Published(44.6, 14.2, 28.6)}


def published(task: int, dataset: str) -> Published | None:
    """What the paper says of the row that this one is a counterpart of: same task, a name that ends alike."""
    return next((figures for (of_task, name), figures in TABLE_2.items()
                 if of_task == task and dataset.endswith(name)), None)
