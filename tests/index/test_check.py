import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genius.index import update
from genius.index.check import Buckets, Dataset, DriftReport, datasets
from genius.index.store import Index
from genius.index.writing import write_index, write_rows
from genius.schema import Item, Modality
from genius.trie.ids import IDTable
from tests.index.changes import add_items, opened, texts

SIZES = (3, 40, 40)
TEXT = Modality.TEXT
TRAINED = 200
N = 240


def drift(folder: Path, added: np.ndarray | None, modality: Modality = TEXT, crowded: bool = False):
    """Of texts with errors 0 … 1 by training, and 40 items with the errors that are given; None:
    none are known."""
    kinds = [TEXT] * TRAINED + [modality] * (N - TRAINED)
    number = np.arange(N)
    codes = np.stack([kinds, number // 40, number % 40], axis=1)
    if crowded:
        codes[TRAINED:] = codes[0]
    items = [
        Item(f"0:{row}", kind, "a" if kind is TEXT else "", None if kind is TEXT else "a.png")
        for row, kind in enumerate(kinds)
    ]
    vectors = np.full((N, 4), 0.5, np.float32)
    write_index(folder, items, codes, vectors, SIZES, image_path=None, instructions=[])
    written = Index.load(folder)
    distances = None
    if added is not None:
        errors = np.concatenate([np.linspace(0, 1, TRAINED), added])
        distances = np.stack([errors, number], axis=1)
    config = replace(written.config, trained=TRAINED)
    write_rows(folder, config, np.array(written.packed), written.modalities, distances)
    return DriftReport.of(Index.load(folder))


def test_items_like_the_trained_ones_are_no_reason_to_train(tmp_path):
    found = drift(tmp_path, np.linspace(0, 0.94, N - TRAINED))
    assert (found.trained, found.added, found.far) == (TRAINED, 40, 0)
    assert found.error == pytest.approx(0.5, abs=1e-3) and found.warnings() == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((np.r_[np.full(10, 1.5), np.zeros(30)],), "25% of 40 added items are farther .*Train aga"),
        ((np.zeros(40), TEXT, True), "41 at most; after training 1.000 items on average, 1 at mos"),
        ((np.zeros(40), Modality.IMAGE), "40 added items are of the modality 'image'"),
        ((None,), "reconstruction errors of the trained items are missing"),
    ],
)
def test_added_items_that_are_unlike_the_trained_ones_are_a_reason(tmp_path, given, words):
    (warning,) = drift(tmp_path, *given).warnings()
    assert re.search(words, warning)


def test_the_mean_bucket_is_that_of_an_item():
    table = IDTable.build(np.array([[0], [0], [0], [1]]), (2,))
    assert Buckets.of(table) == Buckets((3 * 3 + 1) / 4, 3)


@pytest.mark.parametrize("lookup", [1, 5, 10_000])
def test_datasets_are_counted_over_segments_without_what_was_removed(run, lookup, monkeypatch):
    monkeypatch.setattr("genius.index.segments.LOOKUP", lookup)
    assert datasets(opened(run)) == [Dataset(0, [4, 4, 4], 0)]
    add_items(run, texts("7:1", "7:2", "0:99", "plain"))
    add_items(run, texts("12:1", "7:3"))
    update.remove(run, ["0:0", "0:4", "7:2", "12:1"])
    now = opened(run)
    expected = [
        int(item.id.partition(":")[0]) if ":" in item.id else -1 for item in now.items(range(now.n))
    ]
    assert now.records.datasets().tolist() == expected
    assert datasets(now) == [
        Dataset(0, [3, 4, 4], 1),
        Dataset(7, [0, 2, 0], 2),
        Dataset(None, [0, 1, 0], 1),
    ]
    assert now.last_dataset() == 12
