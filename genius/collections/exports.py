"""Files that speak about pictures whose names they do not have: Picasa's of a folder, and those of
an account that Flickr and Instagram export.

Flickr      photo_123.json, about the picture a-boat_123_o.jpg or 123_secret_o.jpg in any folder
Instagram   posts_1.json, about pictures by their paths in the export
"""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from configparser import Error as IniError
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from genius.collections.encodings import decoded
from genius.collections.lines import MAX_LINE, LineError, parse_object
from genius.collections.listing import PICASA
from genius.collections.metadata import Said, bounded_bytes, date_of, facts_of, is_file_name, tidied
from genius.reading import one_line

MAX_PICASA = 2**22  # bytes, of which reading takes two hundred times as many at worst
MAX_POSTS = 2**26  # bytes, of which reading takes ten times as many
FLICKR, POSTS = re.compile(r"photo_(\d+)\.json"), re.compile(r"posts_\d+\.json")
TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)  # of HTML
Found = Iterator[tuple[str, str, Said]]  # file, picture, what it says of the picture


def exported(root: Path, files: Iterable[str], images: Sequence[str]) -> Found:
    """What the files of a folder say about its pictures. files and images: paths below the root."""
    found = sorted(files)
    return chain(*(read(root, found, images) for read in (_picasa, _flickr, _instagram)))


def _picasa(root: Path, files: Sequence[str], images: Sequence[str]) -> Found:
    named = {(str(PurePosixPath(image).parent), _name(image)): image for image in images}
    for file in (file for file in files if _name(file) in PICASA):
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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


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


def _flickr(root: Path, files: Sequence[str], images: Sequence[str]) -> Found:
    about = {match[1]: file for file in files if (match := FLICKR.fullmatch(_name(file)))}
    for image in images if about else ():
        *words, size = PurePosixPath(image).stem.split("_")
        file = next((about[word] for word in reversed(words) if word in about), None)
        if file and size == "o":  # the original
            try:
                text = bounded_bytes(root / file, MAX_LINE).decode("utf-8-sig")
                yield file, image, _from_flickr(parse_object(root / file, 0, text), image)
            except (LineError, ValueError) as error:
                yield file, image, Said("Flickr", problem=getattr(error, "message", str(error)))


def _from_flickr(row: Mapping[str, Any], image: str) -> Said:
    """The title and the description are one text."""
    told = (html.unescape(TAG.sub("", _text(row.get(key)))) for key in ("name", "description"))
    texts = [text.strip().rstrip(".") for text in told if not is_file_name(text.strip())]
    text = ". ".join(filter(None, texts))
    tags = row.get("tags")
    tags = tags if isinstance(tags, list) else []
    words = [tag.get("tag") for tag in tags if isinstance(tag, dict)]
    return tidied("Flickr", text, words, facts_of(row.get("date_taken"), "", ""), image)


def _instagram(root: Path, files: Sequence[str], images: Sequence[str]) -> Found:
    pictures = frozenset(images)
    for file in (file for file in files if POSTS.fullmatch(_name(file))):
        try:
            posts = json.loads(bounded_bytes(root / file, MAX_POSTS))
        except (LineError, ValueError, RecursionError) as error:
            yield file, "", Said("Instagram", problem=getattr(error, "message", str(error)))
            continue
        for post, medium in _media(posts):
            # the file lies some folders below those that paths begin in
            places = (str(place / medium["uri"]) for place in PurePosixPath(file).parents)
            image = next((place for place in places if place in pictures), None)
            if image:
                yield file, image, _from_instagram(post, medium, image)


def _media(posts: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each post with each of its pictures and films."""
    for post in posts if isinstance(posts, list) else ():
        media = post.get("media") if isinstance(post, dict) else None
        for medium in media if isinstance(media, list) else ():
            if isinstance(medium, dict) and isinstance(medium.get("uri"), str):
                yield post, medium


def _from_instagram(post: Mapping[str, Any], medium: Mapping[str, Any], image: str) -> Said:
    """A post of several pictures has their text."""
    text = _text(medium.get("title")) or _text(post.get("title"))
    with suppress(ValueError):
        text = text.encode("latin-1").decode()  # Instagram writes the bytes of UTF-8 as letters
    text = text.encode(errors="ignore").decode()  # an unpaired surrogate
    date = date_of(medium.get("creation_timestamp") or post.get("creation_timestamp"))
    return tidied("Instagram", text, [], facts_of(date, "", ""), image)
