"""What annotation programs write of the pictures of a folder: captions, and boxes or shapes, which
are none.

COCO                a JSON file of all pictures, with captions or with categories
YOLO, KITTI, DOTA   0001.txt beside 0001.jpg, or in labels/ of one in images/; names in classes.txt
                    or data.yaml
VOC, labelme        0001.xml, 0001.json

Boxes are not used; the names of what they mark become the attribute `objects` of the picture.
"""

import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated
from xml.etree import ElementTree

import yaml
from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from genius.collections.listing import Folder
from genius.collections.tables import SPLIT_NAMES, split_of
from genius.errors import UserError
from genius.reading import first_problem

OBJECTS = "objects"  # the attribute
# bytes, of which reading takes five times as many; MSCOCO's largest file has 450 MB
MAX_COCO = 2**29
MAX_NAMES = 2**18  # bytes of a file of classes
MAX_BESIDE = 2**25  # bytes of a file about one picture, which labelme writes into it
BESIDE = {  # the last of these folders in the path of a picture -> those of its annotations
    "images": ("labels", "annotations", "Annotations"),
    "jpegimages": ("Annotations", "labels"),
    "image_2": ("label_2",),
}
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
DOTA = ("imagesource:", "gsd:")  # begin lines that are no boxes


@dataclass(frozen=True)
class Annotations:
    """By the paths of pictures."""

    captions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    objects: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    splits: dict[str, str] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)  # that are annotations


@dataclass(slots=True)
class CocoNamed:
    """A picture by its file, or a category."""

    id: int | str
    name: Annotated[str, Field(validation_alias=AliasChoices("file_name", "name"))]


@dataclass(slots=True)
class CocoAnnotation:
    image_id: int | str
    caption: str = ""
    category_id: int | str | None = None


@dataclass(slots=True)
class Coco:
    images: list[CocoNamed]
    annotations: list[CocoAnnotation]
    categories: list[CocoNamed] = field(default_factory=list)


COCO = TypeAdapter(Coco)


def read_annotations(folder: Folder, notes: list[str]) -> Annotations:
    """Read the annotations of the pictures in a folder. notes: gets sentences about what was
    recognized.
    """
    found = Annotations()
    stems = {image.rpartition(".")[0] for image in folder.images}
    for name in sorted(folder.files):
        if name.lower().endswith(".json") and name.rpartition(".")[0] not in stems:
            _read_coco(folder, name, found, notes)
    # of a part of MSCOCO: who has nothing else trains on it, too
    if len(set(found.splits.values())) < 2:
        found.splits.clear()
    _read_beside(folder, found, notes)
    return found


def _coco(folder: Folder, name: str, notes: list[str]) -> Coco | None:
    """What a file says, if it is one of COCO's."""
    if (folder.root / name).stat().st_size > MAX_COCO:
        notes.append(f"{name} is not read: it is larger than {MAX_COCO // 2**20} MB")
    data = _bytes(folder, name, MAX_COCO)
    if (
        not data.lstrip().startswith(b"{")
        or b'"images"' not in data
        or b'"annotations"' not in data
    ):
        return None
    try:
        return COCO.validate_json(data)
    except ValidationError as error:
        notes.append(
            f"{name} is not read: it is not as COCO's annotations are ({first_problem(error)})"
        )
        return None


def _coco_files(folder: Folder, inside: PurePosixPath, coco: Coco) -> dict[int | str, str]:
    """The files of its pictures, those that are here. inside: the folder of the annotations."""
    files = {}
    for image in coco.images:
        path = re.sub(r"^(\.\./)+", "", posixpath.normpath(inside / image.name.replace("\\", "/")))
        with suppress(UserError):
            file = folder.find(path) or folder.find_below(path) or folder.find_below(image.name)
            if file in folder.pictures:
                files[image.id] = file
    return files


def _read_coco(folder: Folder, name: str, found: Annotations, notes: list[str]) -> None:
    coco = _coco(folder, name, notes)
    if coco is None:
        return
    inside = PurePosixPath(name).parent
    images = _coco_files(folder, inside, coco)
    categories = {category.id: category.name for category in coco.categories}
    captions, objects = set[str](), set[str]()
    for annotation in coco.annotations:
        if (file := images.get(annotation.image_id)) is None:
            continue
        if annotation.caption:
            captions.add(file)
            found.captions[file].append(annotation.caption)
        if annotation.category_id in categories:
            objects.add(file)
            found.objects[file].append(categories[annotation.category_id])
    names = (split_of(name), *map(SPLIT_NAMES.get, map(str.lower, reversed(inside.parts))))
    if split := next(filter(None, names), None):
        found.splits.update(dict.fromkeys(images.values(), split))
    found.files.add(name)
    parts = [f"captions of {len(captions):,} pictures"] * bool(captions)
    parts += [f"objects of {len(objects):,} pictures"] * bool(objects)
    parts += [f"{len(coco.images) - len(images):,} pictures are not here"] * (
        len(images) < len(coco.images)
    )
    notes.append(f"{name}: COCO's annotations: {'; '.join(parts) or 'none'}")


def _read_beside(folder: Folder, found: Annotations, notes: list[str]) -> None:
    """Read the files about one picture."""
    marked: dict[tuple[str, str], list[str]] = {}  # by picture and file
    empty = set[str]()  # of pictures that show nothing
    for image in folder.images:
        for file in filter(folder.__contains__, _files_beside(image)):
            data = _bytes(folder, file, MAX_BESIDE)
            things = READERS[PurePosixPath(file).suffix.lower()](data)
            if things is not None:
                marked[image, file] = things
            elif not data.strip():
                empty.add(file)
    if not marked:
        return
    files = {file for _, file in marked}
    found.files.update(files, empty)
    classes = _class_names(folder, found.files)
    unnamed = 0
    for (image, file), things in marked.items():
        names = next(
            (classes[place] for place in PurePosixPath(file).parents if place in classes), {}
        )
        objects = [names.get(thing, "" if thing.isdigit() else thing) for thing in things]
        unnamed += "" in objects
        # KITTI's
        found.objects[image] += (name for name in objects if name not in ("", "DontCare"))
    kinds = Counter(PurePosixPath(file).suffix.lower() for file in files)
    shown = ", ".join(f"{suffix} {count:,}" for suffix, count in kinds.items())
    notes.append(
        f"{len(files):,} files ({shown}) are annotations of boxes or shapes in pictures, "
        "no captions"
    )
    if any(found.objects.values()):
        notes[-1] += f"; the names of what they mark become the attribute {OBJECTS}"
    if unnamed:
        notes[-1] += (
            f"; {unnamed:,} give no names: write those of the classes into classes.txt, a "
            "line for each"
        )


def _files_beside(image: str) -> Iterator[str]:
    """The names that annotations of a picture may have."""
    path = PurePosixPath(image)
    stem = image.removesuffix(path.suffix)
    places = [part.lower() in BESIDE for part in path.parts[:-1]]
    stems = [stem]
    if any(places):
        at = len(places) - 1 - places[::-1].index(True)
        parts = stem.split("/")
        stems += [
            "/".join([*parts[:at], name, *parts[at + 1 :]]) for name in BESIDE[parts[at].lower()]
        ]
    yield from (stem + suffix for stem in stems for suffix in (".txt", ".TXT", ".xml", ".json"))
    yield f"{image}.txt"


def _boxes(data: bytes) -> list[str] | None:
    """The classes in lines of YOLO (a class and at least four numbers), KITTI or DOTA (a word,
    eight): names, numbers or "" if it is not known which number is the class; None: these are other
    lines.
    """
    classes = []
    for line in filter(
        str.strip, data.decode(errors="replace").removeprefix("\ufeff").splitlines()
    ):
        cells = re.split(r"[\s,;]+", line.strip(" \t,;"))
        words = [cell for cell in cells if not NUMBER.fullmatch(cell)]
        if not words and len(cells) >= 5 and float(cells[0]).is_integer():
            # YOLO's are parts of the sides
            is_class = "," not in line and max(map(float, cells[1:5])) <= 1
            classes.append(str(int(float(cells[0]))) if is_class else "")
        elif len(words) == 1 and len(cells) >= 9:
            classes.append(words[0])
        elif not line.startswith(DOTA):
            return None
    return classes or None


def _voc(data: bytes) -> list[str] | None:
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError):
        return None
    return (
        [thing.findtext("name") or "" for thing in root.iter("object")]
        if root.tag == "annotation"
        else None
    )


def _labelme(data: bytes) -> list[str] | None:
    try:
        return [str(shape["label"]) for shape in json.loads(data)["shapes"]]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


READERS = {".txt": _boxes, ".xml": _voc, ".json": _labelme}


def _class_names(folder: Folder, files: set[str]) -> dict[PurePosixPath, dict[str, str]]:
    """The names of numbered classes, by the folder that they are told in. files: gets those that
    tell them.
    """
    classes: dict[PurePosixPath, dict[str, str]] = {}
    for file in sorted(folder.files):
        lower = file.lower()
        names = dict[str, str]()
        if lower.endswith(("classes.txt", ".names", "_darknet.labels")):
            lines = (
                _bytes(folder, file, MAX_NAMES)
                .decode(errors="replace")
                .removeprefix("\ufeff")
                .splitlines()
            )
            names = {str(number): line.strip() for number, line in enumerate(lines)}
        elif lower.endswith((".yaml", ".yml")):
            with suppress(yaml.YAMLError, ValueError, RecursionError, AttributeError):
                # all values are texts; other loaders also merge, which lets a few bytes become
                # gigabytes
                told = yaml.load(_bytes(folder, file, MAX_NAMES), yaml.BaseLoader).get("names", {})
                told = dict(enumerate(told)) if isinstance(told, list) else told
                names = {
                    str(number): name for number, name in told.items() if isinstance(name, str)
                }
        if names:
            files.add(file)
            classes[PurePosixPath(file).parent] = names
    return classes


def _bytes(folder: Folder, file: str, limit: int) -> bytes:
    """Of a file that can be read and is not larger than `limit`; or nothing."""
    with suppress(OSError):
        path = folder.root / file
        return path.read_bytes() if path.stat().st_size <= limit else b""
    return b""
