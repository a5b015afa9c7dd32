from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genius.index import update
from genius.index.check import Buckets, Dataset, DriftReport, datasets
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.index.writing import write_index, write_rows
from genius.run import Run
from genius.schema import Item, Modality
from genius.trie.ids import IDTable
from tests.index.older import hide
from tests.search.tiny import tiny_encoder, tiny_fusion, tiny_quantizer

SIZES = (3, 40, 40)
TRAINED = 200
N = 240


def index(
    folder: Path,
    added: np.ndarray,
    modality: Modality = Modality.TEXT,
    crowded: bool = False,
    errors: bool = True,
) -> Index:
    """Texts with errors 0 … 1 by training, and 40 items with the errors that are given."""
    folder.mkdir()
    kinds = [Modality.TEXT] * TRAINED + [modality] * (N - TRAINED)
    number = np.arange(N)
    codes = np.stack([kinds, number // 40, number % 40], axis=1)
    if crowded:
        codes[TRAINED:] = codes[0]
    items = [
        Item(
            f"0:{row}",
            kind,
            "" if kind is Modality.IMAGE else "a",
            "a.png" if kind is Modality.IMAGE else None,
        )
        for row, kind in enumerate(kinds)
    ]
    write_index(
        folder,
        items,
        codes,
        np.full((N, 4), 0.5, np.float32),
        SIZES,
        image_path=None,
        instructions=[],
    )
    written = Index.load(folder)
    write_rows(
        folder,
        replace(written.config, trained=TRAINED),
        np.array(written.packed),
        written.modalities,
        np.stack([np.concatenate([np.linspace(0, 1, TRAINED), added]), number], axis=1)
        if errors
        else None,
    )
    return Index.load(folder)


def test_items_like_the_trained_ones_are_no_reason_to_train(tmp_path):
    drift = DriftReport.of(index(tmp_path / "index", np.linspace(0, 0.94, N - TRAINED)))
    assert (drift.trained, drift.added, drift.compared, drift.far) == (TRAINED, 40, 40, 0)
    assert drift.error == pytest.approx(0.5, abs=1e-3) and drift.warnings() == []


def test_features_far_from_their_ids_are_a_reason(tmp_path):
    drift = DriftReport.of(index(tmp_path / "index", np.r_[np.full(10, 1.5), np.zeros(30)]))
    assert drift.far == 10
    (warning,) = drift.warnings()
    assert "25% of 40 added items are farther" in warning and "Train again" in warning


def test_crowded_ids_are_a_reason(tmp_path):
    drift = DriftReport.of(index(tmp_path / "index", np.zeros(N - TRAINED), crowded=True))
    assert drift.buckets == Buckets(1.0, 1) and drift.all_buckets.largest == 41
    (warning,) = drift.warnings()
    assert "41 at most; after training 1.000 items on average" in warning


def test_a_modality_that_training_did_not_see_is_a_reason(tmp_path):
    (warning,) = DriftReport.of(
        index(tmp_path / "index", np.zeros(N - TRAINED), Modality.IMAGE)
    ).warnings()
    assert "40 added items are of the modality 'image'" in warning


def test_without_the_errors_of_training_nothing_can_be_compared(tmp_path):
    (warning,) = DriftReport.of(
        index(tmp_path / "index", np.zeros(N - TRAINED), errors=False)
    ).warnings()
    assert "reconstruction errors of the trained items are missing" in warning


def test_the_mean_bucket_is_that_of_an_item():
    table = IDTable.build(np.array([[0], [0], [0], [1]]), (2,))
    assert Buckets.of(table) == Buckets((3 * 3 + 1) / 4, 3)


@pytest.mark.parametrize("lookup", [1, 5, 10_000])
@pytest.mark.parametrize("older", [False, True], ids=["", "in a run of an older version"])
def test_datasets_are_counted_over_segments_without_what_was_removed(
    run, older, lookup, monkeypatch
):
    def add(*ids: str) -> None:
        items = [Item(id, Modality.TEXT, f"Text {id}") for id in ids]
        update.add(run, lambda _: ItemSource(lambda: items, Path), models)

    monkeypatch.setattr("genius.index.segments.LOOKUP", lookup)
    models = update.Models(tiny_encoder(), tiny_fusion(), tiny_quantizer())
    before = Index.load(Run(run).folder("index"))
    assert datasets(before) == [Dataset(0, [4, 4, 4], 0)] and before.config.removed == 0
    add("7:1", "7:2", "0:99", "plain")
    add("12:1", "7:3")
    (hide if older else update.remove)(run, ["0:0", "0:4", "7:2", "12:1"])
    now = Index.load(Run(run).folder("index"))
    expected = [
        int(item.id.partition(":")[0]) if ":" in item.id else -1 for item in now.items(range(now.n))
    ]
    assert now.records.datasets().tolist() == expected
    assert datasets(now) == [
        Dataset(0, [3, 4, 4], 1),
        Dataset(7, [0, 2, 0], 2),
        Dataset(None, [0, 1, 0], 1),
    ]
    assert now.config.removed == 4 * older and now.last_dataset() == 12
