"""What pictures, and the files beside them, say about themselves: descriptions, keywords, the date taken, the camera.

Places, which cameras and telephones also write, are not read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from PIL import Image, IptcImagePlugin

from genius.collections.encodings import decoded
from genius.collections.images import SUFFIXES, image_header, open_image
from genius.collections.lines import MAX_LINE, LineError, file_bytes, parse_object
from genius.errors import UserError
from genius.texts import MAX_TEXT

MAX_XMP, MAX_EXIF = 2**21, 2**16  # bytes
MAX_KEYWORDS, MAX_FACT = 500, 200  # of one origin; characters
MARKER = "supplemental-metadata"  # Takeout's names end with it, or with its beginning where they are too long
SHORTEST_CUT = 43  # characters of a name that Takeout may have cut: of 46, with the number of a copy
NUMBER = re.compile(r"\(\d{1,4}\)(?=\.|$)")  # of copies: Takeout's a(1).jpg has a.jpg(1).json
EDITED = re.compile(r"-(edited|bearbeitet|modifi[eé]|editad[oa]|modificato|bewerkt|edytowane|redigerad)(?=\.)")
DC, RDF = "{http://purl.org/dc/elements/1.1/}", "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
XMP_KEYWORDS = {  # -> what stands between the levels of a hierarchy
    f"{DC}subject": "",
    "{http://ns.adobe.com/lightroom/1.0/}hierarchicalSubject": "|",
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
}
XMP_DATES = ("{http://ns.adobe.com/exif/1.0/}DateTimeOriginal", "{http://ns.adobe.com/photoshop/1.0/}DateCreated")
XMP_CAMERA = ("{http://ns.adobe.com/tiff/1.0/}Make", "{http://ns.adobe.com/tiff/1.0/}Model")
IPTC_KEYWORDS, IPTC_CAPTION = (2, 25), (2, 120)
DESCRIPTION, MAKE, MODEL, XP_KEYWORDS = 0x010E, 0x010F, 0x0110, 0x9C9E  # EXIF tags
EXIF_IFD, TAKEN = 0x8769, 0x9003
BEHIND = (b"iTXtXML:com.adobe.xmp", b"eXIf", *(b"%bDescription" % chunk for chunk in (b"tEXt", b"iTXt", b"zTXt")))
PNG_TEXTS = ("Description", "Title", "parameters")  # the last: the prompt of a picture that a model has drawn
SETTINGS = re.compile(r"\n(?:Negative prompt|Steps): ")  # behind a prompt
JSON_TEXTS = ("description", "caption", "captionabstract", "imagedescription", "content")
JSON_KEYWORDS = ("keywords", "tags", "subject", "hierarchicalsubject")
DATE = re.compile(r"([12]\d{3})[:-](\d\d)[:-](\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?")
DEFAULT_CAPTIONS = re.compile(  # of cameras and programs
    r"([A-Z]+ ){1,2}(DIGITAL CAMERA|DSC)|(?i:(kodak )?digital (still )?camera|exif[ _]jpeg[ _]picture|default|untitled|"
    r"created with (the )?gimp|processed with vsco.*|lead technologies.*)"
)
CAMERA_WORDS = {"digital", "still", "camera", "dsc"}


@dataclass(slots=True)
class Said:
    """What one origin, such as IPTC, says about a picture. problem: why it could not be read, in words."""

    origin: str
    text: str = ""
    keywords: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    problem: str = ""


class Beside:
    """The .xmp and .json files that are called after pictures: Lightroom's, Takeout's and other programs'."""

    def __init__(self, root: Path, files: Iterable[str], images: Iterable[str]):
        """files and images: paths below the root. Reads the files."""
        self.files: set[str] = set()  # those of which each is about a picture
        self.used: set[str] = set()  # of these, those that say something
        self.problems: list[str] = []
        self._said: dict[str, list[Said]] = {}  # by picture
        named = _by_name(files)
        said: dict[str, Said | None] = {}
        for image in images if named else ():
            for name in sorted(_called_after(image, named), key=_is_json):
                if name not in said:
                    said[name] = self._read(root, name, image)
                if heard := said[name]:
                    self._said.setdefault(image, []).append(heard)

    def of(self, image: str) -> list[Said]:
        """What is said beside a picture, the best first."""
        return self._said.get(image, [])

    def _read(self, root: Path, name: str, image: str) -> Said | None:
        try:
            text, _ = decoded(_bounded_bytes(root / name, MAX_LINE if _is_json(name) else MAX_XMP), root / name)
            said = _from_json(root / name, text, image) if _is_json(name) else _from_xmp(".xmp", text, image)
        except (LineError, ValueError) as error:
            if not _is_json(name):
                self.problems.append(f"{name}: {getattr(error, 'message', error)}")
            return None  # other JSON may be a table
        self.files.add(name)
        if not (said.text or said.keywords or said.facts):
            return None
        self.used.add(name)
        return said


def inside(data: bytes, name: str) -> list[Said]:
    """What the bytes of a picture say about it, the best first; nothing if they are no picture."""
    try:
        image = image_header(data, name)
        if image.format == "PNG" and any(data.rfind(chunk) > data.find(b"IDAT") for chunk in BEHIND):
            open_image(image, name=name)  # reads what stands behind the pixels
    except UserError:
        return []
    found = []
    for origin, read in (("XMP", _inner_xmp), ("IPTC", _iptc), ("EXIF", _exif), ("PNG text", _png)):
        try:
            said = read(image, name)
        except Exception as error:  # Pillow's readers raise almost any exception on damaged data
            said = Said(origin, problem=f"{name}: its {origin} cannot be read ({error or type(error).__name__})")
        if said:
            found.append(said)
    return found


def drop_defaults(found: Sequence[Said]) -> None:
    """Empty the texts that cameras write by themselves, such as OLYMPUS DIGITAL CAMERA, and their copies."""
    own = {word for said in found for word in _words(said.facts.get("camera", ""))}
    for said in found:
        words = _words(said.text)
        is_code = own & {"huawei", "honor"} and re.fullmatch("[a-z]{3,6}", said.text)  # edf, oznor: how it was taken
        if DEFAULT_CAPTIONS.fullmatch(said.text) or (words & own and words <= own | CAMERA_WORDS) or is_code:
            said.text = ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json")


def _by_name(files: Iterable[str]) -> dict[tuple[str, str, str], list[str]]:
    """(folder, name of the picture, number) -> the files that are called after it."""
    named: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file in sorted(files):
        if file.lower().endswith((".xmp", ".json")):
            folder, name, number = _parts(file[: file.rindex(".")])
            base, dot, end = name.rpartition(".")
            named[folder, base if dot and MARKER.startswith(end) else name, number].append(file)
    return named


def _called_after(image: str, named: Mapping[tuple[str, str, str], list[str]]) -> Iterator[str]:
    """The files that are called after a picture: a.jpg.xmp, a.xmp; then after what it is an edition of."""
    folder, name, number = _parts(image)
    original = EDITED.sub("", name)
    for candidate in dict.fromkeys((name, PurePosixPath(name).stem, original, PurePosixPath(original).stem)):
        yield from named.get((folder, candidate, number), ())
    for end in range(len(original) - 1, SHORTEST_CUT - 1, -1):
        yield from filter(_is_json, named.get((folder, original[:end], number), ()))


def _parts(file: str) -> tuple[str, str, str]:
    """Folder, name in lower case without the number of a copy, this number."""
    folder, _, name = file.rpartition("/")
    numbers = NUMBER.findall(name)
    return folder, NUMBER.sub("", name).casefold(), numbers[-1] if numbers else ""


def _bounded_bytes(file: Path, limit: int) -> bytes:
    with suppress(OSError):
        if file.stat().st_size > limit:
            raise LineError(file, 0, f"is larger than {limit / 2**20:.0f} MB")
    return file_bytes(file)


def _from_xmp(origin: str, text: str, name: str) -> Said:
    """What an XMP packet says. Raises ValueError for one that is not XML, or that declares entities."""
    if "<!DOCTYPE" in text:  # without one no entity can be declared, which could grow without bound
        raise ValueError("it has a DOCTYPE, which XMP does not need")
    try:
        root = ElementTree.fromstring(text.strip("\ufeff\0 \r\n\t"))
    except ElementTree.ParseError as error:
        raise ValueError(f"it is not XML ({error})") from None
    values: dict[str, list[str]] = defaultdict(list)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            values[attribute].append(value)
        listed = sorted(element.findall(f"*/{RDF}li"), key=lambda entry: entry.get(LANGUAGE) != "x-default")
        values[element.tag] += [entry.text or "" for entry in listed or [element]]
    keywords = [
        part
        for tag, separator in XMP_KEYWORDS.items()
        for word in values[tag]
        for part in (word.split(separator) if separator else [word])
    ]
    texts = [text for text in values[f"{DC}description"] if text.strip()]
    dates = [date for tag in XMP_DATES for date in values[tag]]
    camera = ["".join(values[tag][:1]) for tag in XMP_CAMERA]
    return _said(origin, "".join(texts[:1]), keywords, _facts("".join(dates[:1]), *camera), name)


def _from_json(file: Path, text: str, name: str) -> Said:
    """What the one object of a JSON file says. Raises LineError if the file is anything else."""
    row = parse_object(file, 0, text.strip().removeprefix("[").removesuffix("]"))  # exiftool writes a list of one
    fields = {re.sub(r".*:|[-_]", "", key).lower(): value for key, value in row.items()}
    texts = [value for key in JSON_TEXTS if isinstance(value := fields.get(key), str) and value.strip()]
    lists = [fields.get(key) for key in JSON_KEYWORDS]
    keywords = [word for value in lists if isinstance(value, list) for word in value]
    keywords += [word for value in lists if isinstance(value, str) for word in re.split("[,;]", value)]
    date, taken = fields.get("datetimeoriginal"), fields.get("phototakentime")
    if isinstance(taken, dict):
        with suppress(ValueError, TypeError, OverflowError, OSError):
            date = str(datetime.fromtimestamp(int(taken["timestamp"]), UTC))
    origin = "Takeout" if isinstance(taken, dict) else "JSON"
    return _said(origin, "".join(texts[:1]), keywords, _facts(date, fields.get("make"), fields.get("model")), name)


def _inner_xmp(image: Image.Image, name: str) -> Said | None:
    packet = image.info.get("xmp") or b""
    if len(packet) > MAX_XMP:
        raise ValueError(f"it is larger than {MAX_XMP / 2**20:.0f} MB")
    text = packet if isinstance(packet, str) else packet.decode(errors="replace")
    return _from_xmp("XMP", text, name) if text.strip("\0 ") else None


def _iptc(image: Image.Image, name: str) -> Said | None:
    found = IptcImagePlugin.getiptcinfo(image) or {}  # type: ignore[arg-type]
    captions, keywords = (
        [_text(value) for value in (values if isinstance(values, list) else [values])[:MAX_KEYWORDS] if value]
        for values in (found.get(IPTC_CAPTION), found.get(IPTC_KEYWORDS))
    )
    return _said("IPTC", "".join(captions[:1]), keywords, {}, name) if captions or keywords else None


def _exif(image: Image.Image, name: str) -> Said | None:
    block = image.info.get("exif", b"")
    if len(block) > MAX_EXIF:
        raise ValueError(f"it is larger than {MAX_EXIF // 2**10} kB")
    if not block and image.format != "TIFF":  # of a PNG, Pillow would decode the pixels to look for one
        return None
    exif = image.getexif()
    texts = [_text(str(exif.get(tag, "")).encode("latin-1", "replace")) for tag in (DESCRIPTION, MAKE, MODEL)]
    keywords = exif.get(XP_KEYWORDS, b"")
    words = bytes(keywords).decode("utf-16-le", "ignore") if isinstance(keywords, bytes | tuple) else ""
    return _said("EXIF", texts[0], words.split(";"), _facts(exif.get_ifd(EXIF_IFD).get(TAKEN), *texts[1:]), name)


def _png(image: Image.Image, name: str) -> Said | None:
    texts = [str(image.info[key]) for key in PNG_TEXTS if image.format == "PNG" and image.info.get(key)]
    return _said("PNG text", SETTINGS.split(texts[0])[0], [], {}, name) if texts else None


def _said(origin: str, text: str, keywords: Iterable[Any], facts: dict[str, str], name: str) -> Said:
    """Tidied; a text that is no more than the name of a file is no caption."""
    text, stem = _clean(text)[:MAX_TEXT], PurePosixPath(name).stem
    if (text == stem and re.search(r"\d", stem)) or (" " not in text and text.lower().endswith(SUFFIXES)):
        text = ""
    return Said(origin, text, union(_clean(word) for word in keywords if isinstance(word, str)), facts)


def union(words: Iterable[str]) -> list[str]:
    """The words that are not empty, each once, whatever its case."""
    kept: dict[str, str] = {}
    for word in words:
        if word:
            kept.setdefault(word.casefold(), word[:MAX_FACT])
    return list(islice(kept.values(), MAX_KEYWORDS))


def _facts(date: object, make: object, model: object) -> dict[str, str]:
    facts = {}
    if isinstance(date, str) and (match := DATE.match(date)) and match[2] != "00":
        facts["date taken"] = " ".join(filter(None, ("-".join(match.groups()[:3]), match[4])))
    make, model = (_clean(value) if isinstance(value, str) else "" for value in (make, model))
    if model.casefold().startswith(make.casefold().partition(" ")[0]):
        make = ""
    if camera := f"{make} {model}".strip():
        facts["camera"] = camera[:MAX_FACT]
    return facts


def _text(data: bytes) -> str:
    """Decoded from UTF-8, or from the code page that fits; empty if none does."""
    with suppress(LineError):
        return decoded(data.strip(b"\0")[: 4 * MAX_TEXT], Path())[0]
    return ""


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())
