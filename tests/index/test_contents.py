from pathlib import Path

import pytest

from genius.index import update
from genius.index.contents import Contents, Dataset
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item, Modality
from tests.search.tiny import tiny_encoder, tiny_fusion, tiny_quantizer

N = 12


def opened(run: Path) -> Index:
    return Index.load(Run(run).folder("index"))


def add(run: Path, *ids: str) -> None:
    update.add(
        run,
        lambda _: ItemSource(lambda: [Item(id, Modality.TEXT, f"Text {id}") for id in ids], Path),
        update.Models(tiny_encoder(), tiny_fusion(), tiny_quantizer()),
    )


def test_a_run_as_trained_holds_one_dataset(run):
    found = Contents.of(opened(run))
    assert found.datasets == [Dataset(0, [4, 4, 4], 0)] and found.datasets[0].items == N == found.items
    assert (found.added, found.segments, found.removed) == (0, (N,), 0)
    assert found.bytes == sum(file.stat().st_size for file in opened(run).folder.iterdir())


@pytest.mark.parametrize("lookup", [1, 5, 10_000])
@pytest.mark.parametrize("compacted", [False, True])
def test_datasets_are_counted_over_segments_without_what_was_removed(run, compacted, lookup, monkeypatch):
    monkeypatch.setattr("genius.index.segments.LOOKUP", lookup)
    add(run, "7:1", "7:2", "0:99", "plain")
    add(run, "12:1", "7:3")
    update.remove(run, ["0:0", "0:4", "7:2", "12:1"])
    if compacted:
        update.compact(run)
    index = opened(run)
    expected = [int(item.id.partition(":")[0]) if ":" in item.id else -1 for item in index.items(range(index.n))]
    assert index.records.datasets().tolist() == expected
    found = Contents.of(index)
    assert found.datasets == [Dataset(0, [3, 4, 4], 1), Dataset(7, [0, 2, 0], 2), Dataset(None, [0, 1, 0], 1)]
    assert (found.items, found.added, found.modalities) == (N + 2, 4, [3, 7, 4])
    assert (found.segments, found.removed) == (((N + 2,), 0) if compacted else ((N, 4, 2), 4))
