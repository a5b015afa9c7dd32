"""What lies about the pictures of a folder without a table, and says something of them.

COCO                a JSON file of all pictures, with captions or with categories
YOLO, KITTI, DOTA   0001.txt beside 0001.jpg, or in labels/ of one in images/; names in classes.txt
                    or data.yaml
VOC, labelme        0001.xml, 0001.json
captions            0001.txt, 0001.caption
folders             dogs/rex.jpg

Boxes are not used; the names of what they mark become the attribute `objects` of the picture, and
names of folders the attribute `category`.
"""

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated
from xml.etree import ElementTree

import yaml
from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from genius.collections.encodings import code_page_note, decoded
from genius.collections.layout import SPLIT_NAMES, split_of_file, split_of_folder
from genius.collections.lines import LineError, file_bytes
from genius.collections.listing import Folder
from genius.collections.metadata import clean
from genius.collections.source_records import Record, without_empty
from genius.collections.table_files import SUFFIXES as TABLES
from genius.errors import UserError
from genius.reading import first_problem

OBJECTS = "objects"  # the attribute
CATEGORY = "category"  # the attribute, by which the page calls pictures without words
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
WORD = re.compile(r"[^\W\d_]{3,}")
CAMERA = re.compile(  # folders that cameras and people call so whatever is in them
    r"(dcim|\d*(canon|nikon|msdcf|apple|andro)\w?|img|images?|pictures?|photos?|new folder.*)", re.I
)


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


def read_annotations(folder: Folder, records: Sequence[Record], notes: list[str]) -> set[str]:
    """Let records take what is said of their pictures; returns the names of the files that say it.

    notes: gets sentences about what was recognized.
    """
    found = {record.image: record for record in records}
    files = _read_coco(folder, found, notes) | _read_marks(folder, found, notes)
    for record in records:
        record.captions = list(dict.fromkeys(filter(None, map(clean, record.captions))))
        objects = dict.fromkeys(record.attributes.get(OBJECTS, []))
        record.attributes = without_empty({OBJECTS: list(objects)})
    unread = sorted(name for name in folder.files if "/" in name and name.lower().endswith(TABLES))
    for name in unread[:1]:
        notes.append(
            f"{name} is not read; name tables in folders metadata.csv, or put one into "
            "the folder itself"
        )
    files |= _read_captions(folder, records, files, notes)
    if not any(record.captions or record.attributes for record in records):
        _read_folder_names(records, notes)
    return files


def _read_coco(folder: Folder, found: Mapping[str, Record], notes: list[str]) -> set[str]:
    """Read the files of COCO; returns their names. found: the records, by their pictures."""
    stems = {image.rpartition(".")[0] for image in folder.images}
    files = set[str]()
    for name in sorted(folder.files):
        beside = not name.lower().endswith(".json") or name.rpartition(".")[0] in stems
        if not beside and (coco := _coco(folder, name, notes)):
            files.add(name)
            notes.append(f"{name}: COCO's annotations: {_take(folder, name, coco, found)}")
    # of a part of MSCOCO: who has nothing else trains on it, too
    if len({record.split for record in found.values()} - {None}) < 2:
        for record in found.values():
            record.split = None
    return files


def _coco(folder: Folder, name: str, notes: list[str]) -> Coco | None:
    """What a file says, if it is one of COCO's."""
    if (folder.root / name).stat().st_size > MAX_COCO:
        notes.append(f"{name} is not read: it is larger than {MAX_COCO // 2**20} MB")
    data = _bytes(folder, name, MAX_COCO)
    parts = (b'"images"', b'"annotations"')
    if not data.lstrip().startswith(b"{") or not all(part in data for part in parts):
        return None
    try:
        return COCO.validate_json(data)
    except ValidationError as error:
        problem = f"it is not as COCO's annotations are ({first_problem(error)})"
        notes.append(f"{name} is not read: {problem}")
        return None


def _take(folder: Folder, name: str, coco: Coco, found: Mapping[str, Record]) -> str:
    """Let records take what a file of COCO says; returns of how many pictures it says what."""
    inside = PurePosixPath(name).parent
    records: dict[int | str, Record] = {}  # those that are here
    for image in coco.images:
        path = re.sub(r"^(\.\./)+", "", posixpath.normpath(inside / image.name.replace("\\", "/")))
        with suppress(UserError):
            file = folder.find(path) or folder.find_below(path) or folder.find_below(image.name)
            if file and file in found:
                records[image.id] = found[file]
    categories = {category.id: category.name for category in coco.categories}
    captioned, marked = set[str](), set[str]()
    for annotation in coco.annotations:
        record = records.get(annotation.image_id)
        if record and annotation.caption:
            captioned.add(record.image)
            record.captions.append(annotation.caption)
        if record and annotation.category_id in categories:
            marked.add(record.image)
            record.attributes.setdefault(OBJECTS, []).append(categories[annotation.category_id])
    if split := split_of_file(name) or split_of_folder(inside):
        for record in records.values():
            record.split = split
    lost = len(coco.images) - len(records)
    parts = [f"captions of {len(captioned):,} pictures"] * bool(captioned)
    parts += [f"objects of {len(marked):,} pictures"] * bool(marked)
    parts += [f"{lost:,} pictures are not here"] * bool(lost)
    return "; ".join(parts) or "none"


def _read_marks(folder: Folder, found: Mapping[str, Record], notes: list[str]) -> set[str]:
    """Read the files about what is marked in one picture; returns their names, also those that tell
    the names of classes. found: the records, by their pictures.
    """
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
        return set()
    files = {file for _, file in marked}
    classes, telling = _class_names(folder)
    unnamed = 0
    for (image, file), things in marked.items():
        places = PurePosixPath(file).parents
        names = next((classes[place] for place in places if place in classes), {})
        objects = [names.get(thing, "" if thing.isdigit() else thing) for thing in things]
        unnamed += "" in objects
        own = found[image].attributes.setdefault(OBJECTS, [])
        own += (name for name in objects if name not in ("", "DontCare"))  # KITTI's
    kinds = Counter(PurePosixPath(file).suffix.lower() for file in sorted(files))
    shown = ", ".join(f"{suffix} {count:,}" for suffix, count in kinds.items())
    kind = "annotations of boxes or shapes in pictures, no captions"
    note = f"{len(files):,} files ({shown}) are {kind}"
    if any(record.attributes.get(OBJECTS) for record in found.values()):
        note += f"; the names of what they mark become the attribute {OBJECTS}"
    if unnamed:
        classes_file = "write those of the classes into classes.txt, a line for each"
        note += f"; {unnamed:,} give no names: {classes_file}"
    notes.append(note)
    return files | empty | telling


def _files_beside(image: str) -> Iterator[str]:
    """The names that annotations of a picture may have."""
    path = PurePosixPath(image)
    stem = image.removesuffix(path.suffix)
    stems = [stem]
    parts = stem.split("/")
    for at in reversed(range(len(parts) - 1)):
        if parts[at].lower() in BESIDE:
            others = BESIDE[parts[at].lower()]
            stems += ["/".join([*parts[:at], name, *parts[at + 1 :]]) for name in others]
            break
    yield from (stem + suffix for stem in stems for suffix in (".txt", ".TXT", ".xml", ".json"))
    yield f"{image}.txt"


def _read_captions(
    folder: Folder, records: Sequence[Record], others: set[str], notes: list[str]
) -> set[str]:
    """Read the text files beside images, but for the others, which are their captions; returns
    their names.
    """
    pages: Counter[str] = Counter()
    texts = set[str]()
    unread = list[str]()
    for record in records:
        stem = record.image.removesuffix(PurePosixPath(record.image).suffix)
        names = (*(stem + suffix for suffix in (".txt", ".TXT", ".caption")), record.image + ".txt")
        if name := next((name for name in names if name in folder and name not in others), None):
            try:
                text, page = decoded(file_bytes(folder.root / name), folder.root / name)
            except LineError as error:
                unread.append(str(error))
                continue
            texts.add(name)
            pages[page] += 1
            record.captions += filter(None, [clean(text)])
    if texts:
        notes.append(f"{len(texts):,} text files beside images are their captions")
    notes += [f"{len(unread):,} cannot be read; the first: {text}" for text in unread[:1]]
    notes += [code_page_note(f"{count:,} of them", page) for page, count in pages.items() if page]
    return texts


def _read_folder_names(records: Sequence[Record], notes: list[str]) -> None:
    """Let records take what their folders are called, if all lie in folders of words, and at least
    two folders hold two pictures each. The folder of a split is none (train/dogs/rex.jpg).
    """
    places = [PurePosixPath(record.image).parts[:-1] for record in records]
    names = [
        next((name for name in reversed(place) if name.lower() not in SPLIT_NAMES), "")
        for place in places
    ]
    counts = Counter(names)
    telling = all(WORD.search(name) and not CAMERA.fullmatch(name) for name in counts)
    if not telling or len(counts) < 2 or min(counts.values()) < 2:
        return
    for record, place, name in zip(records, places, names, strict=True):
        record.attributes = {CATEGORY: clean(name.replace("_", " "))}
        record.split = SPLIT_NAMES.get(place[0].lower()) if place[1:] else None
    shown = sorted({record.attributes[CATEGORY] for record in records})
    notes.append(
        f"{len(shown):,} folders name what is in their pictures, as in {shown[0]}: "
        f"attribute {CATEGORY}"
    )


def _boxes(data: bytes) -> list[str] | None:
    """The classes in lines of YOLO (a class and at least four numbers), KITTI or DOTA (a word,
    eight): names, numbers or "" if it is not known which number is the class; None: these are other
    lines.
    """
    classes = []
    for line in filter(str.strip, _lines(data)):
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


def _class_names(folder: Folder) -> tuple[dict[PurePosixPath, dict[str, str]], set[str]]:
    """The names of numbered classes, by the folder of the file that tells them; and these files,
    of which the last of a folder counts.
    """
    classes = {}
    files = set[str]()
    for file in sorted(folder.files):
        lower = file.lower()
        names = dict[str, str]()
        if lower.endswith(("classes.txt", ".names", "_darknet.labels")):
            lines = _lines(_bytes(folder, file, MAX_NAMES))
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
    return classes, files


def _lines(data: bytes) -> list[str]:
    return data.decode(errors="replace").removeprefix("\ufeff").splitlines()


def _bytes(folder: Folder, file: str, limit: int) -> bytes:
    """Of a file that can be read and is not larger than `limit`; or nothing."""
    with suppress(OSError):
        path = folder.root / file
        return path.read_bytes() if path.stat().st_size <= limit else b""
    return b""
