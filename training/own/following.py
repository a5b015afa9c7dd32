"""A run follows the folders that it was made from: what was added, changed or deleted there is so
in the run, too, without training.

The collection is built anew beside the old one, where candidates of the same content keep their
ids, and takes its place. The index gets the items that it lacks, and loses those that are gone.
What was removed from the run by hand stays removed, though its file is still there.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from genius.collections.building import build, named
from genius.collections.draft import Content
from genius.collections.keys import id_key, key_dataset, key_id
from genius.collections.layout import FILES
from genius.collections.listing import UNREADABLE, USED, Folder, read_reports
from genius.collections.mbeir import Collection
from genius.collections.removal import erase_removed
from genius.errors import UserError
from genius.files import disk_errors_explained, remove_folder, sha256
from genius.index import update
from genius.index.item_source import ItemSource
from genius.index.store import PART, Index
from genius.locks import write_lock
from genius.reading import one_line
from genius.run import Run
from training.checkpoint import files_stamp
from training.own.vectors import READ
from training.stage import RESUME

ROWS = 4096  # of the index, read together
EVERY, REST = 3.0, 60.0  # seconds between two looks at watched folders; of rest after an error


@dataclass(frozen=True)
class Followed:
    """The folders of a run, and the collection that was built from them."""

    run: Path
    sources: Sequence[str]
    collection: Path
    keep_versions: bool  # see `genius.collections.building.build`
    device: str

    @cached_property
    def models(self) -> update.Models:
        """Those of the run, loaded when they are first needed."""
        return update.Models.load(self.run, self.device)

    def state(self) -> str:
        """Names, sizes and times of all files of the sources, as a checksum; and whether versions
        are kept.
        """
        files = []
        for name, source in map(named, self.sources):
            folder = source.parent if source.is_file() else source  # a file is a table
            files += [(f"{name}/{file}", folder / file) for file in sorted(Folder(folder).files)]
        return files_stamp(files) + " with versions" * self.keep_versions

    def watch(self) -> None:
        """Take in what changes in the sources, until this process is stopped; one line for each
        change, or error.

        A change counts once the files have stayed as they are for EVERY seconds: they may be copied
        slowly.
        """
        print(f"watching {', '.join(self.sources)}; Ctrl+C ends it", flush=True)
        seen, rest = "", 0.0  # rest: until when nothing is tried again, after an error
        while True:
            time.sleep(EVERY)
            try:
                before = seen
                seen = self.state()
                if seen != before:
                    rest = 0.0
                elif time.monotonic() >= rest:
                    for line in [*self.renew()][-1:]:
                        print(f"{time.strftime('%X')} {line}", flush=True)
            except Exception as error:  # whatever it was: the next change may end it
                sentence = (
                    str(error)
                    if isinstance(error, UserError)
                    else f"{type(error).__name__}: {one_line(error)}"
                )
                print(f"{time.strftime('%X')} error: {sentence}", flush=True)
                rest = time.monotonic() + REST

    def renew(self) -> Iterator[str]:
        """Bring the collection and the index up to date with the sources, if their files have
        changed.

        Yields what to print; the last line says what has changed.
        """
        run, root = Run(self.run), self.collection
        now = self.state()
        if run.manifest.get(READ) == now:
            return
        # another process may be watching
        with disk_errors_explained(self.run, RESUME), write_lock(root.parent):
            yield "the folders have changed since they were read; reading them again"
            aside = root.with_name(root.name + ".new")
            remove_folder(aside)
            known = _numbers(Collection(root))
            rows = build(self.sources, aside, known=known, keep_versions=self.keep_versions)
            before = _pictures(root)
            yield from map(str, rows)
            with write_lock(self.run):  # nothing is removed between these lines
                again = erase_removed(aside)
                after = _pictures(aside)
                remove_folder(self._old)
                root.rename(self._old)
                aside.rename(root)
            remove_folder(self._old)
            if again:
                yield f"{again:,} removed from the run before, so left out"
            items = self._update_index()
            new = after.keys() - before.keys()
            gone = before.keys() - after.keys()
            changed = sum(before[file] != after[file] for file in before.keys() & after.keys())
            run.record(**{READ: now})
            reports = read_reports(root / FILES)
            unreadable = sum(report.outcome == UNREADABLE for _, report in reports)
            said = f"{items}; pictures: {len(new):,} new, {changed:,} changed, {len(gone):,} gone"
            yield f"{said}, {unreadable:,} unreadable" if unreadable else said

    @property
    def _old(self) -> Path:
        """Where the collection is while another takes its place."""
        return self.collection.with_name(self.collection.name + ".old")

    def restore(self) -> None:
        """After a kill between two renamings, give the collection its place again."""
        if self._old.exists():
            with write_lock(self.collection.parent):  # else another process is between them
                if not self.collection.exists():
                    self._old.rename(self.collection)

    def _update_index(self) -> str:
        collection = Collection(self.collection)
        source = ItemSource(collection.all_candidates, collection.image_path)
        added = update.add(self.run, lambda dataset: source, self.models)
        wanted = {id_key(item.id) for item in collection.all_candidates()}
        gone = [
            key
            for key in map(id_key, _ids(self.run))
            if key_dataset(key) < len(self.sources) and key not in wanted
        ]
        if gone:
            update.remove(self.run, map(key_id, gone))
        told = update.write_descriptions(self.run, collection.all_candidates())
        copies = f", {told:,} described anew" if told else ""
        copies += f", {added.duplicate:,} copies of others" if added.duplicate else ""
        return f"items: {added.new:,} new, {len(gone):,} gone{copies}"


def _ids(run: Path) -> Iterator[str]:
    """The ids of the index, which is let go at the end."""
    index = Index.load(Run(run).folder(PART))
    for start in range(0, index.n, ROWS):
        yield from (item.id for item in index.items(range(start, min(start + ROWS, index.n))))


def _numbers(collection: Collection) -> dict[int, dict[Content, int]]:
    """The numbers of a collection's candidates, by dataset and content."""
    known: dict[int, dict[Content, int]] = {}
    for item in collection.all_candidates():
        dataset, _, number = item.id.partition(":")
        digest = (
            None if item.image is None else bytes.fromhex(sha256(collection.image_path(item.image)))
        )
        known.setdefault(int(dataset), {})[item.text, digest] = int(number)
    return known


def _pictures(root: Path) -> dict[tuple[str, ...], str]:
    """(dataset, file) -> checksum of each picture that is in a collection, if it was noted."""
    return {
        (dataset, report.file): report.detail
        for dataset, report in read_reports(root / FILES)
        if report.outcome == USED and len(report.detail) == 64
    }
