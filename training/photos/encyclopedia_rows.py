"""The rows of the dataset `encyclopedia`: a picture, a name or a question to the entry that explains it.

Its training queries are pictures of every set, also of those that do not ship. What a picture shows is known from its
own words and from the classes that the image tower is sure of. Its test queries are the test pictures of `photos`,
whose names say what they show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from genius.collections.draft import Candidate, Draft, SourceImage
from genius.collections.layout import SPLITS
from genius.collections.rules import SourceEntry
from training.photos.encyclopedia import Encyclopedia, EncyclopediaEntry
from training.photos.licenses import SETS
from training.photos.phrasings import WHAT_IS_THIS
from training.photos.pictures import DISHES, FOR_CHILDREN, Photo, dish_head, stable_hash
from training.photos.predictions import Predictions

PAIRS_OF_ENTRY = 4  # illustrated pages of one entry
SHOWN_CLASSES = 3  # most specific entries of the predicted classes that are right answers
FASHION_SHARE = 3  # every third product shot asks: there are many, of few kinds
NO_DISH = (  # entries whose names are words of dishes that they do not mean: "zucchini boats"
    *("ball", "bar", "boat", "cream", "desert", "fish", "glass", "mortar", "oven", "person", "pillow", "sea", "sheet"),
    *("stick", "toast", "tortoise", "turkey", "wing"),
)
NAME_QUERIES = ("{name}", "What is {name}?", "the meaning of {name}", "{name}, explained")


@dataclass(frozen=True)
class Sighting:
    """A picture and the entries of what it shows."""

    image: SourceImage
    split: str
    entries: tuple[EncyclopediaEntry, ...]
    key: str  # of its question
    copies: object = None  # pictures of one key are near copies


def encyclopedia_rows(draft: Draft, book: Encyclopedia, sightings: Sequence[Sighting], photos: Sequence[Photo]) -> None:
    """Add all entries, illustrated pages and queries."""
    texts = {
        id(entry): draft.candidate((1, 3, 6), SPLITS, text=entry.text, source=entry_facts(entry))
        for entry in book.entries
    }
    pages, shown = illustrate(draft, book, photos)
    for number, entry in enumerate(book.entries):
        split = ("test", "val")[bucket] if (bucket := stable_hash(entry.text) % 10) < 2 else "train"
        for template in NAME_QUERIES:
            draft.ask(1, split, [texts[id(entry)]], text=template.format(name=entry.name))
        draft.ask(1, split, [texts[id(entry)]], text=f"{entry.definition[:1].upper()}{entry.definition[1:]}.")
        for synonym in entry.synonyms[:2]:
            draft.ask(1, split, [texts[id(entry)]], text=synonym)
        for template in NAME_QUERIES if pages[number] else ():
            draft.ask(2, split, pages[number], text=template.format(name=entry.name))
    numbers = {id(entry): number for number, entry in enumerate(book.entries)}
    for sighting in sightings:
        answers = [texts[id(entry)] for entry in sighting.entries]
        if not answers:
            continue
        question = WHAT_IS_THIS[stable_hash(sighting.key) % len(WHAT_IS_THIS)]
        draft.ask(3, sighting.split, answers, image=sighting.image)
        draft.ask(6, sighting.split, answers, text=question, image=sighting.image)
        illustrated = [page for entry in sighting.entries for page in pages[numbers[id(entry)]]]
        if illustrated and sighting.copies not in shown:
            draft.ask(8, sighting.split, illustrated, text=question, image=sighting.image)


def illustrate(
    draft: Draft, book: Encyclopedia, photos: Sequence[Photo]
) -> tuple[dict[int, list[Candidate]], set[int]]:
    """Pages of entries with training photographs that they name; returns them by entry, and the copies they show."""
    numbers = {id(entry): number for number, entry in enumerate(book.entries)}
    pages: dict[int, list[Candidate]] = defaultdict(list)
    shown: set[int] = set()
    for photo in sorted(photos, key=lambda photo: stable_hash(photo.record.id)):
        entry = photo_entry(book, photo)
        if entry is None or photo.split != "train" or photo.copies in shown:
            continue
        own = pages[numbers[id(entry)]]
        if len(own) < PAIRS_OF_ENTRY:
            shown.add(photo.copies)
            text_facts = entry_facts(entry)
            both = {name: f"picture: {photo.facts[name]}; text: {text_facts[name]}" for name in ("credit", "licence")}
            own.append(draft.candidate((2, 8), SPLITS, text=entry.text, image=photo.image, source=photo.facts | both))
    return pages, shown


def photo_entry(book: Encyclopedia, photo: Photo) -> EncyclopediaEntry | None:
    """The entry of what a photograph's name says."""
    if photo.set in DISHES:
        return book.named(dish_head(photo.name), left_out=NO_DISH)
    return book.named(photo.name.removesuffix(FOR_CHILDREN))


def entry_facts(entry: EncyclopediaEntry) -> dict[str, str]:
    """For src_content."""
    source = "wordnet" if entry.synset else "definitions"
    facts = {"kind": "entry", "category": "encyclopedia", "set": source} | SETS[source].facts
    return facts | ({"synset": entry.synset} if entry.synset else {})


def photo_sightings(book: Encyclopedia, photos: Sequence[Photo], predictions: Predictions) -> list[Sighting]:
    """What the photographs show: by their names, and in training by predicted class where the name is no entry's."""
    found = []
    for photo in photos:
        captions = photo.record.captions
        entries = book.captioned(captions) if len(captions) > 1 else [photo_entry(book, photo)]
        if photo.split == "train" and not any(entries):
            entries += _predicted(book, predictions, photo.image)
        found.append(Sighting(photo.image, photo.split, _unique(entries), photo.record.id, photo.copies))
    return found


def set_sightings(
    book: Encyclopedia, name: str, entries: Sequence[SourceEntry], predictions: Predictions
) -> list[Sighting]:
    """What the training and validation pictures of another set show, by their words and their predicted classes."""
    found = []
    for number, entry in enumerate(entries):
        if len(entry.splits) > 1 or "test" in entry.splits or (name == "fashion" and number % FASHION_SHARE):
            continue
        named = list(_named(book, name, entry))
        if name in ("flickr8k", "visual7w"):
            named += _predicted(book, predictions, entry.image)
        found.append(Sighting(entry.image, *entry.splits, _unique(named), entry.record.id))
    return found


def _named(book: Encyclopedia, name: str, entry: SourceEntry) -> Iterable[EncyclopediaEntry | None]:
    """The entries that a picture's own words name."""
    record = entry.record
    match name:
        case "flickr8k":
            return book.captioned(record.captions)
        case "fashion":
            return [book.named(str(record.attributes.get("articleType", "")))]
        case "grocery":
            class_name = str(record.attributes["class_name"]).replace("-", " ")
            return [book.named(class_name), book.named(str(record.attributes["coarse"]).replace("-", " "))]
        case "visual7w":
            return book.captioned([text for pair in record.qa for text in pair])
        case "emoji":
            return [book.by_name.get(record.captions[0].lower())] if record.captions else []
    return []


def _predicted(book: Encyclopedia, predictions: Predictions, image: SourceImage) -> list[EncyclopediaEntry]:
    return book.predicted(predictions[image.digest])[:SHOWN_CLASSES]


def _unique(entries: Iterable[EncyclopediaEntry | None]) -> tuple[EncyclopediaEntry, ...]:
    return tuple({id(entry): entry for entry in entries if entry is not None}.values())
