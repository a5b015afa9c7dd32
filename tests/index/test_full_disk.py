"""A change of an index for which the disk has no room: one sentence, and the run stays as it was.

In a process of its own, which a page of a memory map that has no room on disk would kill.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.tiny import publish_tiny_run

CHANGES = """
import json, os, resource, sys
from pathlib import Path
from genius.errors import UserError
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import Index
from genius.run import Run
from genius.schema import Item, Modality

run, limited = Path(sys.argv[1]), len(sys.argv) > 2
models = update.Models.load(run, "cpu")
items = [Item(f"7:{number}", Modality.TEXT, f"Text {number}. " + "x" * 2000) for number in range(100)]
CHANGES = {
    "remove": lambda: update.remove(run, ["0:1"]),
    "add": lambda: update.add(run, lambda _: ItemSource(lambda: items, Path), models),
    "compact": lambda: update.compact(run),
}

def state():
    # Without what was encoded for the next try, and the version before the present one, which makes room.
    present = Run(run).folder("index")
    files = [
        file
        for file in run.rglob("*")
        if file.is_file()
        and "adding" not in file.parts
        and (present in file.parents or not file.relative_to(run).parts[0].startswith("index-"))
    ]
    return {str(file): file.read_bytes() for file in files if file.name != "ballast"}

def leave(size):
    # Fill the disk, or limit the size of files, so that there is room for `size` bytes.
    if limited:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        return
    disk = os.statvfs(run)
    with open(run / "ballast", "wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, disk.f_bavail * disk.f_frsize - size)

refusals = {}
for name, change in CHANGES.items():
    before, refusals[name] = state(), []
    for size in (0, 8_192, 40_960, 10**5, 2 * 10**5, 4 * 10**5, 10**6, 10**7):
        leave(size)
        try:
            change()
            break
        except UserError as error:
            refusals[name].append(str(error))
            if limited:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            now = state()
            assert now == before, (name, [file for file in {*now, *before} if now.get(file) != before.get(file)])
            assert not list(run.glob(".tmp-*")), name
        finally:
            (run / "ballast").unlink(missing_ok=True)
            if limited:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
index = Index.load(Run(run).folder("index"))
assert index.n == 29 + 100 and index.config.segments == (129,) and len(index.items(range(129))) == 129
print(json.dumps(refusals))
"""


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", tmp_path], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting a small disk needs rights")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def refusals(*arguments: str | Path) -> dict[str, list[str]]:
    ended = subprocess.run(
        [sys.executable, "-c", CHANGES, *arguments], capture_output=True, text=True, timeout=200, check=False
    )
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-2000:])
    return json.loads(ended.stdout)


def test_a_full_disk_leaves_the_run_as_it_was(small_disk):
    found = refusals(publish_tiny_run(small_disk / "run", 30).path)
    for name, sentences in found.items():
        assert sentences and all("is full" in one and "nothing was changed" in one for one in sentences), (
            name,
            sentences,
        )


def test_files_that_may_not_grow_leave_the_run_as_it_was(tmp_path):
    """As on a disk with a quota, and without rights to mount one."""
    found = refusals(publish_tiny_run(tmp_path / "run", 30).path, "limited")
    for name, sentences in found.items():
        assert sentences and all("nothing was changed" in one for one in sentences), name
