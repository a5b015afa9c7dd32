"""Partitions of a source, made in any order by any number of processes, and joined in one
change.
"""

import errno
import os
import shutil
from collections import Counter
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from genius.errors import UserError
from genius.files import describe
from genius.index import partitions
from genius.index.__main__ import main
from genius.index.item_source import ItemSource
from genius.index.partitions import RECORD, Share, commit, encode_partition
from genius.index.store import Index
from genius.index.update import Added, Models, add, remove
from genius.run import Run
from genius.schema import Item, Modality
from tests.index.test_update import assert_same
from tests.search.tiny import (
    publish_tiny_run,
    tiny_encoder,
    tiny_fusion,
    tiny_items,
    tiny_quantizer,
)

N, WHOLE = 24, 41


@pytest.fixture(scope="module")
def models() -> Models:
    return Models(tiny_encoder(), tiny_fusion(), tiny_quantizer())


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return publish_tiny_run(tmp_path_factory.mktemp("runs") / "run", N, fused=True).path


@pytest.fixture
def run(trained, tmp_path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> ItemSource:
    """Items of the run, and seventeen others."""
    pictures = tmp_path_factory.mktemp("pictures")
    items = tiny_items(WHOLE, pictures)[N - 5 :]
    return ItemSource(lambda: items, pictures.joinpath)


def with_items(source: ItemSource, *more: Item) -> ItemSource:
    items = [*source.items(), *more]
    return ItemSource(lambda: items, source.image_path)


def opened(run: Path) -> Index:
    return Index.load(Run(run).folder("index"))


def encode_all(run: Path, source: ItemSource, models: Models, *order: int, of: int) -> None:
    for number in order:
        encode_partition(run, lambda _: source, models, Share(number, of))


def state(run: Path) -> dict:
    """All files of the partitions."""
    return describe(run / "partitions")


@pytest.mark.parametrize("order", [(1,), (2, 1), (3, 1, 2), (5, 4, 3, 2, 1)])
def test_joined_partitions_are_what_one_process_adds(run, source, models, trained, tmp_path, order):
    encode_all(run, source, models, *order, of=len(order))
    assert opened(run).n == N
    added = commit(run, lambda _: source, len(order))
    whole = shutil.copytree(trained, tmp_path / "whole")
    assert (
        added == add(whole, lambda _: source, models)
        and added.new == WHOLE - N
        and added.skipped == 5
    )
    assert_same(opened(run), opened(whole), list(range(WHOLE)))
    assert opened(run).config == opened(whole).config
    assert not list((run / "partitions").iterdir())


def test_copies_and_unreadable_pictures_are_counted_as_one_process_does(
    run, source, models, trained, tmp_path
):
    first = source.items()[8]
    copy = Item("0:900", first.modality, first.text, first.image)
    broken = Item("0:901", Modality.IMAGE, "", "no.png")
    changed = with_items(source, copy, broken)
    encode_all(run, changed, models, 1, 2, 3, of=3)
    whole = shutil.copytree(trained, tmp_path / "whole")
    added = commit(run, lambda _: changed, 3)
    assert added == add(whole, lambda _: changed, models)
    assert (added.duplicate, added.unreadable) == (1, 1)
    assert_same(opened(run), opened(whole), list(range(opened(whole).n)))


def test_done_is_done_and_made_anew_it_is_the_same_byte_for_byte(run, source, models, monkeypatch):
    encode_all(run, source, models, 2, of=3)
    before = state(run)
    with monkeypatch.context() as context:
        context.setattr(partitions, "encode", None)
        encode_all(run, source, models, 2, of=3)
    shutil.rmtree(run / "partitions")
    encode_all(run, source, models, 2, of=3)
    assert state(run) == before and before


class KilledError(BaseException):
    """Nothing of the program handles it, as nothing handles a kill."""


@pytest.mark.parametrize(
    "step", ["find_new_items", "encode", "write_index", "describe", "fsync", "write_json"]
)
def test_a_partition_that_is_killed_is_not_there_and_can_be_repeated(
    run, source, models, monkeypatch, step
):
    encode_all(run, source, models, 1, of=2)
    done = state(run)

    def kill(*given, **named):
        raise KilledError

    with monkeypatch.context() as context, pytest.raises(KilledError):
        context.setattr(partitions, step, kill)
        encode_all(run, source, models, 2, of=2)
    assert state(run) == done
    with pytest.raises(
        UserError, match="partition 2/2 of this source is not there, so none was added"
    ):
        commit(run, lambda _: source, 2)
    assert opened(run).n == N
    encode_all(run, source, models, 2, of=2)
    assert commit(run, lambda _: source, 2).new == WHOLE - N


def encode_here(run: Path, pictures: Path, started, kill: bool) -> None:
    """In a process of its own, which ends in the middle if `kill`."""
    items = tiny_items(WHOLE, pictures)[N - 5 :]
    source = ItemSource(lambda: items, pictures.joinpath)
    if kill:
        partitions.fsync = lambda file: os._exit(9)
    started.wait()
    encode_all(run, source, Models(tiny_encoder(), tiny_fusion(), tiny_quantizer()), 1, of=2)


def in_processes(run: Path, tmp_path: Path, kills: list[bool]) -> list[int | None]:
    """Exit statuses of processes that make the same partition at once."""
    context = get_context("spawn")
    started = context.Barrier(len(kills))
    processes = []
    for number, kill in enumerate(kills):
        pictures = tmp_path / f"host-{number}"
        pictures.mkdir()
        processes.append(context.Process(target=encode_here, args=(run, pictures, started, kill)))
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def test_killed_and_twice_at_once_give_the_same_bytes(run, source, models, tmp_path):
    encode_all(run, source, models, 1, of=2)
    expected = state(run)
    shutil.rmtree(run / "partitions")
    assert in_processes(run, tmp_path, [True]) == [9]
    assert list((run / "partitions").glob(".*")) and not list((run / "partitions").glob("[!.]*"))
    second = tmp_path / "second"
    second.mkdir()
    assert in_processes(run, second, [False, False]) == [0, 0]
    assert state(run) == expected


def test_a_second_process_that_ends_first_wins_and_nothing_is_left(
    run, source, models, monkeypatch
):
    write = partitions.write_json

    def overtaken(*given):
        write(*given)
        monkeypatch.setattr(partitions, "write_json", write)
        encode_all(run, source, models, 1, of=2)

    monkeypatch.setattr(partitions, "write_json", overtaken)
    encode_all(run, source, models, 1, of=2)
    assert len(list((run / "partitions").iterdir())) == 1
    encode_all(run, source, models, 2, of=2)
    assert commit(run, lambda _: source, 2).new == WHOLE - N


@pytest.mark.parametrize("lose", [Path.unlink, partial(os.truncate, length=9)])
def test_half_a_folder_that_a_disk_left_is_made_again(run, source, models, lose):
    encode_all(run, source, models, 1, of=2)
    (folder,) = (run / "partitions").iterdir()
    expected = state(run)
    lose(folder / "embeddings.npy")
    encode_all(run, source, models, 1, of=2)
    assert state(run) == expected


def test_what_the_index_got_meanwhile_is_not_added_twice(run, source, models):
    encode_all(run, source, models, 1, 2, of=2)
    add(
        run,
        lambda _: with_items(ItemSource(lambda: [], source.image_path), *source.items()[7:10]),
        models,
    )
    added = commit(run, lambda _: source, 2)
    assert (added.new, added.skipped) == (WHOLE - N - 3, 8) and opened(run).n == WHOLE
    ids = Counter(item.id for item in opened(run).items(range(WHOLE)))
    assert set(ids.values()) == {1}


def test_a_commit_that_is_killed_leaves_the_run_or_has_changed_it(run, source, models, monkeypatch):
    encode_all(run, source, models, 1, 2, of=2)
    before = state(run)
    for step in ("merge_segments", "extend"):
        with monkeypatch.context() as context, pytest.raises(KilledError):
            context.setattr(partitions, step, lambda *given: (_ for _ in ()).throw(KilledError))
            commit(run, lambda _: source, 2)
        assert opened(run).n == N and state(run) == before
    # before the partitions are deleted
    with monkeypatch.context() as context, pytest.raises(KilledError):
        context.setattr(
            partitions, "remove_folder", lambda *given: (_ for _ in ()).throw(KilledError)
        )
        commit(run, lambda _: source, 2)
    added = commit(run, lambda _: source, 2)
    assert (added.new, added.skipped) == (0, WHOLE - N + 5) and opened(run).n == WHOLE


def test_a_changed_source_has_other_partitions(run, source, models):
    encode_all(run, source, models, 1, 2, of=2)
    changed = with_items(source, Item("0:777", Modality.TEXT, "A new text.", None))
    with pytest.raises(UserError, match="partition 2/2 of this source is not there"):
        commit(run, lambda _: changed, 2)


def test_a_damaged_partition_is_refused_by_name(run, source, models):
    encode_all(run, source, models, 1, of=1)
    (folder,) = (run / "partitions").iterdir()
    with (folder / "embeddings.npy").open("r+b") as stream:
        stream.seek(-2, 2)
        stream.write(b"\1\1")
    with pytest.raises(UserError, match=r"1-of-1-\w+ is damaged, so none was added; delete it"):
        commit(run, lambda _: source, 1)
    (folder / RECORD).write_text("{}")
    with pytest.raises(UserError, match="does not describe a partition"):
        commit(run, lambda _: source, 1)


def test_a_removed_item_is_in_no_partition(run, source, models):
    item = source.items()[7]
    encode_all(run, source, models, 1, 2, of=2)
    holders = [
        file
        for file in (run / "partitions").rglob("items.sqlite")
        if item.id.encode() in file.read_bytes()
    ]
    add(run, lambda _: ItemSource(lambda: [item], source.image_path), models)
    remove(run, [item.id])
    assert len(holders) == 1 and not holders[0].exists()
    assert len(list((run / "partitions").iterdir())) == 1


def test_an_id_that_comes_twice_is_refused(run, source, models):
    twice = with_items(source, source.items()[6])
    encode_all(run, twice, models, 1, 2, of=2)
    with pytest.raises(
        UserError, match="the source has two items with id '0:25'; rename or remove one"
    ):
        commit(run, lambda _: twice, 2)
    assert opened(run).n == N


def test_pictures_of_a_folder_that_is_not_mounted_are_no_partition(run, models, tmp_path):
    items = [Item(f"7:{number}", Modality.IMAGE, "", f"{number}.png") for number in range(25)]
    missing = ItemSource(lambda: items, tmp_path.joinpath)
    with pytest.raises(UserError, match=r"none of 25 pictures can be read, e\.g\. .*\d+\.png"):
        encode_all(run, missing, models, 1, of=1)
    assert not state(run)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(run, source, models, monkeypatch):
    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device", str(run / "partitions"))

    monkeypatch.setattr(partitions, "write_index", full)
    with pytest.raises(
        UserError, match="the disk of .* is full .*; partition 1/2 is not done; make it again"
    ):
        encode_all(run, source, models, 1, of=2)
    assert not state(run)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "a/b", "1/999"])
def test_a_part_that_cannot_be_is_refused(text):
    with pytest.raises(UserError, match="expected a part such as 2/9"):
        Share.parse(text)


def test_parts_have_every_item_once():
    for items in (0, 1, 7, 100):
        for of in (1, 3, 8):
            bounds = [Share(number, of).bounds(items) for number in range(1, of + 1)]
            assert [row for begin, end in bounds for row in range(begin, end)] == list(range(items))
            sizes = [end - begin for begin, end in bounds]
            assert max(sizes) - min(sizes) <= 1


def test_the_command_makes_partitions_and_joins_them(run, tmp_path, capsys):
    folder = tmp_path / "photos"
    folder.mkdir()
    tiny_items(12, folder)
    parts = [
        main([str(run), "add", str(folder), "--partition", f"{i}/3", "--device", "cpu"])
        for i in (3, 1, 2)
    ]
    assert parts == [0, 0, 0] and opened(run).n == N
    capsys.readouterr()
    assert main([str(run), "add", str(folder), "--commit", "3"]) == 0
    assert "skipped 0" in capsys.readouterr().out and opened(run).n > N
    with pytest.raises(SystemExit):
        main([str(run), "add", str(folder), "--commit", "3", "--replace"])
    assert "replace items in one process" in capsys.readouterr().err


def test_norms_of_joined_items_are_known(run, source, models):
    encode_all(run, source, models, 1, 2, of=2)
    commit(run, lambda _: source, 2)
    assert not np.isnan(opened(run).distances).any()
    assert Added(1, 0, 0, 0, (), ()).items == 1
