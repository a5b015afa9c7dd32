"""Files that speak about pictures whose names they do not have: Picasa's of a folder."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as IniError
from pathlib import Path, PurePosixPath

from genius.collections.encodings import decoded
from genius.collections.lines import LineError
from genius.collections.listing import PICASA
from genius.collections.metadata import Said, bounded_bytes, tidied
from genius.reading import one_line

MAX_PICASA = 2**22  # bytes, of which reading takes two hundred times as many at worst
Found = Iterator[tuple[str, str, Said]]  # file, picture, what it says of the picture


def exported(root: Path, files: Iterable[str], images: Sequence[str]) -> Found:
    """What the files of a folder say about its pictures. files and images: paths below the root."""
    named = {(str(PurePosixPath(image).parent), _name(image)): image for image in images}
    for file in sorted(file for file in files if _name(file) in PICASA):
        folder = str(PurePosixPath(file).parent)
        try:
            told = _sections(root / file)
        except (LineError, IniError) as error:
            reason = getattr(error, "message", "").splitlines() or [one_line(error)]
            yield file, "", Said("Picasa", problem=reason[0])
            continue
        for section in told.sections():
            if image := named.get((folder, section.casefold())):
                yield file, image, _from_picasa(told[section], image)


def _name(file: str) -> str:
    return PurePosixPath(file).name.casefold()


def _sections(file: Path) -> ConfigParser:
    """Picasa's file: a section for each picture, also ones of albums and of the folder."""
    told = ConfigParser(
        strict=False, interpolation=None, delimiters="=", allow_no_value=True, default_section=""
    )
    told.read_string(decoded(bounded_bytes(file, MAX_PICASA), file)[0])
    return told


def _from_picasa(row: Mapping[str, str | None], image: str) -> Said:
    words = (row.get("keywords") or "").split(",")
    star = {"star": "yes"} if row.get("star") == "yes" else {}
    return tidied("Picasa", row.get("caption") or "", words, star, image)
