"""An engine takes up what was added and removed while it searches."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from genius.errors import UserError
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.run import Run
from genius.schema import MODES, Item, Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.trie.pool import Pool
from tests.search.tiny import publish_tiny_run
from tests.waiting import wait_until

N, LIMIT = 30, 60  # items; seconds


@pytest.fixture
def run(tmp_path) -> Path:
    return publish_tiny_run(tmp_path / "run", N).path


def add(run: Path, engine: Engine, *texts: str) -> None:
    update.add(
        run,
        lambda dataset: ItemSource(
            lambda: [
                Item(f"{dataset}:{number}", Modality.TEXT, text)
                for number, text in enumerate(texts)
            ],
            Path,
        ),
        update.Models(engine.encoder, engine.fusion, engine.quantizer),
    )


def test_the_next_query_finds_added_items_and_no_removed_ones(run):
    engine = Engine.load(run, "cpu")
    assert not engine.snapshots.reload()
    with pytest.raises(UserError, match="No items were added since training; search in everything"):
        engine.search("A boat.", SearchOptions(added=True))
    add(run, engine, "A zebra on a tree.")
    assert engine.index.n == N and engine.snapshots.reload() and not engine.snapshots.reload()
    for options in (None, SearchOptions(modality=Modality.TEXT)):
        hit = engine.search([Query("A zebra on a tree.")], options)[0].hits[0]
        assert (hit.row, hit.item.text) == (N, "A zebra on a tree.")
    for mode, modality in product(MODES, (None, Modality.TEXT)):
        (hit,) = engine.search(
            "A boat.", SearchOptions(mode=mode, modality=modality, added=True)
        ).hits
        assert hit.row == N
    with pytest.raises(UserError, match="No items of the modality image were added since training"):
        engine.search("A boat.", SearchOptions(modality=Modality.IMAGE, added=True))
    update.remove(run, ["1:0", "0:0"])
    assert engine.snapshots.reload()
    hits = engine.search([Query("A zebra on a tree.")])[0].hits
    assert "1:0" not in [hit.item.id for hit in hits] and engine.index.n == N - 1


def test_a_search_sees_one_version_while_the_index_changes(run):
    engine = Engine.load(run, "cpu")
    done = threading.Event()

    def search():
        while not done.is_set():
            (result,) = engine.search([Query("A red dog.")], SearchOptions(k=50))
            ids = [hit.item.id for hit in result.hits]
            assert len(set(ids)) == len(ids)
            assert [hit.codes[0] for hit in result.hits] == [
                hit.item.modality for hit in result.hits
            ]

    with ThreadPoolExecutor(3) as threads:
        searches = [threads.submit(search) for _ in range(3)]
        try:
            for number in range(4):
                add(run, engine, f"A zebra {number}.", f"A lion {number}.")
                engine.snapshots.reload()
                update.remove(run, [f"0:{number}", f"{number + 1}:0"])
                engine.snapshots.reload()
        finally:
            done.set()
        for one in searches:
            one.result(LIMIT)
    assert engine.index.n == N


def test_inside_a_block_rows_mean_the_same_items(run):
    """Whatever others take up meanwhile; who takes it up inside sees it at once."""
    engine = Engine.load(run, "cpu")
    query = [Query("A red dog.")]
    with engine.snapshots.held():
        before = engine.search(query)[0]
        ids = [item.id for item in engine.index.items(range(N))]
        update.remove(run, ["0:0"])
        other = threading.Thread(target=engine.snapshots.reload)
        other.start()
        other.join(LIMIT)
        again = engine.search(query)[0]
        assert [(hit.row, hit.item) for hit in again.hits] == [
            (hit.row, hit.item) for hit in before.hits
        ]
        assert [item.id for item in engine.index.items(range(N))] == ids
        assert engine.snapshots.current.pool_of(SearchOptions()) is engine.pool
        update.remove(run, ["0:1"])
        assert engine.snapshots.reload() and engine.index.n == N - 2
    assert engine.index.n == N - 2
    assert all(hit.item == engine.index.items([hit.row])[0] for hit in engine.search(query)[0].hits)


def test_what_another_process_adds_is_followed(run):
    engine = Engine.load(run, "cpu")
    engine.follow(every=0.01)
    add(run, engine, "A zebra on a tree.")
    wait_until(lambda: engine.index.n > N)
    assert engine.search([Query("A zebra on a tree.")])[0].hits[0].row == N


def test_an_unreadable_index_is_not_loaded_and_logged_once(run, caplog, monkeypatch):
    engine = Engine.load(run, "cpu")
    add(run, engine, "A zebra on a tree.")
    np.save(Run(run).folder("index") / "modalities.npy", np.zeros(3, np.uint8))
    with pytest.raises(UserError, match="modalities.npy"):
        engine.snapshots.reload()
    assert len(engine.search([Query("A red dog.")])[0].hits) == 10 and engine.index.n == N
    tries = []
    reload = engine.snapshots.reload
    monkeypatch.setattr(engine.snapshots, "reload", lambda: (tries.append(1), reload()))
    engine.follow(every=0.01)
    wait_until(lambda: len(tries) >= 5)
    assert len(caplog.records) == 1 and "was not loaded" in caplog.text


def test_a_pool_that_is_being_collected_delays_only_the_searches_that_need_it(run, monkeypatch):
    engine = Engine.load(run, "cpu")
    started = threading.Event()
    goes_on = threading.Event()
    texts = SearchOptions(modality=Modality.TEXT)
    ready = engine.snapshots.current.pool_of(texts)
    build = Index.pool

    def slow(index: Index, *args: object) -> Pool:
        started.set()
        assert goes_on.wait(LIMIT)
        return build(index, *args)

    monkeypatch.setattr(Index, "pool", slow)
    images = SearchOptions(modality=Modality.IMAGE, order="cosine")
    encoded = engine.encode([Query("A red dog.")])
    with ThreadPoolExecutor(3) as threads:
        try:
            collecting = threads.submit(engine.retrieve, encoded, images)
            assert started.wait(LIMIT)
            assert threads.submit(engine.snapshots.current.pool_of, texts).result(LIMIT) is ready
            for options in (SearchOptions(), SearchOptions(modality=Modality.TEXT)):
                (result,) = threads.submit(engine.search, [Query("A red dog.")], options).result(
                    LIMIT
                )
                assert result.hits
            assert not collecting.done()
        finally:
            goes_on.set()
        assert (
            engine.index.modalities[collecting.result(LIMIT).ranked.rows[0]] == Modality.IMAGE
        ).any()
