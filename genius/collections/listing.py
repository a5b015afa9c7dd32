"""List the files of a folder, once: the pictures in it, and what becomes of every other file."""

import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from genius.collections.images import SUFFIXES
from genius.collections.lines import text_lines
from genius.errors import UserError, quoted

USED, COPY, HIDDEN, UNREADABLE = "used", "copy of another", "hidden or thumbnail", "unreadable"
TEXT, TEXTS = "text", "texts"  # an outcome: a text of a used file; a detail: of a used file of texts
UNNAMED, UNSUPPORTED, OTHER = "not named by the table", "unsupported kind", "not a picture"
MISSING, WEB = "missing", "web address"  # of a name in a table
ELSEWHERE = re.compile(r"(file:|https?:/)?/|[a-z]:/|~/", re.IGNORECASE)  # begins a path of a disk, or an address
HIDDEN_NAMES = frozenset({"thumbs", "thumbnails", "thumbs.db", "ehthumbs.db", "desktop.ini", "lost+found"}).union(
    ["@eadir", "@__thumb", "@tmp", "@recycle", "@recently-snapshot", "#recycle", "#snapshot"],
    ["__macosx", "_vti_cnf", "$recycle.bin", "system volume information"],
)
RAW = frozenset([".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".orf", ".rw2", ".pef", ".srw"])
SHEETS = frozenset({".xlsx", ".xls", ".ods", ".numbers"})
UNSUPPORTED_SUFFIXES = RAW.union(
    SHEETS,
    [".heic", ".heif", ".hif", ".avif", ".jxl", ".jp2", ".j2k", ".tga", ".pcx", ".ppm", ".pgm", ".pbm"],
    [".psd", ".xcf", ".svg", ".eps", ".ico", ".icns", ".exr", ".hdr"],
)
MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"RIFF")


def read_reports(table: Path) -> Iterator[tuple[str, "FileReport"]]:
    """Yield (dataset, report) for each line that `CollectionWriter.files` wrote, if the table is there."""
    if table.is_file():
        yield from (read_report(line) for _, line in text_lines(table))


def read_report(line: str) -> tuple[str, "FileReport"]:
    """The dataset and the report of a line."""
    dataset, *cells = (json.loads(f'"{cell.replace(chr(34), chr(92) + chr(34))}"') for cell in line.split("\t"))
    return dataset, FileReport(*cells)


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file."""

    file: str  # relative to the source
    outcome: str
    detail: str = ""


def is_elsewhere(name: str) -> bool:
    """Whether a name in a table is a path of a disk, or an address."""
    return ELSEWHERE.match(name.replace("\\", "/")) is not None


def printable(file: Path | str) -> str:
    """The name of a file, which may not be UTF-8."""
    return os.fsencode(file).decode(errors="backslashreplace")


class Folder:
    """The files of a folder and of folders that it links to, each place once."""

    def __init__(self, root: Path):
        self.root = root
        self.images: list[str] = []
        self.others: list[FileReport] = []
        self.files: set[str] = set()  # that are not hidden
        for file, hidden in sorted(self._walk()):
            if hidden:
                self.others.append(FileReport(file, HIDDEN))
                continue
            self.files.add(file)
            if other := other_than_picture(root, file):
                self.others.append(other)
            else:
                self.images.append(file)
        self._alike = {form: _grouped(self.files, form) for form in (_plain, _folded, _look)}
        self._alike |= {form: _grouped(self.images, form) for form in (_stem, _last_stem)}
        self._by_name = {PurePosixPath(file).name: file for file in self.files}

    def __contains__(self, file: str) -> bool:
        return file in self.files

    def find(self, name: str) -> str | None:
        """The file that a table names: exactly, or in another Unicode form, with other slashes or in another case.

        None if there is none. Raises UserError if several fit, or if one looks the same but is not.
        """
        if name in self.files or os.path.isfile(self.root / name):
            return name
        for form in (_plain, _folded):
            fits = sorted(self._alike[form].get(form(name), ()))
            if len(fits) > 1:
                raise UserError(f"{quoted(name)} may be any of {', '.join(map(quoted, fits))}; name one exactly")
            if fits:
                return fits[0]
        fits = self._alike[_stem].get(_stem(name), ())
        if len(fits) == 1 and Path(name).suffix.lower() in ("", *SUFFIXES, *UNSUPPORTED_SUFFIXES):
            return fits[0]  # of a name without its suffix, or of a picture that was saved in another format
        for file in self._alike[_look].get(_look(name), ()):
            raise UserError(f"{quoted(name)} is missing; {quoted(file)} looks the same, but {_difference(name, file)}")
        return None

    def find_elsewhere(self, name: str) -> str | None:
        """The file here that has the end of a path of a disk, or of an address, the longest that there is."""
        path = name.replace("\\", "/")
        parts = urlsplit(path).path.split("/") if "://" in path else path.split("/")
        return next(filter(None, (self.find("/".join(parts[at:])) for at in range(1, len(parts)))), None)

    def find_below(self, name: str) -> str | None:
        """The picture whose path ends with a name, maybe one without its suffix, if there is exactly one."""
        stem, end = _stem(name), f"/{_folded(name)}"
        alike = self._alike[_last_stem].get(_last_stem(name), ())
        fits = [image for image in alike if f"/{_stem(image)}".endswith("/" + stem)]
        fits = [image for image in fits if f"/{_folded(image)}".endswith(end)] or fits
        return fits[0] if name and len(fits) == 1 else None

    def names_picture(self, name: str) -> bool:
        """Whether a cell of a table names a picture here."""
        with suppress(UserError):
            return bool(self.find_elsewhere(name) if is_elsewhere(name) else self.find_below(name))
        return False

    def missing(self, name: str, line: int) -> FileReport:
        """What is said of a picture that a table names in this line, but that is not here."""
        detail = f"line {line} names none" if name == f"(line {line})" else f"{quoted(name)} in line {line}"
        if other := self._by_name.get(PurePosixPath(name.replace("\\", "/")).name):
            detail += f" (there is {quoted(other)})"
        if name.lower().startswith(("http://", "https://")):
            return FileReport(name, WEB, f"{detail}; nothing is downloaded: put the files into the folder")
        return FileReport(name, MISSING, f"{detail}; its texts are kept, without a picture")

    def unused(self, images: set[str], texts: set[str]) -> list[FileReport]:
        """What becomes of the files that are none of these images. texts: files that are used for what they say."""
        unnamed = [FileReport(image, UNNAMED) for image in self.images if image not in images]
        return unnamed + [
            FileReport(other.file, USED, TEXTS) if other.outcome == OTHER and other.file in texts else other
            for other in self.others
            if other.file not in images
        ]

    def _walk(self) -> Iterator[tuple[str, bool]]:
        """Yield (relative path, hidden). A link to a folder is followed, unless that folder is read anyway."""
        top = os.path.realpath(self.root)
        seen, waiting = {top}, [(self.root, "", False)]
        while waiting:
            folder, prefix, hidden = waiting.pop(0)
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self.others.append(FileReport(prefix.rstrip("/"), UNREADABLE, f"folder ({error.strerror})"))
                continue
            for entry in entries:
                path, unseen = prefix + entry.name, hidden or is_hidden(entry.name)
                try:
                    is_folder = entry.is_dir()
                except OSError:  # a link to itself
                    is_folder = False
                if not is_folder:
                    yield path, unseen
                    continue
                real = os.path.realpath(entry.path)
                if entry.is_symlink() and (real in seen or Path(real).is_relative_to(top)):
                    self.others.append(FileReport(path, COPY, "a link to a folder that is read already"))
                elif real not in seen:
                    seen.add(real)
                    waiting.append((Path(entry.path), path + "/", unseen))


def _grouped(files: Iterable[str], form: Callable[[str], str]) -> dict[str, list[str]]:
    groups = defaultdict(list)
    for file in files:
        groups[form(file)].append(file)
    return groups


def other_than_picture(root: Path, file: str) -> FileReport | None:
    """What a file below a folder is, by its name; None for a picture that may be opened."""
    suffix = Path(file).suffix.lower()
    if is_hidden(Path(file).name):
        return FileReport(file, HIDDEN)
    unsure = not suffix or suffix in UNSUPPORTED_SUFFIXES - RAW - SHEETS  # what some programs call a JPEG
    try:
        is_picture = suffix in SUFFIXES or (unsure and _looks_like_a_picture(root / file))
    except OSError as error:
        return FileReport(file, UNREADABLE, f"{printable(file)} cannot be read ({error.strerror})")
    if is_picture:
        if file == file.encode(errors="ignore").decode():
            return None
        return FileReport(file, UNREADABLE, f"{printable(file)}: the file name is not UTF-8; rename the file")
    if suffix in UNSUPPORTED_SUFFIXES:
        return FileReport(file, UNSUPPORTED, _remedy(suffix))
    return FileReport(file, OTHER)


def _looks_like_a_picture(file: Path) -> bool:
    """By its first bytes. Raises OSError for a file that cannot be read."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(12).startswith(MAGIC)


def account(reports: list[FileReport]) -> list[str]:
    """One line for each outcome: how many files, of which kinds, and the first one's detail."""
    by_outcome = defaultdict(list)
    for report in reports:
        by_outcome[report.outcome].append(report)
    lines = []
    for outcome in (USED, COPY, HIDDEN, UNREADABLE, MISSING, WEB, UNNAMED, UNSUPPORTED, OTHER):
        if files := by_outcome[outcome]:
            what = "picture" if outcome in (MISSING, WEB) else "file"
            line = f"{len(files):,} {what}{'s' * (len(files) > 1)}: {outcome}"
            if outcome in (UNSUPPORTED, OTHER):
                suffixes = Counter(Path(report.file).suffix.lower() or "no suffix" for report in files)
                line += f" ({', '.join(f'{suffix} {count:,}' for suffix, count in suffixes.most_common(6))})"
            details = dict.fromkeys(report.detail for report in files if report.detail)
            if outcome == UNSUPPORTED:
                line += "; " + "; ".join(details)
            elif outcome in (UNREADABLE, MISSING, WEB):
                line += f"; the first: {files[0].detail}"
            elif outcome in (COPY, UNNAMED):
                line += f"; the first: {printable(files[0].file)}"
            lines.append(line)
    return lines


def is_hidden(name: str) -> bool:
    dotted = name.startswith(".") and not name.startswith("..")  # "..c.jpg" is a name that somebody chose
    return dotted or name.lower() in HIDDEN_NAMES or name.startswith("SYNOPHOTO_THUMB")


def _remedy(suffix: str) -> str:
    if suffix in (".heic", ".heif", ".hif"):
        return "to read HEIC: pip install pillow-heif"
    if suffix in SHEETS:
        return "save a table as CSV"
    if suffix in RAW:
        return "develop camera raws to JPEG"
    return f"save {suffix} as JPEG or PNG"


def _plain(name: str) -> str:
    name = unicodedata.normalize("NFC", name.replace("\\", "/"))
    return "/".join(part for part in name.split("/") if part not in ("", ".")).strip()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", _plain(unquote(name)).casefold())


def _stem(name: str) -> str:
    return _folded(name).removesuffix(Path(name).suffix.lower())


def _last_stem(name: str) -> str:
    return PurePosixPath(_stem(name)).name


def _look(name: str) -> str:
    """Without spaces and signs that nobody sees, in one form."""
    shown = unicodedata.normalize("NFKC", _folded(name))
    return "".join(sign for sign in shown if not sign.isspace() and unicodedata.category(sign) not in ("Cf", "Cc"))


def _difference(name: str, file: str) -> str:
    signs = enumerate(zip_longest(name, file, fillvalue=""), 1)
    place, (wrong, right) = next(entry for entry in signs if entry[1][0] != entry[1][1])
    return f"has {_sign(right)} instead of {_sign(wrong)} as character {place}"


def _sign(sign: str) -> str:
    return f"U+{ord(sign):04X} {unicodedata.name(sign, 'CONTROL')}" if sign else "nothing"
