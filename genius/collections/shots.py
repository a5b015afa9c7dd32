"""Files that cameras and telephones make of one photograph: a raw, an original, a film, edits."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

from genius.collections.raw import SUFFIXES as RAW

HEIC = frozenset((".heic", ".heif", ".hif"))
PARTS = frozenset((".mov", ".mp4", ".aae"))  # the film of a Live Photo, and what was done to it
PART_STEM = re.compile(r"_(heic|jpe?g|3)$")  # that some programs add to the name of the film
EDITED = re.compile(r"^(img_)e(?=\d+$)")  # IMG_E4.JPG is IMG_4.HEIC as its owner changed it


def parts_of_others(images: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """The files that are no thing of their own, and the picture that each belongs to.

    images: that can be read. Of those that share folder and name, one that was edited is the thing,
    else a JPEG or the like, else a HEIC, else a raw. Two of the same rank are two things.
    """
    shots = defaultdict[tuple[str, str], list[str]](list)
    for image in images:
        shots[_shot(image)].append(image)
    best = {shot: min(files, key=_rank) for shot, files in shots.items()}
    parts = {
        file: best[shot]
        for shot, files in shots.items()
        for file in files
        if _rank(file) > _rank(best[shot])
    }
    for file in others:
        folder, stem = _shot(file)
        suffix = PurePosixPath(file).suffix.lower()
        if suffix in PARTS:
            stem = stem if (folder, stem) in best else PART_STEM.sub("", stem)
        elif suffix not in HEIC or _rank(file)[0] == 0:  # an edit is no part
            continue
        if (folder, stem) in best:
            parts[file] = best[folder, stem]
    return parts


def _shot(file: str) -> tuple[str, str]:
    """Folder and name, the same for all files of one photograph."""
    path = PurePosixPath(file)
    return str(path.parent), EDITED.sub(r"\1", path.stem.lower())


def _rank(file: str) -> tuple[int, int]:
    """Less is better."""
    path = PurePosixPath(file)
    suffix = path.suffix.lower()
    return not EDITED.match(path.stem.lower()), 2 if suffix in RAW else 1 if suffix in HEIC else 0
