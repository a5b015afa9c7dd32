"""An engine takes up what was added and removed while it searches."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from genius.errors import UserError
from genius.index import update as growing
from genius.index.incoming import Incoming
from genius.run import Run
from genius.schema import Item, Modality, Query, SearchOptions
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run

N = 30


@pytest.fixture
def run(tmp_path) -> Path:
    return publish_tiny_run(tmp_path / "run", N).path


def add(run: Path, engine: Engine, *texts: str) -> None:
    growing.add(
        run,
        lambda dataset: Incoming(
            lambda: [Item(f"{dataset}:{number}", Modality.TEXT, text) for number, text in enumerate(texts)], Path
        ),
        growing.Models(engine.encoder, engine.fusion, engine.quantizer),
    )


def test_the_next_query_finds_what_was_added_and_not_what_was_removed(run):
    engine = Engine.load(run, "cpu")
    assert not engine.reload()
    add(run, engine, "A zebra on a tree.")
    assert engine.index.n == N and engine.reload() and not engine.reload()
    for options in (None, SearchOptions(modality=Modality.TEXT)):
        hit = engine.search([Query("A zebra on a tree.")], options)[0].hits[0]
        assert (hit.row, hit.item.text) == (N, "A zebra on a tree.")
    growing.remove(run, ["1:0", "0:0"])
    assert engine.reload()
    hits = engine.search([Query("A zebra on a tree.")])[0].hits
    assert "1:0" not in [hit.item.id for hit in hits] and engine.index.n == N - 1


def test_a_search_sees_one_version_while_the_index_changes(run):
    engine, errors, done = Engine.load(run, "cpu"), [], threading.Event()

    def search():
        try:
            while not done.is_set():
                (result,) = engine.search([Query("A red dog.")], SearchOptions(k=50))
                ids = [hit.item.id for hit in result.hits]
                assert len(set(ids)) == len(ids) and [hit.codes[0] for hit in result.hits] == [
                    hit.item.modality for hit in result.hits
                ]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(4):
        add(run, engine, f"A zebra {number}.", f"A lion {number}.")
        engine.reload()
        growing.remove(run, [f"0:{number}", f"{number + 1}:0"])
        engine.reload()
    done.set()
    for thread in threads:
        thread.join()
    assert not errors and engine.index.n == N


def test_inside_a_block_rows_mean_the_same_items(run):
    """Whatever others take up meanwhile; who takes it up inside sees it at once."""
    engine, query = Engine.load(run, "cpu"), [Query("A red dog.")]
    with engine.snapshot():
        before, ids = engine.search(query)[0], [item.id for item in engine.index.items(range(N))]
        growing.remove(run, ["0:0"])
        other = threading.Thread(target=engine.reload)
        other.start()
        other.join()
        again = engine.search(query)[0]
        assert [(hit.row, hit.item) for hit in again.hits] == [(hit.row, hit.item) for hit in before.hits]
        assert [item.id for item in engine.index.items(range(N))] == ids and engine.pool_of(None) is engine.pool
        growing.remove(run, ["0:1"])
        assert engine.reload() and engine.index.n == N - 2
    assert engine.index.n == N - 2
    assert all(hit.item == engine.index.items([hit.row])[0] for hit in engine.search(query)[0].hits)


def test_what_another_process_adds_is_followed(run):
    engine = Engine.load(run, "cpu")
    engine.follow(every=0.01)
    add(run, engine, "A zebra on a tree.")
    while engine.index.n == N:
        time.sleep(0.01)
    assert engine.search([Query("A zebra on a tree.")])[0].hits[0].row == N


def test_an_index_that_cannot_be_read_leaves_the_one_at_hand(run, caplog):
    engine = Engine.load(run, "cpu")
    add(run, engine, "A zebra on a tree.")
    np.save(Run(run).folder("index") / "modalities.npy", np.zeros(3, np.uint8))
    with pytest.raises(UserError, match="modalities.npy"):
        engine.reload()
    assert len(engine.search([Query("A red dog.")])[0].hits) == 10 and engine.index.n == N
    engine.follow(every=0.01)
    while not caplog.records:
        time.sleep(0.01)
    for _ in range(5):
        time.sleep(0.01)
    assert len(caplog.records) == 1 and "was not loaded" in caplog.text
