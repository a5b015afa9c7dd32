"""Versions of a run's index: how a reader finds the newest while the index changes.

`Run.replace` writes a version to a new folder, and then the manifest names it: a reader finds the old or the new
version, whole. Files that do not change are shared by hard links, so a version takes the space of what is new in it.
A version that no one reads any more is deleted when the next but one is made, or later.
"""

from genius.errors import UserError
from genius.index.store import Index
from genius.run import PARTS, Run

PART = "index"


def load_index(served: Run) -> Index:
    """The index of a run, the newest version of it that belongs to the models of `served`.

    Raises UserError for an index that cannot be read, or if the run was trained anew since `served` was read.
    """
    index = load_newer_index(served)
    if index is None:
        raise UserError(f"{served.path} was trained anew while it was loaded; start again")
    return index


def load_newer_index(served: Run, index: Index | None = None) -> Index | None:
    """The index that the run on disk names by now, if it is another version than this one; cheap to ask.

    served: the run as it was read when its models were loaded. None, too, if the run was trained anew since: then
    its index belongs to other models. Raises UserError for an index that cannot be read.
    """
    while True:
        now = Run(served.path)
        if (index and now.manifest["parts"].get(PART, {}).get("folder") == index.folder.name) or any(
            now.digest(part) != served.digest(part) for part in PARTS if part != PART and served.has(part)
        ):
            return None
        try:
            with now.reading(PART) as folder:
                return Index.load(folder)
        except UserError:
            if Run(served.path).digest(PART) == now.digest(PART):
                raise  # else it was replaced and deleted while it was opened
