"""List the files of a folder, once: the pictures in it, and what becomes of every other file.

Cameras and telephones make several files of one photograph: a raw, an original, a film, edits.
"""

import json
import os
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qsl, unquote

from genius.collections.formats import HEAD, HEIC_SUFFIXES, RAW_SUFFIXES, kind_of
from genius.collections.images import READABLE, SUFFIXES
from genius.collections.lines import PACKED, text_lines
from genius.errors import UserError, quoted
from genius.run import Run, is_run

USED, COPY, HIDDEN, UNREADABLE = "used", "copy of another", "hidden or thumbnail", "unreadable"
VERSION = "version of another"  # the detail names it
PART = "part of another picture"  # the detail names it
MADE = "a run or a collection, not read"  # of a folder that this program made
# an outcome: a text of a used file; a detail: of a used file of texts
TEXT, TEXTS = "text", "texts"
UNNAMED, UNSUPPORTED, OTHER = "not named by the table", "unsupported kind", "not a picture"
LINK = "not followed"  # of a link to a folder
MAX_REMEDIES = 5  # in a line
MISSING, WEB = "missing", "web address"  # of a name in a table
CAPTION, UNHEARD = "caption from", "unreadable metadata"  # the former with an origin, such as IPTC
ELSEWHERE = re.compile(  # begins a path of a disk, or an address
    r"(file:)?/|[a-z][\w+.-]+:/|[a-z]:|~/|%\w+%/|\$\{?\w+\}?/", re.IGNORECASE
)
# characters and folders of a path: a text of many slashes takes no minutes
LONGEST_PATH, DEEPEST_PATH = 4096, 32
# as Label Studio names what it was given
UPLOADED = re.compile(r"/upload/(?:.*/)?[0-9a-f]{8}-([^/]+)$")
LIBRARIES = (".photoslibrary", ".photolibrary", ".aplibrary")  # of Photos, iPhoto and Aperture
ORIGINALS = ("originals", "masters")  # the folders in them that hold what their owner put there
HIDDEN_NAMES = frozenset(
    {"thumbs", "thumbnails", "thumbs.db", "ehthumbs.db", "desktop.ini", "lost+found"}
).union(
    ["@eadir", "@__thumb", "@tmp", "@recycle", "@recently-snapshot", "#recycle", "#snapshot"],
    ["thumb", "lost.dir", "encoded-video"],  # of Android and Immich
    ["__macosx", "_vti_cnf", "$recycle.bin", "system volume information"],
)
SHEETS = frozenset({".xlsx", ".xls", ".ods", ".numbers"})
ARCHIVES = frozenset({".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar"})
UNSUPPORTED_SUFFIXES = (SHEETS | ARCHIVES).union(
    HEIC_SUFFIXES,
    [".avif", ".jxl", ".jp2", ".j2k", ".tga", ".pcx", ".ppm", ".pgm", ".pbm"],
    [".psd", ".xcf", ".svg", ".eps", ".ico", ".icns", ".exr", ".hdr"],
)
# that names of pictures end with
PICTURES = (UNSUPPORTED_SUFFIXES - SHEETS - ARCHIVES).union(SUFFIXES)
PARTS = (".mov", ".mp4", ".aae")  # the film of a Live Photo, and what was done to it
PART_STEM = re.compile(r"_(heic|jpe?g|3)$")  # that some programs add to the name of the film
EDITED = re.compile(r"^(img_)e(?=\d+$)")  # IMG_E4.JPG is IMG_4.HEIC as its owner changed it


def read_reports(table: Path) -> Iterator[tuple[str, "FileReport"]]:
    """Yield (dataset, report) for each line that `CollectionWriter.files` wrote, if the table is
    there.
    """
    if table.is_file():
        yield from (read_report(line) for _, line in text_lines(table))


def read_report(line: str) -> tuple[str, "FileReport"]:
    """The dataset and the report of a line."""
    dataset, *cells = (
        json.loads(f'"{cell.replace(chr(34), chr(92) + chr(34))}"') for cell in line.split("\t")
    )
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


def _kind(entry: os.DirEntry) -> tuple[bool, bool]:
    """Whether it is, or leads to, a folder; whether it is a link."""
    try:
        return entry.is_dir(), entry.is_symlink()
    except OSError:  # a link to itself
        return False, False


def printable(file: Path | str) -> str:
    """The name of a file, which may not be UTF-8."""
    return os.fsencode(file).decode(errors="backslashreplace")


class Folder:
    """The files of a folder and of folders that it links to, each place once."""

    def __init__(self, root: Path):
        self.root = root
        self.images: list[str] = []
        self.others: list[FileReport] = []
        self.notes: list[str] = []
        self.files: set[str] = set()  # that are not hidden, and can be opened
        for file, hidden in sorted(self._walk()):
            other = FileReport(file, HIDDEN) if hidden else other_than_picture(root, file)
            if other is None:
                self.images.append(file)
            else:
                self.others.append(other)
            if other is None or other.outcome not in (HIDDEN, UNREADABLE):
                self.files.add(file)
        rest = [other.file for other in self.others if other.outcome in (UNSUPPORTED, OTHER)]
        parts = parts_of_others(self.images, rest)
        self.images = [file for file in self.images if file not in parts]
        self.others = [other for other in self.others if other.file not in parts]
        self.others += (FileReport(file, PART, whole) for file, whole in parts.items())
        self._alike = {form: _grouped(self.files, form) for form in (_plain, _folded, _look)}
        self._alike |= {form: _grouped(self.images, form) for form in (_stem, _last_stem)}
        self.pictures = frozenset(self.images)
        self._by_name = {PurePosixPath(file).name: file for file in self.files}

    def __contains__(self, file: str) -> bool:
        return file in self.files

    def find(self, name: str) -> str | None:
        """The file that a table names: exactly, or in another Unicode form, with other slashes or
        in another case.

        None if there is none. Raises UserError if several fit, or if one looks the same but is not.
        """
        if name in self.files or os.path.isfile(self.root / name):
            return name
        for form in (_plain, _folded):
            fits = sorted(self._alike[form].get(form(name), ()))
            if len(fits) > 1:
                raise UserError(
                    f"{quoted(name)} may be any of {', '.join(map(quoted, fits))}; name one exactly"
                )
            if fits:
                return fits[0]
        fits = self._alike[_stem].get(_stem(name), [])
        if len(fits) == 1:
            # of a name without its suffix, or of a picture that was saved in another format
            return fits[0]
        for file in self._alike[_look].get(_look(name), ()):
            raise UserError(
                f"{quoted(name)} is missing; {quoted(file)} looks the same, but "
                f"{_difference(name, file)}"
            )
        return None

    def find_elsewhere(self, name: str) -> str | None:
        """The file here that has the end of a path of a disk, or of an address, the longest that
        there is.
        """
        return name if name in self.files else next(filter(None, map(self.find, _ends(name))), None)

    def find_below(self, name: str) -> str | None:
        """The picture whose path ends with a name, maybe one without its suffix, if there is
        exactly one.
        """
        names = _ends(name) if is_elsewhere(name) else [name]
        return next(filter(None, map(self._find_below, names)), None)

    def _find_below(self, name: str) -> str | None:
        stem = _stem(name)
        end = f"/{_folded(name)}"
        alike = self._alike[_last_stem].get(_last_stem(name), ())
        fits = [image for image in alike if f"/{_stem(image)}".endswith("/" + stem)]
        fits = [image for image in fits if f"/{_folded(image)}".endswith(end)] or fits
        return fits[0] if name and len(fits) == 1 else None

    def names_picture(self, name: str) -> bool:
        """Whether a cell of a table names a picture here."""
        with suppress(UserError):
            file = self.find_elsewhere(name) if is_elsewhere(name) else self.find(name)
            file = file or self.find_below(name) or ""
            return file in self.pictures or Path(file).suffix.lower() in PICTURES
        return False

    def missing(self, name: str, line: int, has_texts: bool) -> FileReport:
        """What is said of a picture that a table names in this line, but that is not here.
        has_texts: that are kept.
        """
        is_named = name != f"(line {line})"
        detail = f"{quoted(name)} in line {line}" if is_named else f"line {line} names none"
        if other := self._by_name.get(PurePosixPath(name.replace("\\", "/")).name):
            detail += f" (there is {quoted(other)})"
        if "://" in name and not name.lower().startswith("file:"):
            detail += "; nothing is downloaded: put the files into the folder"
            return FileReport(name, WEB, detail)
        detail += "; its texts are kept, without a picture" * has_texts
        return FileReport(name, MISSING, detail)

    def unused(self, images: set[str], texts: set[str]) -> list[FileReport]:
        """What becomes of the files that are none of these images. texts: files that are used for
        what they say.
        """
        unnamed = [FileReport(image, UNNAMED) for image in self.images if image not in images]
        return unnamed + [
            FileReport(other.file, USED, TEXTS)
            if other.outcome == OTHER and other.file in texts
            else other
            for other in self.others
            if other.file not in images
        ]

    def _leave(self, path: str, outcome: str, detail: str = "") -> None:
        self.others.append(FileReport(path, outcome, detail))

    def _walk(self) -> Iterator[tuple[str, bool]]:
        """Yield (relative path, hidden). A link to a folder is followed unless it is hidden, that
        folder is read anyway, or the link lies in it: it would lead to all that lies beside this
        folder.
        """
        top = os.path.realpath(self.root)
        seen = {top}
        followed = [top]
        waiting: list[tuple[Path, str, bool, tuple[str, ...]]] = [(self.root, "", False, (top,))]
        while waiting:
            # inside: real folders, from the root by links to this one
            folder, prefix, hidden, inside = waiting.pop(0)
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                self._leave(prefix.rstrip("/"), UNREADABLE, f"folder ({error.strerror})")
                continue
            for entry in entries:
                path = prefix + entry.name
                unseen = hidden or is_hidden(entry.name, folder.name)
                is_folder, is_link = _kind(entry)
                if not is_folder or (is_link and unseen):
                    yield path, unseen
                    continue
                real = os.path.realpath(entry.path)
                if is_link and (real in seen or any(map(Path(real).is_relative_to, followed))):
                    self._leave(path, COPY, "a link to a folder that is read already")
                elif is_link and any(Path(place).is_relative_to(real) for place in inside):
                    self._leave(path, LINK, f"{printable(path)} leads to {real}, which it lies in")
                elif real in seen:
                    continue
                elif is_made(Path(entry.path)):
                    seen.add(real)
                    self._leave(path, MADE)
                else:
                    seen.add(real)
                    if is_link:
                        followed.append(real)
                        self.notes.append(f"{printable(path)} leads to {real}, which is read, too")
                    within = (*inside, real) if is_link else inside
                    waiting.append((Path(entry.path), path + "/", unseen, within))


def is_made(folder: Path) -> bool:
    """Whether this program made the folder: a run beside its table would be read as its
    pictures.
    """
    with suppress(UserError, OSError):
        return any(folder.glob("cand_pool/*/mbeir_*.jsonl")) or (
            is_run(folder) and bool(Run(folder))
        )
    return False


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
    # what some programs call a JPEG
    unsure = not suffix or suffix in UNSUPPORTED_SUFFIXES - SHEETS - ARCHIVES
    try:
        is_picture = suffix in SUFFIXES or (unsure and _looks_like_a_picture(root / file))
    except OSError as error:
        return FileReport(file, UNREADABLE, f"{printable(file)} cannot be read ({error.strerror})")
    if is_picture:
        if file == file.encode(errors="ignore").decode():
            return None
        message = f"{printable(file)}: the file name is not UTF-8; rename the file"
        return FileReport(file, UNREADABLE, message)
    if not os.path.isfile(root / file):
        is_link = os.path.islink(root / file)
        what = "is a link to nothing" if is_link else "is no file but a pipe, a socket or a device"
        return FileReport(file, UNREADABLE, f"{printable(file)} {what}")
    if suffix in UNSUPPORTED_SUFFIXES and not file.lower().endswith(PACKED):
        return FileReport(file, UNSUPPORTED, _remedy(suffix))
    return FileReport(file, OTHER)


def _looks_like_a_picture(file: Path) -> bool:
    """By its first bytes. Raises OSError for a file that cannot be read."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return kind_of(stream.read(HEAD)) in READABLE


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
        elif suffix not in HEIC_SUFFIXES or _rank(file)[0] == 0:  # an edit is no part
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
    kind = 2 if suffix in RAW_SUFFIXES else 1 if suffix in HEIC_SUFFIXES else 0
    return not EDITED.match(path.stem.lower()), kind


def account(reports: Sequence[FileReport]) -> list[str]:
    """One line for each outcome: how many files, of which kinds, and the first one's detail."""
    by_outcome = defaultdict(list)
    for report in reports:
        by_outcome[report.outcome].append(report)
    captions = sorted(outcome for outcome in by_outcome if outcome.startswith(CAPTION))
    order = (USED, *captions, VERSION, COPY, PART, HIDDEN, MADE, LINK, UNREADABLE, UNHEARD)
    order += (MISSING, WEB, UNNAMED, UNSUPPORTED, OTHER)
    return [_line(outcome, by_outcome[outcome]) for outcome in order if outcome in by_outcome]


def _line(outcome: str, reports: Sequence[FileReport]) -> str:
    what = {MISSING: "picture", WEB: "picture", LINK: "link", MADE: "folder"}.get(outcome, "file")
    line = f"{len(reports):,} {what}{'s' * (len(reports) > 1)}: {outcome}"
    if outcome in (PART, UNSUPPORTED, OTHER):
        suffixes = Counter(Path(each.file).suffix.lower() or "no suffix" for each in reports)
        counts = (f"{suffix} {count:,}" for suffix, count in suffixes.most_common(6))
        line += f" ({', '.join(counts)})"
    details = list(dict.fromkeys(report.detail for report in reports if report.detail))
    if outcome == UNSUPPORTED:
        line += "; " + "; ".join(details)
    elif outcome in (LINK, UNREADABLE, UNHEARD, MISSING, WEB):
        first = reports[0].detail
        line += f"; the first: {first}"
        remedies = (detail.rpartition("; ")[2] for detail in details if "; " in detail)
        others = [each for each in dict.fromkeys(remedies) if not first.endswith(each)]
        line += f"; others: {'; '.join(others[:MAX_REMEDIES])}" if others else ""
    elif outcome in (VERSION, COPY, PART, MADE, UNNAMED):
        line += f"; the first: {printable(reports[0].file)}"
    return line


def is_hidden(name: str, folder: str = "") -> bool:
    """Whether a file or a folder is hidden, or derived by a program. folder: that it is in."""
    # "..c.jpg" is a name that somebody chose
    dotted = name.startswith(".") and not name.startswith("..")
    derived = folder.lower().endswith(LIBRARIES) and name.lower() not in ORIGINALS
    # previews of Lightroom
    named = name.lower() in HIDDEN_NAMES or name.lower().endswith(".lrdata")
    return dotted or derived or named or name.startswith(("SYNOPHOTO_THUMB", "~$"))


def _remedy(suffix: str) -> str:
    if suffix in HEIC_SUFFIXES:
        return "to read HEIC: pip install pillow-heif"
    if suffix in SHEETS:
        return "save a table as CSV"
    if suffix in ARCHIVES:
        return f"unpack {suffix} files into the folder"
    return f"save {suffix} as JPEG or PNG"


def _ends(name: str) -> Iterator[str]:
    """What a path of a disk or an address may be called here, the longest first: its ends, without
    what follows `?`, or of a path that stands there, as in Label Studio's addresses.
    """
    if len(name) > LONGEST_PATH:
        return
    path = re.sub(r"^([a-z]:)(?!/)", r"\1/", name.replace("\\", "/"), flags=re.IGNORECASE)
    whole, _, query = path.partition("?")
    paths = [path, whole, whole.partition("#")[0]] if "://" in path else [path, whole]
    for each in dict.fromkeys([*paths, *(f"/{value}" for _, value in parse_qsl(query))]):
        # no ".." leads out of the folder
        parts = posixpath.normpath("/" + each.lstrip("/")).split("/")
        first = max(1 if each.startswith("/") else 2, len(parts) - DEEPEST_PATH)
        for at in range(first, len(parts)):
            yield "/".join(parts[at:])
    if uploaded := UPLOADED.search(whole):
        yield uploaded[1]


def _plain(name: str) -> str:
    name = unicodedata.normalize("NFC", name.replace("\\", "/"))
    return "/".join(part for part in name.split("/") if part not in ("", ".")).strip()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", _plain(unquote(name)).casefold())


def _stem(name: str) -> str:
    """Without the suffix of a picture: "0.50" is no name of 0.jpg."""
    suffix = Path(name).suffix.lower()
    return _folded(name).removesuffix(suffix) if suffix in PICTURES else _folded(name)


def _last_stem(name: str) -> str:
    return PurePosixPath(_stem(name)).name


def _look(name: str) -> str:
    """Without spaces and signs that nobody sees, in one form."""
    shown = unicodedata.normalize("NFKC", _folded(name))
    return "".join(
        sign
        for sign in shown
        if not sign.isspace() and unicodedata.category(sign) not in ("Cf", "Cc")
    )


def _difference(name: str, file: str) -> str:
    signs = enumerate(zip_longest(name, file, fillvalue=""), 1)
    place, (wrong, right) = next(entry for entry in signs if entry[1][0] != entry[1][1])
    return f"has {_sign(right)} instead of {_sign(wrong)} as character {place}"


def _sign(sign: str) -> str:
    return f"U+{ord(sign):04X} {unicodedata.name(sign, 'CONTROL')}" if sign else "nothing"
