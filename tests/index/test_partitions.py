"""Partitions of a source, made in any order by any number of processes, and joined in one
change.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from genius.index.partitions import RECORD, Share, encode_partition
from genius.index.update import Added, remove
from genius.schema import Item, Modality
from tests.index.changes import WHOLE, N, add_items, add_source, opened, texts, tiny_models
from tests.index.test_update import assert_same
from tests.search.tiny import tiny_items


def source_below(pictures: Path, *more: Item) -> ItemSource:
    """Five items of the run, seventeen others, and some more."""
    items = [*tiny_items(WHOLE, pictures)[N - 5 :], *more]
    return ItemSource(lambda: items, pictures.joinpath)


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> ItemSource:
    return source_below(tmp_path_factory.mktemp("pictures"))


def encode_all(run: Path, source: ItemSource, *order: int, of: int) -> None:
    for number in order:
        encode_partition(run, lambda _: source, tiny_models(), Share(number, of))


def commit(run: Path, source: ItemSource, of: int) -> Added:
    return partitions.commit(run, lambda _: source, of)


def state(run: Path) -> dict:
    """All files of the partitions."""
    return describe(run / "partitions")


@pytest.mark.parametrize("order", [(1,), (3, 1, 2), (5, 4, 3, 2, 1)])
def test_joined_partitions_are_what_one_process_adds(run, trained, tmp_path, order):
    copied = tiny_items(WHOLE, tmp_path)[N + 3]
    copy = replace(copied, id="0:900")
    broken = Item("0:901", Modality.IMAGE, "", "no.png")
    source = source_below(tmp_path, copy, broken)
    encode_all(run, source, *order, of=len(order))
    assert opened(run).n == N
    added = commit(run, source, len(order))
    whole = shutil.copytree(trained / "run", tmp_path / "whole")
    assert added == add_source(whole, source)
    assert str(added) == f"new {WHOLE - N}, skipped 5, duplicate 1, unreadable 1"
    assert_same(opened(run), opened(trained / "whole"), list(range(WHOLE)))
    assert opened(run).config == opened(whole).config
    assert np.array_equal(opened(run).distances, opened(whole).distances)
    assert not list((run / "partitions").iterdir())


def test_done_is_done_and_made_anew_it_is_the_same_byte_for_byte(run, source, monkeypatch):
    encode_all(run, source, 2, of=3)
    before = state(run)
    with monkeypatch.context() as context:
        context.setattr(partitions, "encode", None)
        encode_all(run, source, 2, of=3)
    shutil.rmtree(run / "partitions")
    encode_all(run, source, 2, of=3)
    assert state(run) == before and before


class KilledError(BaseException):
    """Nothing of the program handles it, as nothing handles a kill."""


@pytest.fixture
def killed_at(monkeypatch):
    """Kill what is done inside the block at a step."""

    def kill(*given, **named):
        raise KilledError

    @contextmanager
    def killed(step: str) -> Iterator[None]:
        with monkeypatch.context() as context, pytest.raises(KilledError):
            context.setattr(partitions, step, kill)
            yield

    return killed


@pytest.mark.parametrize(
    "step", ["find_new_items", "encode", "write_index", "describe", "fsync", "write_json"]
)
def test_a_partition_that_is_killed_is_not_there_and_can_be_repeated(run, source, killed_at, step):
    encode_all(run, source, 1, of=2)
    done = state(run)
    with killed_at(step):
        encode_all(run, source, 2, of=2)
    assert state(run) == done
    with pytest.raises(UserError, match="partition 2/2 of this source is not there, so none was"):
        commit(run, source, 2)
    assert opened(run).n == N
    encode_all(run, source, 2, of=2)
    assert commit(run, source, 2).new == WHOLE - N


def encode_here(run: Path, pictures: Path, started, kill: bool) -> None:
    """In a process of its own, which ends in the middle if `kill`."""
    if kill:
        partitions.fsync = lambda file: os._exit(9)
    started.wait()
    encode_all(run, source_below(pictures), 1, of=2)


def in_processes(run: Path, tmp_path: Path, kills: list[bool]) -> list[int | None]:
    """Exit statuses of processes that make the same partition at once."""
    context = get_context("spawn")
    started = context.Barrier(len(kills))
    processes = []
    for number, kill in enumerate(kills):
        pictures = tmp_path / f"host-{len(kills)}-{number}"
        pictures.mkdir()
        processes.append(context.Process(target=encode_here, args=(run, pictures, started, kill)))
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def test_killed_and_twice_at_once_give_the_same_bytes(run, source, tmp_path):
    encode_all(run, source, 1, of=2)
    expected = state(run)
    shutil.rmtree(run / "partitions")
    assert in_processes(run, tmp_path, [True]) == [9]
    assert list((run / "partitions").glob(".*")) and not list((run / "partitions").glob("[!.]*"))
    assert in_processes(run, tmp_path, [False, False]) == [0, 0]
    assert state(run) == expected


def test_a_second_process_that_ends_first_wins_and_nothing_is_left(run, source, monkeypatch):
    write = partitions.write_json

    def overtaken(*given):
        write(*given)
        monkeypatch.setattr(partitions, "write_json", write)
        encode_all(run, source, 1, of=2)

    monkeypatch.setattr(partitions, "write_json", overtaken)
    encode_all(run, source, 1, of=2)
    assert len(list((run / "partitions").iterdir())) == 1
    encode_all(run, source, 2, of=2)
    assert commit(run, source, 2).new == WHOLE - N


@pytest.mark.parametrize("lose", [Path.unlink, partial(os.truncate, length=9)])
def test_half_a_folder_that_a_disk_left_is_made_again(run, source, lose):
    encode_all(run, source, 1, of=2)
    (folder,) = (run / "partitions").iterdir()
    expected = state(run)
    lose(folder / "embeddings.npy")
    encode_all(run, source, 1, of=2)
    assert state(run) == expected


def test_what_the_index_got_meanwhile_is_not_added_twice(run, source):
    encode_all(run, source, 1, 2, of=2)
    add_items(run, source.items()[7:10], source.image_path(""))
    added = commit(run, source, 2)
    assert (added.new, added.skipped) == (WHOLE - N - 3, 8) and opened(run).n == WHOLE
    assert len({item.id for item in opened(run).items(range(WHOLE))}) == WHOLE


def test_a_commit_that_is_killed_leaves_the_run_or_has_changed_it(run, source, killed_at):
    encode_all(run, source, 1, 2, of=2)
    before = state(run)
    for step in ("merge_segments", "write_snapshot"):
        with killed_at(step):
            commit(run, source, 2)
        assert opened(run).n == N and state(run) == before
    with killed_at("remove_folder"):  # before the partitions are deleted
        commit(run, source, 2)
    added = commit(run, source, 2)
    assert (added.new, added.skipped) == (0, WHOLE - N + 5) and opened(run).n == WHOLE


def test_a_changed_source_has_other_partitions(run, source):
    encode_all(run, source, 1, 2, of=2)
    changed = ItemSource(lambda: [*source.items(), *texts("0:777")], source.image_path)
    with pytest.raises(UserError, match="partition 2/2 of this source is not there"):
        commit(run, changed, 2)


def test_a_damaged_partition_is_refused_by_name(run, source):
    encode_all(run, source, 1, of=1)
    (folder,) = (run / "partitions").iterdir()
    with (folder / "embeddings.npy").open("r+b") as stream:
        stream.seek(-2, 2)
        stream.write(b"\1\1")
    with pytest.raises(UserError, match=r"1-of-1-\w+ is damaged, so none was added; delete it"):
        commit(run, source, 1)
    (folder / RECORD).write_text("{}")
    with pytest.raises(UserError, match="does not describe a partition"):
        commit(run, source, 1)


def test_a_removed_item_is_in_no_partition(run, source):
    item = source.items()[7]
    encode_all(run, source, 1, 2, of=2)
    databases = list((run / "partitions").rglob("items.sqlite"))
    (holder,) = (file for file in databases if item.id.encode() in file.read_bytes())
    add_items(run, [item], source.image_path(""))
    remove(run, [item.id])
    assert not holder.exists() and len(list((run / "partitions").iterdir())) == 1


def test_an_id_that_comes_twice_is_refused(run, source):
    twice = ItemSource(lambda: [*source.items(), source.items()[6]], source.image_path)
    encode_all(run, twice, 1, 2, of=2)
    with pytest.raises(UserError, match="the source has two items with id '0:13'; rename or remov"):
        commit(run, twice, 2)
    assert opened(run).n == N


def test_pictures_of_a_folder_that_is_not_mounted_are_no_partition(run, tmp_path):
    items = [Item(f"7:{number}", Modality.IMAGE, "", f"{number}.png") for number in range(25)]
    with pytest.raises(UserError, match=r"none of 25 pictures can be read, e\.g\. .*\d+\.png"):
        encode_all(run, ItemSource(lambda: items, tmp_path.joinpath), 1, of=1)
    assert not state(run)


def test_a_full_disk_is_one_sentence_and_leaves_nothing(run, source, monkeypatch):
    def full(*given, **named):
        raise OSError(errno.ENOSPC, "No space left on device", str(run / "partitions"))

    monkeypatch.setattr(partitions, "write_index", full)
    with pytest.raises(
        UserError, match="the disk of .* is full .*; partition 1/2 is not done; make it again"
    ):
        encode_all(run, source, 1, of=2)
    assert not state(run)


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/999"])
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
    command = [str(run), "add", str(folder)]
    for number in (3, 1, 2):
        assert main([*command, "--partition", f"{number}/3", "--device", "cpu"]) == 0
    assert opened(run).n == N
    capsys.readouterr()
    assert main([*command, "--commit", "3"]) == 0
    assert "skipped 0" in capsys.readouterr().out and opened(run).n > N
    with pytest.raises(SystemExit):
        main([*command, "--commit", "3", "--replace"])
    assert "replace items in one process" in capsys.readouterr().err
