"""What pictures, and the files beside them, say: descriptions, keywords, the date, the camera.

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

from genius.collections.encodings import UTF16, decoded
from genius.collections.images import MAX_EXIF, SUFFIXES, image_header, open_image
from genius.collections.lines import MAX_LINE, LineError, file_bytes, parse_object
from genius.collections.listing import UNSUPPORTED_SUFFIXES
from genius.errors import UserError
from genius.texts import MAX_TEXT

MAX_XMP = 2**21  # bytes
MAX_KEYWORDS, MAX_FACT = 500, 200  # of one origin; characters
MARKER = "supplemental-metadata"  # at the end of Takeout's names; of long names its beginning
SHORTEST_CUT = 43  # characters of a name that Takeout has cut: 46 with the number of a copy
NUMBER = re.compile(r"\(\d{1,4}\)(?=\.|$)")  # of copies: Takeout's a(1).jpg has a.jpg(1).json
EDIT = re.compile(r"-(edited|bearbeitet|modifi[eé]|editado|modificato|bewerkt|edytowane)(?=\.)")
FORMATS = UNSUPPORTED_SUFFIXES.union(SUFFIXES)
EDIT_OF_APPLE = re.compile(r"^(img_)e(?=\d+\.)")  # IMG_E4.JPG is IMG_4.HEIC, edited
DC, RDF = "{http://purl.org/dc/elements/1.1/}", "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
ADOBE = "{http://ns.adobe.com/%s/1.0/}%s"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
XMP_KEYWORDS = {  # -> what stands between the levels of a hierarchy
    f"{DC}subject": "",
    ADOBE % ("lightroom", "hierarchicalSubject"): "|",
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
}
XMP_DATES = (ADOBE % ("exif", "DateTimeOriginal"), ADOBE % ("photoshop", "DateCreated"))
XMP_CAMERA = (ADOBE % ("tiff", "Make"), ADOBE % ("tiff", "Model"))
IPTC_KEYWORDS = (2, 25)
IPTC_CAPTION = (2, 120)
DESCRIPTION, MAKE, MODEL, XP_KEYWORDS = 0x010E, 0x010F, 0x0110, 0x9C9E  # EXIF tags
EXIF_IFD, TAKEN = 0x8769, 0x9003
BEHIND = (  # in a PNG
    *(b"iTXtXML:com.adobe.xmp", b"eXIf"),
    *(b"tEXtDescription", b"iTXtDescription", b"zTXtDescription"),
)
PNG_TEXTS = ("Description", "Title", "parameters")  # the last: the prompt of a drawn picture
SETTINGS = re.compile(r"\n(?:Negative prompt|Steps): ")  # behind a prompt
JSON_TEXTS = ("description", "caption", "captionabstract", "imagedescription", "content")
JSON_KEYWORDS = ("keywords", "tags", "subject", "hierarchicalsubject")
DATE = re.compile(r"([12]\d{3})[:-](\d\d)[:-](\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?")
DEFAULT_CAPTIONS = re.compile(  # of cameras and programs
    r"([A-Z]+ ){1,2}(DIGITAL CAMERA|DSC)|(?i:(kodak )?digital (still )?camera|default|untitled|"
    r"exif[ _]jpeg[ _]picture|created with (the )?gimp|processed with vsco.*|lead technologies.*)"
)
CAMERA_FILE = re.compile(  # a name that a camera or a telephone gave, without its suffix
    r"(_?(img|imgp|imag|cimg|dsc[nfi]?|dcp|mg|sam|pict|pxl|mvimg|dji|gopr|wp|hpim|kif|screenshot)"
    r"[_-]?\d{4,}|[pr]\d{7}|\d{3}_\d{4}|(19|20)\d{6}(\d{6})?)"
    r"([_-](\d+|wa\d+|hdr|edited|copy))*(\(\d+\))?",
    re.IGNORECASE,
)
CODE = re.compile("[a-z]{3,6}")  # of Huawei, for how a picture was taken, such as edf and oznor
CAMERA_WORDS = {"digital", "still", "camera", "dsc"}


@dataclass(slots=True)
class Said:
    """What one origin, such as IPTC, says about a picture. problem: why it cannot be read."""

    origin: str
    text: str = ""
    keywords: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    problem: str = ""


class Beside:
    """The .xmp and .json files that are called after pictures: Lightroom's, Takeout's, others'."""

    def __init__(self, root: Path, files: Iterable[str], images: Sequence[str]):
        """files and images: paths below the root. Reads the files."""
        self.used: set[str] = set()  # files that say something
        self.problems: list[str] = []
        self._said: dict[str, list[Said]] = {}  # by picture
        named = _by_name(files, images)
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
        file = root / name
        is_json = _is_json(name)
        try:
            data = _bounded_bytes(file, MAX_LINE if is_json else MAX_XMP)
            said = _from_json(file, data, image) if is_json else _from_xmp(".xmp", data, image)
        except (LineError, ValueError) as error:
            if not is_json:
                self.problems.append(f"{name}: {getattr(error, 'message', error)}")
            return None  # other JSON may be a table
        if not (said.text or said.keywords or said.facts):
            return None
        self.used.add(name)
        return said


def inside(data: bytes, name: str) -> list[Said]:
    """What the bytes of a picture say about it, the best first; nothing if they are no picture."""
    try:
        image = image_header(data, name)
        pixels = data.find(b"IDAT")
        if image.format == "PNG" and any(data.rfind(chunk) > pixels for chunk in BEHIND):
            open_image(image, name=name)  # reads what stands behind the pixels
    except UserError:
        return []
    found = []
    for origin, read in (("XMP", _inner_xmp), ("IPTC", _iptc), ("EXIF", _exif), ("PNG text", _png)):
        try:
            said = read(image, name)
        except Exception as error:  # Pillow's readers raise almost any exception on damaged data
            reason = str(error) or type(error).__name__
            said = Said(origin, problem=f"{name}: its {origin} cannot be read ({reason})")
        if said:
            found.append(said)
    return found


def drop_defaults(found: Sequence[Said]) -> None:
    """Empty the texts that cameras write by themselves, such as SONY DSC, and their copies."""
    own = {word for said in found for word in _words(said.facts.get("camera", ""))}
    for said in found:
        words = _words(said.text)
        is_camera = words & own and words <= own | CAMERA_WORDS
        is_code = own & {"huawei", "honor"} and CODE.fullmatch(said.text)
        if is_camera or is_code or DEFAULT_CAPTIONS.fullmatch(said.text):
            said.text = ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json")


def _by_name(files: Iterable[str], images: Iterable[str]) -> dict[tuple[str, str, str], list[str]]:
    """(folder, name of the picture, number) -> the files that are called after it."""
    named: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    sidecars = sorted(file for file in files if file.lower().endswith((".xmp", ".json")))
    pictures = set(map(_parts, images)) if sidecars else set()
    for file in sidecars:
        folder, name, number = _parts(file[: file.rindex(".")])
        base, dot, end = name.rpartition(".")
        name = base if dot and MARKER.startswith(end) else name
        stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
        if suffix in FORMATS and (folder, name, number) not in pictures:
            name = stem  # the picture is here in another format
        named[folder, name, number].append(file)
    return named


def _called_after(image: str, named: Mapping[tuple[str, str, str], list[str]]) -> Iterator[str]:
    """The files that are called after a picture, or after the one that it is an edition of."""
    folder, name, number = _parts(image)
    original = EDIT_OF_APPLE.sub(r"\1", EDIT.sub("", name))
    whole = [part for one in (name, original) for part in (one, PurePosixPath(one).stem)]
    for candidate in dict.fromkeys(whole):
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


def _from_xmp(origin: str, packet: bytes, name: str) -> Said:
    """What an XMP packet says. Raises ValueError if it is not XML, or may declare entities."""
    try:
        text = packet.decode(UTF16.get(packet[:2], "utf-8-sig")).strip("\ufeff\0 \r\n\t")
        if "<!DOCTYPE" in text:  # without one no entity is declared, which could grow without bound
            raise ValueError("it has a DOCTYPE, which XMP does not need")
        root = ElementTree.fromstring(text)
    except (UnicodeDecodeError, ElementTree.ParseError) as error:
        raise ValueError(f"it is not XML ({error})") from None
    values: dict[str, list[str]] = defaultdict(list)
    for element in root.iter():
        for attribute, value in element.attrib.items():
            values[attribute].append(value)
        listed = element.findall(f"*/{RDF}li")
        listed.sort(key=lambda entry: entry.get(LANGUAGE) != "x-default")
        values[element.tag] += [entry.text or "" for entry in listed or [element]]
    keywords = [
        part
        for tag, separator in XMP_KEYWORDS.items()
        for word in values[tag]
        for part in (word.split(separator) if separator else [word])
    ]
    text = next(filter(str.strip, values[f"{DC}description"]), "")
    date = next((date for tag in XMP_DATES for date in values[tag]), "")
    facts = _facts_of(date, *(next(iter(values[tag]), "") for tag in XMP_CAMERA))
    return _tidied(origin, text, keywords, facts, name)


def _from_json(file: Path, data: bytes, name: str) -> Said:
    """What the one object of a JSON file says. Raises LineError or ValueError for another file."""
    text = data.decode("utf-8-sig").strip()
    row = parse_object(file, 0, text.removeprefix("[").removesuffix("]"))  # exiftool: a list of one
    fields = {re.sub(r".*:|[-_]", "", key).lower(): value for key, value in row.items()}
    texts = [fields[key] for key in JSON_TEXTS if isinstance(fields.get(key), str)]
    keywords = list[Any]()
    for value in map(fields.get, JSON_KEYWORDS):
        words = re.split("[,;]", value) if isinstance(value, str) else value
        keywords += words if isinstance(words, list) else []
    date, taken = fields.get("datetimeoriginal"), fields.get("phototakentime")
    if isinstance(taken, dict):
        with suppress(LookupError, ValueError, TypeError, OverflowError, OSError):
            date = str(datetime.fromtimestamp(int(taken["timestamp"]), UTC))
    facts = _facts_of(date, fields.get("make"), fields.get("model"))
    text = next(filter(str.strip, texts), "")
    return _tidied("Takeout" if isinstance(taken, dict) else "JSON", text, keywords, facts, name)


def _inner_xmp(image: Image.Image, name: str) -> Said | None:
    packet = image.info.get("xmp") or b""
    if len(packet) > MAX_XMP:
        raise ValueError(f"it is larger than {MAX_XMP / 2**20:.0f} MB")
    return _from_xmp("XMP", packet, name) if packet.strip(b"\0 ") else None


def _iptc(image: Image.Image, name: str) -> Said | None:
    found = IptcImagePlugin.getiptcinfo(image) or {}  # type: ignore[arg-type]
    if not found:
        return None
    caption, *_ = _texts(found.get(IPTC_CAPTION))
    return _tidied("IPTC", caption, _texts(found.get(IPTC_KEYWORDS)), {}, name)


def _exif(image: Image.Image, name: str) -> Said | None:
    block = image.info.get("exif", b"")
    if len(block) > MAX_EXIF:
        raise ValueError(f"it is larger than {MAX_EXIF // 2**10} kB")
    if not block and image.format != "TIFF":  # Pillow would decode a PNG to look for one
        return None
    exif = image.getexif()
    text, make, model = (
        _text(str(exif.get(tag, "")).encode("latin-1", "replace"))  # as Pillow has decoded it
        for tag in (DESCRIPTION, MAKE, MODEL)
    )
    words = exif.get(XP_KEYWORDS, b"")
    words = bytes(words).decode("utf-16-le", "ignore") if isinstance(words, bytes | tuple) else ""
    facts = _facts_of(exif.get_ifd(EXIF_IFD).get(TAKEN), make, model)
    return _tidied("EXIF", text, words.split(";"), facts, name)


def _png(image: Image.Image, name: str) -> Said | None:
    texts = [str(image.info[key]) for key in PNG_TEXTS if image.info.get(key)]
    if not texts or image.format != "PNG":
        return None
    return _tidied("PNG text", SETTINGS.split(texts[0])[0], [], {}, name)


def _tidied(origin: str, text: str, words: Iterable[Any], facts: dict[str, str], name: str) -> Said:
    """Tidied; a text that is no more than the name of a file is no caption."""
    text = clean(text)[:MAX_TEXT]
    stem = PurePosixPath(name).stem
    is_file_name = " " not in text and text.lower().endswith(SUFFIXES)
    if is_file_name or CAMERA_FILE.fullmatch(text) or (text == stem and re.search(r"\d", stem)):
        text = ""
    keywords = union(clean(word) for word in words if isinstance(word, str))
    return Said(origin, text, keywords, facts)


def union(words: Iterable[str]) -> list[str]:
    """The words that are not empty, each once, whatever its case."""
    kept: dict[str, str] = {}
    for word in words:
        if word:
            kept.setdefault(word.casefold(), word[:MAX_FACT])
    return list(islice(kept.values(), MAX_KEYWORDS))


def _facts_of(date: object, make: object, model: object) -> dict[str, str]:
    facts = {}
    if isinstance(date, str) and (match := DATE.match(date)) and match[2] != "00":
        facts["date taken"] = " ".join(filter(None, ("-".join(match.groups()[:3]), match[4])))
    make, model = (clean(value) if isinstance(value, str) else "" for value in (make, model))
    if model.casefold().startswith(make.casefold().partition(" ")[0]):
        make = ""
    if camera := f"{make} {model}".strip():
        facts["camera"] = camera[:MAX_FACT]
    return facts


def _texts(field: Any) -> list[str]:
    """One value or several, any of which may be missing."""
    return [
        _text(data or b"")
        for data in (field if isinstance(field, list) else [field])[:MAX_KEYWORDS]
    ]


def _text(data: bytes) -> str:
    """Decoded from UTF-8, or from the code page that fits; empty if none does."""
    with suppress(LineError):
        return decoded(data.strip(b"\0")[: 4 * MAX_TEXT], Path())[0]
    return ""


def clean(text: str) -> str:
    """On one line, without what surrounds it."""
    return " ".join(text.replace("\0", " ").split())
