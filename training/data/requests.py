"""Requests that a reader learns from: what people type, with the reading, the content and what is
left out marked.

    requests.tsv    set, picture, reading, words

In the words, [ ] enclose the content, < > what is left out, {name} and {caption} stand for any
content of that form. The set `asked` was composed for this project by other hands than the set
`own`, of which one phrasing in HELD_OUT is kept, whole, for tests.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from open_clip import IMAGENET_CLASSNAMES

from genius.collections.mbeir import Collection
from genius.evaluation.paper import read_published as read_table
from genius.models.reader import ASKING, CONTENT, LEFT_OUT
from genius.schema import READINGS, READINGS_OF_PICTURES, READINGS_OF_WORDS, Modality
from genius.texts import stable_hash

FILE = Path(__file__).with_suffix(".tsv")
HELD_OUT = 5
LONGEST_NAME, LONGEST_CAPTION = 3, 14  # words
FEWEST, MOST = 50, 10_000  # names, and captions, of a collection; of fewer, others are added
MARKS = {"[": CONTENT, "<": LEFT_OUT}
ANY_CONTENT = ("photo", "entry", "paraphrase", "page")  # readings whose content may be any other
TYPOS, SMALL, LOUD, UNPOINTED, POINTED = 0.08, 0.25, 0.02, 0.3, 0.1  # shares of requests


@dataclass(frozen=True)
class Phrasing:
    """A way to ask, with marks."""

    set: str
    picture: bool
    reading: str
    words: str

    @property
    def is_held_out(self) -> bool:
        return self.set == "own" and stable_hash(self.words) % HELD_OUT == 0


@dataclass(frozen=True)
class Request:
    """What somebody typed, and how it is to be read."""

    words: tuple[str, ...]
    picture: bool
    readings: tuple[str, ...]  # of which one is right
    tags: tuple[int, ...]  # of the words


@dataclass(frozen=True)
class Contents:
    """What requests may be about."""

    names: Sequence[str]
    captions: Sequence[str]

    @classmethod
    def of(cls, collection: Collection, phrasings: Sequence[Phrasing]) -> "Contents":
        """The short texts of a collection, or their heads, and its sentences."""
        names: dict[str, None] = {}
        captions: dict[str, None] = {}
        for item in collection.all_candidates():
            head = re.split(r" ?[:(]", item.text)[0].strip()
            words = item.text.split()
            if (
                len(head.split()) <= LONGEST_NAME
                and re.fullmatch(r"[^\W\d][^.,;!?]*", head)
                and len(names) < MOST
            ):
                names[head.lower()] = None
            elif LONGEST_NAME < len(words) <= LONGEST_CAPTION and len(captions) < MOST:
                captions[item.text.strip().rstrip(".")] = None
        if len(names) < FEWEST:
            names |= dict.fromkeys(IMAGENET_CLASSNAMES)
        if len(captions) < FEWEST:
            own = [
                re.search(r"\[([^{\]]+)\]", phrasing.words)
                for phrasing in phrasings
                if phrasing.reading == "photo"
            ]
            captions |= {
                found[1]: None for found in own if found and len(found[1].split()) > LONGEST_NAME
            }
        return cls(list(names), list(captions))

    def fill(self, words: str, rng: Random) -> str:
        """Words with contents in the places of {name} and {caption}."""
        words = re.sub(r"\{name\}", lambda _: rng.choice(self.names), words)
        return re.sub(r"\{caption\}", lambda _: lower_first(rng.choice(self.captions)), words)


def read_phrasings() -> list[Phrasing]:
    rows = read_table(FILE)
    return [
        Phrasing(row["set"], row["picture"] == "1", row["reading"], row["words"]) for row in rows
    ]


def labeled(phrasing: Phrasing, words: str) -> Request:
    """The request of a phrasing whose marked words were filled."""
    plain = []
    tags = list[int]()
    tag = ASKING
    for part in re.split(r"([\[\]<>])", words):
        if part in ("[", "<"):
            tag = MARKS[part]
        elif part in ("]", ">"):
            tag = ASKING
        else:
            plain.append(part)
            tags += [tag] * len(part)
    text = "".join(plain)
    found = list(re.finditer(r"\S+", text))
    of_words = [max(tags[match.start() : match.end()]) for match in found]
    return Request(
        tuple(match[0] for match in found), phrasing.picture, (phrasing.reading,), tuple(of_words)
    )


def requests_of(
    phrasings: Sequence[Phrasing], contents: Contents, each: int, rng: Random
) -> Iterator[Request]:
    """`each` requests of each phrasing: with other contents where any will do, and typed in other
    ways.
    """
    for phrasing in phrasings:
        for number in range(each):
            words = phrasing.words
            if number and phrasing.reading in ANY_CONTENT:
                words = re.sub(r"\[([^\]]+)\]", with_slot, words)
            request = labeled(phrasing, contents.fill(words, rng))
            yield retyped(request, rng) if number else request


def instruction_requests(
    instructions: dict[tuple[int, Modality, Modality], list[str]],
) -> Iterator[Request]:
    """The instructions of a collection, which say the kind of result alone."""
    for (_, query, target), texts in instructions.items():
        has_picture = query != Modality.TEXT
        names = READINGS_OF_PICTURES if has_picture else READINGS_OF_WORDS
        readings = tuple(name for name in names if READINGS[name] == target)
        for text in texts:
            words = tuple(text.split())
            yield Request(words, has_picture, readings, (ASKING,) * len(words))


def with_slot(content: re.Match[str]) -> str:
    """[a dog] -> [{name}] or, of a longer content, [{caption}]; what has a slot stays."""
    if "{" in content[1]:
        return content[0]
    return "[{caption}]" if len(content[1].split()) > LONGEST_NAME else "[{name}]"


def retyped(request: Request, rng: Random) -> Request:
    """The same as others type it: in small or large letters, without or with a mark at the end,
    with a slip.
    """
    words = list(request.words)
    chance = rng.random
    if chance() < SMALL:
        words = [word.lower() for word in words]
    elif chance() < LOUD:
        words = [word.upper() for word in words]
    if chance() < UNPOINTED:
        words[-1] = words[-1].rstrip(".?!") or words[-1]
    elif chance() < POINTED:
        words[-1] = words[-1].rstrip(".?!") + rng.choice((".", "?", "!", " ?")).strip()
    long = [place for place, word in enumerate(words) if len(word) > 4]
    if long and chance() < TYPOS:
        place = rng.choice(long)
        at = rng.randrange(1, len(words[place]) - 1)
        word = words[place]
        missing, twice = word[:at] + word[at + 1 :], word[: at + 1] + word[at:]
        swapped = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
        words[place] = rng.choice((missing, twice, swapped))
    return Request(tuple(words), request.picture, request.readings, request.tags)


def lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
