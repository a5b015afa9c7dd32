"""Read the folders of a run again: what was added, changed or deleted is so in its collection and its index, too.

The collection is built anew beside the old one, where candidates of the same content keep their ids, and takes its
place; then the index gets the items that it lacks, and loses those that are gone. Nothing is trained. A killed process
repeats what it has not finished.
"""

from collections.abc import Sequence
from pathlib import Path

from genius.collections.building import build, named
from genius.collections.draft import Content
from genius.collections.keys import id_key, key_dataset, key_id
from genius.collections.layout import FILES
from genius.collections.listing import USED, Folder, read_reports
from genius.collections.mbeir import Collection
from genius.files import remove_folder, sha256
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import PART, Index
from genius.run import Run
from training.checkpoint import files_stamp

READ = "read"  # in a manifest: the state of the sources when they were read last
ROWS = 4096  # of the index, read together


def state(sources: Sequence[str]) -> str:
    """Names, sizes and times of all files of the sources, as a checksum."""
    files = []
    for name, source in map(named, sources):
        folder = source if source.is_dir() else source.parent  # of a table
        files += [(f"{name}/{file}", folder / file) for file in sorted(Folder(folder).files)]
    return files_stamp(files)


def renew(run: Run, sources: Sequence[str], root: Path, device: str) -> None:
    """Bring the collection at `root` and the index up to date with the sources, if their files have changed."""
    now = state(sources)
    if run.manifest.get(READ) == now:
        return
    print("the folders have changed since they were read; reading them again", flush=True)
    aside = root.with_name(root.name + ".new")
    remove_folder(aside)
    rows = build(sources, aside, known=_numbers(Collection(root)))
    before, after = _pictures(root), _pictures(aside)
    for row in rows:
        print(row, flush=True)
    remove_folder(old_of(root))
    root.rename(old_of(root))
    aside.rename(root)
    remove_folder(old_of(root))
    _update_index(run, Collection(root), len(sources), device)
    new, gone = after.keys() - before.keys(), before.keys() - after.keys()
    changed = sum(before[file] != after[file] for file in before.keys() & after.keys())
    print(f"pictures: {len(new):,} new, {changed:,} changed, {len(gone):,} gone", flush=True)
    run.record(**{READ: now})


def restore(root: Path) -> None:
    """After a kill between two renamings, give the collection its place again."""
    if not root.exists() and old_of(root).exists():
        old_of(root).rename(root)


def old_of(root: Path) -> Path:
    return root.with_name(root.name + ".old")


def _update_index(run: Run, collection: Collection, datasets: int, device: str) -> None:
    source = ItemSource(collection.all_candidates, collection.image_path)
    added = update.add(run.path, lambda dataset: source, update.Models.load(run.path, device))
    wanted = {id_key(item.id) for item in collection.all_candidates()}
    index = Index.load(Run(run.path).folder(PART))
    ids = (
        item.id for start in range(0, index.n, ROWS) for item in index.items(range(start, min(start + ROWS, index.n)))
    )
    gone = [key for key in map(id_key, ids) if key_dataset(key) < datasets and key not in wanted]
    if gone:
        update.remove(run.path, map(key_id, gone))
    print(
        f"items: {added.new:,} new, {len(gone):,} gone"
        + f", {added.duplicate:,} copies of others" * bool(added.duplicate)
    )


def _numbers(collection: Collection) -> dict[int, dict[Content, int]]:
    """The numbers of a collection's candidates, by dataset and content."""
    known: dict[int, dict[Content, int]] = {}
    for item in collection.all_candidates():
        dataset, _, number = item.id.partition(":")
        digest = None if item.image is None else bytes.fromhex(sha256(collection.image_path(item.image)))
        known.setdefault(int(dataset), {})[item.text, digest] = int(number)
    return known


def _pictures(root: Path) -> dict[tuple[str, ...], str]:
    """(dataset, file) -> checksum of each picture that is in a collection, if it was noted."""
    reports = ((dataset, report) for dataset, report in read_reports(root / FILES) if report.outcome == USED)
    return {(dataset, report.file): report.detail for dataset, report in reports if len(report.detail) == 64}
