"""A change of an index for which the disk has no room: one sentence, and the run stays as it was.

In a process of its own, which a page of a memory map that has no room on disk would kill.
"""

import json
import subprocess
import sys

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

items = [Item(f"7:{number}", Modality.TEXT, f"Text {number}. " + "x" * 2000) for number in range(100)]

def state(run):
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

def limit(run, size):
    # Limit the size of files, as a quota does.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def fill(run, size):
    # Fill the disk, so that there is room for `size` bytes.
    disk = os.statvfs(run)
    with open(run / "ballast", "wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, disk.f_bavail * disk.f_frsize - size)

def make_room(run):
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    (run / "ballast").unlink(missing_ok=True)

def refusals(run, leave):
    models, said = update.Models.load(run, "cpu"), {}
    changes = {
        "remove": lambda: update.remove(run, ["0:1"]),
        "add": lambda: update.add(run, lambda _: ItemSource(lambda: items, Path), models),
        "compact": lambda: update.compact(run),
    }
    for name, change in changes.items():
        before, said[name] = state(run), []
        for size in (0, 8_192, 40_960, 10**5, 2 * 10**5, 4 * 10**5, 10**6, 10**7):
            leave(run, size)
            try:
                change()
                break
            except UserError as error:
                said[name].append(str(error))
                limit(run, resource.RLIM_INFINITY)
                now = state(run)
                assert now == before, (name, [file for file in {*now, *before} if now.get(file) != before.get(file)])
                assert not list(run.glob(".*.*")), name
            finally:
                make_room(run)
    index = Index.load(Run(run).folder("index"))
    assert index.n == 29 + 100 and index.config.segments == (129,) and len(index.items(range(129))) == 129
    return said

print(json.dumps([refusals(Path(run), leave) for run, leave in zip(sys.argv[1:], (limit, fill))]))
"""


@pytest.fixture(scope="module")
def refusals(tmp_path_factory) -> list[dict[str, list[str]]]:
    """What each change said where files may not grow and, if one may be mounted, on a small disk."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", folder]
    mounted = not subprocess.run(mount, capture_output=True, check=False).returncode
    try:
        places = [tmp_path_factory.mktemp("limited"), *[folder] * mounted]
        runs = [publish_tiny_run(place / "run", 30).path for place in places]
        command = [sys.executable, "-c", CHANGES, *runs]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    finally:
        if mounted:
            subprocess.run(["umount", folder], check=True)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-2000:])
    return json.loads(ended.stdout)


@pytest.mark.parametrize("way, words", [(0, ""), (1, "is full")], ids=["files that may not grow", "a full disk"])
def test_without_room_a_change_is_refused_and_the_run_stays_as_it_was(way, words, refusals):
    if way >= len(refusals):
        pytest.skip("mounting a small disk needs rights")
    for name, sentences in refusals[way].items():
        assert sentences and all(words in one and "nothing was changed" in one for one in sentences), (name, sentences)
