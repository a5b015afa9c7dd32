"""genius/explore/code_across.py over a made-up engine."""

from types import SimpleNamespace

import numpy as np

from genius.explore.code_across import EACH, SAMPLE, across, any_modality
from genius.schema import Item, Modality


def made_up(ids: list[str], modalities: list[int]) -> SimpleNamespace:
    return SimpleNamespace(
        modalities=np.array(modalities), items=lambda rows: [Item(ids[row], Modality.TEXT) for row in rows]
    )


def matching(rows) -> SimpleNamespace:
    return SimpleNamespace(rows=np.asarray(rows))


def test_items_are_grouped_by_the_dataset_of_their_id_and_their_modality():
    index = made_up(["7:1", "0:2", "7:3", "none", "0:4"], [0, 1, 0, 2, 1])
    found = across(index, matching([4, 3, 2, 0, 1]))
    assert [(one.dataset, one.modality, one.rows.tolist(), one.items) for one in found] == [
        (0, Modality.TEXT, [1, 4], 2),
        (7, Modality.IMAGE, [0, 2], 2),
        (None, Modality.PAIR, [3], 1),
    ]


def test_a_few_of_many_are_shown():
    n = 3 * SAMPLE
    (found,) = across(made_up([f"1:{row}" for row in range(n)], [0] * n), matching(range(n)))
    assert found.items == SAMPLE and len(found.rows) == EACH


def test_the_first_code_is_left_open_where_it_is_the_modality():
    assert any_modality((0, 17, None, 5), forced=True) == (None, 17, None, 5)
    assert any_modality((0,), forced=True) == () == any_modality((), forced=True)
    assert any_modality((2, 17), forced=False) == (2, 17)
