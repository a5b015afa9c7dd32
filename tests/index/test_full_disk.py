"""A change of an index for which the disk has no room: one sentence, and the run stays as it was.

In a process of its own, which a page of a memory map that has no room on disk would kill.
"""

import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from genius.errors import UserError
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item, Modality
from tests.search.tiny import publish_tiny_run
from tests.waiting import forked

ITEMS = [
    Item(f"7:{number}", Modality.TEXT, f"Text {number}. " + "x" * 2000) for number in range(100)
]
ROOM = (0, 8_192, 40_960, 10**5, 2 * 10**5, 4 * 10**5, 10**6, 10**7)  # bytes


def limit(run: Path, size: int) -> None:
    """Let no file be larger, as a quota does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def fill(run: Path, size: int) -> None:
    """Fill the disk, so that there is room for `size` bytes."""
    disk = os.statvfs(run)
    with (run / "ballast").open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, disk.f_bavail * disk.f_frsize - size)


def state(run: Path) -> dict[Path, bytes]:
    """Without what was encoded for the next try, and the version before the present one, which
    makes room.
    """
    present = Run(run).folder("index")
    found = {}
    for file in run.rglob("*"):
        older = file.relative_to(run).parts[0].startswith("index-") and present not in file.parents
        if file.is_file() and not older and "adding" not in file.parts and file.name != "ballast":
            found[file] = file.read_bytes()
    return found


def change_without_room(run: Path, leave: Callable[[Path, int], None], words: str) -> None:
    """Change an index with more and more room, until there is enough."""
    torch.set_num_threads(1)  # a forked process has no other threads
    models = update.Models.load(run, "cpu")
    for change in (
        lambda: update.remove(run, ["0:1"]),
        lambda: update.add(run, lambda _: ItemSource(lambda: ITEMS, Path), models),
        lambda: update.compact(run),
    ):
        before = state(run)
        said = []
        for size in ROOM:
            leave(run, size)
            try:
                change()
                break
            except UserError as error:
                said.append(str(error))
                limit(run, resource.RLIM_INFINITY)
                assert state(run) == before and not list(run.glob(".*.*"))
            finally:
                limit(run, resource.RLIM_INFINITY)
                (run / "ballast").unlink(missing_ok=True)
        assert said and all(
            words in sentence and "nothing was changed" in sentence for sentence in said
        ), said
    index = Index.load(Run(run).folder("index"))
    assert index.config.segments == (129,) and len(index.items(range(129))) == 129


@pytest.mark.parametrize(
    "leave, words", [(limit, ""), (fill, "is full")], ids=["files that may not grow", "full disk"]
)
def test_without_room_a_change_is_refused_and_the_run_stays_as_it_was(leave, words, tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", tmp_path]
    if leave is fill and subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs rights")
    try:
        run = publish_tiny_run(tmp_path / "run", 30).path
        assert forked(change_without_room, run, leave, words) == 0
    finally:
        if leave is fill:
            subprocess.run(["umount", tmp_path], check=True)
