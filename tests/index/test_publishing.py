"""Snapshots of an index: readers keep theirs, whatever happens to the next one.

Changes for which the disk has no room are made in a process of their own, which a page of a memory
map that has no room on disk would kill.
"""

import resource
import shutil
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from genius import run as run_module
from genius.errors import UserError
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import load_newer_index
from genius.run import Run
from genius.schema import Item, Modality
from tests.index.changes import N, add_items, opened, texts, tiny_models
from tests.waiting import forked


def publish_broken(run: Path, part: str, *built_from: str) -> None:
    Run(run).publish(
        part, lambda folder: (folder / "config.json").write_text(uuid.uuid4().hex), built_from
    )


def folders(run: Path) -> set[str]:
    return {folder.name for folder in run.glob("index-*")}


def test_a_version_is_deleted_when_nobody_reads_it_any_more(run):
    first = opened(run)
    for number in range(3):
        add_items(run, texts(f"7:{number}"))
    assert folders(run) == {first.folder.name, Run(run).folder("index").name}
    assert first.items([0])[0].id == "0:0"
    del first
    add_items(run, texts("7:9"))
    assert len(folders(run)) == 1 and not list(run.glob(".*.*"))


def test_an_index_that_is_being_read_survives_training(run):
    """Every thread of a server, also one that first asks later, reads what it opened."""
    index = opened(run)
    expected = index.items(range(N))
    publish_broken(run, "index", "quantizer")
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(index.items, range(N)).result(60) == expected
        assert thread.submit(index.thumbnail, 0).result(60)
    old = index.folder
    del index
    publish_broken(run, "index", "quantizer")
    assert not old.exists() and len(folders(run)) == 1


def test_items_are_not_added_to_a_run_that_is_trained_meanwhile(run):
    """Nothing is lost: neither the new part nor, for the next try, what was encoded."""

    def read(_: int) -> ItemSource:
        publish_broken(run, "fusion", "encoder")
        return ItemSource(lambda: texts("7:1"), Path)

    index = opened(run)
    with pytest.raises(UserError, match="another process has published a new fusion"):
        update.add(run, read, tiny_models())
    assert folders(run) == {index.folder.name} and Run(run).manifest["parts"]["fusion"][
        "files"
    ].keys() == {"config.json"}


def test_a_change_of_the_models_is_not_taken_up(run):
    served, index = Run(run), opened(run)
    add_items(run, texts("7:0"))
    publish_broken(run, "fusion", "encoder")
    assert load_newer_index(served, index) is None


def test_a_damaged_version_is_an_error_by_name(run):
    served, index = Run(run), opened(run)
    add_items(run, texts("7:0"))
    folder = Run(run).folder("index")
    (folder / "config.json").write_text("{}")
    with pytest.raises(UserError, match="config.json is not the file"):
        load_newer_index(served, index)


def change_twice_before(monkeypatch, function: str, run: Path) -> None:
    """Before the first call of a function, remove items twice: the second time deletes a version
    without a reader.
    """
    called = getattr(run_module, function)
    before = [["0:1"], ["0:2"]]

    def late(path: Path) -> object:
        changes, before[:] = before[:], []
        for ids in changes:
            update.remove(run, ids)
        return called(path)

    monkeypatch.setattr(run_module, function, late)


@pytest.mark.parametrize("served_before", [False, True])
def test_an_index_that_is_replaced_twice_while_its_files_are_checked_is_read_all_the_same(
    run, monkeypatch, served_before
):
    served = Run(run)
    index = opened(run) if served_before else None
    update.remove(run, ["0:0"])
    change_twice_before(monkeypatch, "sha256", run)
    found = load_newer_index(served, index)
    assert found.items(range(found.n))[0].id == "0:1" and len(folders(run)) == 2 + served_before
    assert load_newer_index(served, found).n == N - 3


def test_a_version_that_vanishes_before_it_is_locked_is_looked_up_again(run, monkeypatch):
    served = Run(run)
    change_twice_before(monkeypatch, "ReadLock", run)
    assert load_newer_index(served).n == N - 2


def test_readers_see_whole_versions_while_the_index_changes(run):
    """Every version that a reader takes up holds what it says, whatever is written meanwhile."""
    served = Run(run)
    seen = set()
    done = threading.Event()

    def read():
        # also if it begins late, when the version that `served` names is gone
        index = load_newer_index(served)
        while not done.is_set():
            items = index.items(range(index.n))
            assert index.rows_of(item.id for item in items).tolist() == list(range(index.n))
            modalities = [item.modality for item in items]
            assert (
                modalities
                == index.modalities.tolist()
                == index.codes(range(index.n))[:, 0].tolist()
            )
            assert sorted(index.pool().table.rows.tolist()) == list(range(index.n))
            assert np.allclose(
                np.linalg.norm(index.embeddings[:].astype(np.float32), axis=1), 1, atol=1e-2
            )
            seen.add(index.folder.name)
            index = load_newer_index(served, index) or index

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read) for _ in range(3)]
        try:
            for number in range(0, 12, 3):
                add_items(run, texts(*(f"7:{number + i}" for i in range(3))))
                update.remove(run, [f"7:{number}", f"0:{number}"])
            update.compact(run)
        finally:
            done.set()
        for one in readers:
            one.result(60)
    assert seen
    assert opened(run).n == N - 4 + 8


def test_where_files_cannot_be_linked_they_are_copied(run, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("os.link", refuse)
    before = opened(run)
    add_items(run, texts("7:0", "7:1"))
    now = opened(run)
    assert now.n == N + 2 and now.items(range(N)) == before.items(range(N))


def test_a_run_that_was_copied_before_it_grew_is_untouched(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    add_items(run, texts("7:0", "7:1"))
    assert opened(copy).n == N


ITEMS = [Item(f"7:{n}", Modality.TEXT, f"Text {n}. " + "x" * 2000) for n in range(100)]
ROOM = (0, 8_192, 40_960, 10**5, 2 * 10**5, 4 * 10**5, 10**6, 10**7)  # bytes


def state(run: Path) -> dict[Path, bytes]:
    """Without what was encoded for the next try, and the snapshot before the present one."""
    present = Run(run).folder("index")
    files = (file for file in run.rglob("*") if file.is_file() and "adding" not in file.parts)
    return {
        file: file.read_bytes()
        for file in files
        if present in file.parents or not file.relative_to(run).parts[0].startswith("index-")
    }


def change_without_room(run: Path) -> None:
    """Change an index while no file may be larger, as under a quota; with more and more room, until
    there is enough.
    """
    torch.set_num_threads(1)  # a forked process has no other threads
    for change in (
        lambda: update.remove(run, ["0:1"]),
        lambda: add_items(run, ITEMS),
        lambda: update.compact(run),
    ):
        before, said = state(run), []
        for size in ROOM:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            try:
                change()
                break
            except UserError as error:
                said.append(str(error))
                assert state(run) == before and not list(run.glob(".*.*"))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert said and all("nothing was changed" in sentence for sentence in said), said
    index = opened(run)
    assert index.config.segments == (N + 99,) and len(index.items(range(N + 99))) == N + 99


def test_without_room_a_change_is_refused_and_the_run_stays_as_it_was(run):
    assert forked(change_without_room, run) == 0
