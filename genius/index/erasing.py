"""Erase removed items from the files that a run has beside its index.

- The copy of a folder in RUN/collection loses them, and what only they say or show.
- Maps lose their points; names of codes and of regions lose their pictures and their words.
- Partitions that wait to be joined (see partitions.py) and hold one of them are deleted: they are
  encoded again.
- What training keeps to go on later, such as encoder outputs, is deleted: training makes it again.

Before the index changes, maps and names do; the copy and the rest follow. Until that is done, the
manifest lists the ids as `erasing`, and the next change of the index, also after a kill, begins
with what is left to do.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from genius.collections.keys import ID, id_key
from genius.collections.removal import erase_candidates, remember
from genius.errors import UserError
from genius.files import disk_errors_explained, remove_folder, write_compact
from genius.index.layout import CONFIG
from genius.index.store import Index
from genius.locks import deletion_lock, write_lock
from genius.run import TEMPORARY, Run
from genius.schema import Item

PARTITIONS = "partitions"  # folder in a run: of items that are encoded, and not yet in the index
COLLECTIONS = "collection"  # folder of copies in a run, and of what is remembered of removed items
VECTORS = "vectors"  # preset of a run of vectors that somebody else made
# folders of a run from which a killed training goes on
RESUMABLE = ("features", "towers", "indexing", "adding", "vectors", "own", "without-contrast")
FILE_OF_NAMES, MAP = "names.json", "map.json"  # see explore
KEYS, PLACES, REGIONS = "keys.npy", "places.npy", "regions.npy"  # of a map
Change = Callable[[Path], None]  # fills the folder of a part


def _remove_unless_built(folder: Path) -> None:
    """A killed process was building it, or another one is."""
    with deletion_lock(folder) as free:
        if free:
            remove_folder(folder)


def erase(run: Run) -> None:
    """Erase from the run what its manifest lists as `erasing`; the caller holds the run's write
    lock.
    """
    ids = set(run.manifest.get("erasing", ()))
    if not ids:
        return
    left = (
        "the items are gone from the index, but not yet from all files of the run; change it "
        "again to go on"
    )
    with disk_errors_explained(run.path, left):
        for root in run.path.glob(f"{COLLECTIONS}/*"):
            if TEMPORARY.fullmatch(root.name):
                _remove_unless_built(root)
            elif (root / "cand_pool").exists():
                erase_candidates(root, ids)
        for folder in run.path.glob(f"{PARTITIONS}/*"):
            if TEMPORARY.fullmatch(folder.name):
                _remove_unless_built(folder)
            elif _holds(folder, ids):
                remove_folder(folder)
        for name in RESUMABLE:
            # else a training goes on, and deletes it at its end
            with suppress(UserError), write_lock(run.path / name):
                remove_folder(run.path / name)
        run.record(erasing=[])


def _holds(folder: Path, ids: set[str]) -> bool:
    """Whether a partition may hold one of these items."""
    if not (folder / CONFIG).exists():  # none of its items was new
        return False
    try:
        return bool((Index.load(folder).rows_of(ids) >= 0).any())
    except UserError:  # it is damaged
        return True


def vector_content(vector: np.ndarray, item: Item) -> str:
    """A checksum of an item of a run of vectors; vector (d,) fp16."""
    return hashlib.sha256(vector.tobytes() + item.text.encode()).hexdigest()


def erase_mentions(run: Run, index: Index, rows: np.ndarray) -> None:
    """Erase these rows (r,) of the index from maps and names, and remember them if the run has no
    copy of its items.
    """
    items = index.items(rows)
    ids = {item.id for item in items}
    texts = {item.text.casefold() for item in items} - {""}

    def is_said(word: str) -> bool:
        """Whether the word is one of the removed texts alone."""
        return any(word in text for text in texts) and not index.records.others_say(word, rows)

    if run.manifest.get("preset") == VECTORS:  # which has no copy of its items
        vectors = index.embeddings[rows]
        remember(
            run.path / COLLECTIONS,
            (vector_content(*each) for each in zip(vectors, items, strict=True)),
        )
    _change(run, "names", partial(_names, ids, is_said))
    _change(run, "maps", partial(_maps, ids, is_said))


def _names(ids: set[str], is_said: Callable[[str], bool], names: Path) -> Change | None:
    """What is to be written in place of the names in a folder; None: they mention nothing that is
    removed.
    """
    before = json.loads((names / FILE_OF_NAMES).read_text(encoding="utf-8"))
    lost = {word for word in set(chain(*before["words"])) if is_said(word)}
    after = before | {
        "words": [[word for word in words if word not in lost] for words in before["words"]],
        "pictures": [[id for id in pictures if id not in ids] for pictures in before["pictures"]],
    }
    return None if after == before else lambda folder: write_compact(folder / FILE_OF_NAMES, after)


def _maps(ids: set[str], is_said: Callable[[str], bool], maps: Path) -> Change | None:
    """As `_names`. Raises UserError if no item of the map is left, or an older program made it."""
    if not (maps / MAP).exists():
        raise UserError("the map is of an older program")
    before = json.loads((maps / MAP).read_text(encoding="utf-8"))
    keys = np.load(maps / KEYS)
    stays = ~np.isin(keys, [id_key(id) for id in ids if ID.fullmatch(id)])
    lost = {word for region in before["regions"] for word in region["words"] if is_said(word)}
    regions = [
        region
        | {"words": [word for word in region["words"] if word not in lost]}
        | {"portrait": "" if region["portrait"] in ids else region["portrait"]}
        for region in before["regions"]
    ]
    if stays.all() and regions == before["regions"]:
        return None
    if not stays.any():
        raise UserError("no item of the map is left")

    def write(folder: Path) -> None:
        write_compact(folder / MAP, before | {"regions": regions})
        np.save(folder / KEYS, keys[stays])
        np.save(folder / REGIONS, np.load(maps / REGIONS)[stays])
        np.save(folder / PLACES, np.load(maps / PLACES)[:, stays])

    return write


def _change(run: Run, part: str, change: Callable[[Path], Change | None]) -> None:
    """Publish a part without what is removed; delete it if nobody can use it."""
    if not run.has(part):
        return
    try:
        if write := change(run.folder(part)):
            run.replace(part, write, {})
    except UserError:  # it is damaged, of other models, or would be empty
        run.drop(part)
