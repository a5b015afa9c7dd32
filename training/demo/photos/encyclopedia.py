"""An encyclopedia that answers any photograph, and its dataset: a picture, a name or a question
asks for an entry.

The entries are the 1,000 classes of ImageNet with WordNet's definitions, which timm carries, and
the everyday things of everyday.tsv: words of captions and names of pictures. A row of that table
has

    name            of the entry; another one of ImageNet may have it as a synonym
    meaning         a synset of WordNet, for its definition, or a definition of our own
    other words     by which captions call it, separated by commas; "-": captions rarely mean this
                    thing by its name
    ImageNet classes   that are kinds of it: 151-268 are dogs

Pictures of every set ask in training, also those that do not ship: their words, and the classes
that the image tower is sure of, say what they show. In tests the pictures of `photos` ask, whose
names say what they show.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from timm.data import ImageNetInfo

from genius.collections.draft import Candidate, Draft, SourceImage
from genius.collections.layout import SPLITS
from genius.collections.rules import SourceEntry
from genius.collections.source_records import Record
from genius.explore.word_fits import singular
from genius.models.class_bridge import entry_text
from genius.texts import stable_hash
from training.demo.photos.pictures import DISHES, FOR_CHILDREN, Photo, Predictions, dish_head
from training.demo.photos.tables import FOLDER, NOT_MEANT, SETS, TEMPLATES, choice, with_text_facts

TABLE = FOLDER / "everyday.tsv"
NOT_IN_CAPTIONS = "-"
ALL_SYNSETS = "imagenet22k"  # timm's largest table of WordNet's nouns
SYNSET = re.compile(r"n\d{8}")
WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*")
LONGEST = 3  # words of a phrase
# least probability of an entry with one class, and of several kinds together
ONE_CLASS, KINDS = 0.45, 0.5

PAIRS_OF_ENTRY = 4  # illustrated pages of one entry
SHOWN_CLASSES = 3  # most specific entries of the predicted classes that are right answers
FASHION_SHARE = 3  # every third product shot asks: there are many, of few kinds


@dataclass(eq=False)
class EncyclopediaEntry:
    """One entry, which equals itself alone."""

    name: str
    definition: str
    synset: str = ""  # WordNet's, empty for a definition of our own
    synonyms: list[str] = field(default_factory=list)
    # by which captions call it, in addition to the name
    words: list[str] = field(default_factory=list)
    classes: set[int] = field(default_factory=set)  # of ImageNet

    @property
    def text(self) -> str:
        """ "Dog (domestic dog, Canis familiaris): a member of the genus Canis …" """
        return entry_text(self.name, self.synonyms, self.definition)


class Encyclopedia:
    """All entries, found by the words of a text or by the classes that a tower predicts."""

    def __init__(self, entries: list[EncyclopediaEntry]):
        self.entries = entries

    @classmethod
    def read(cls, table: Path = TABLE) -> "Encyclopedia":
        """The entries of ImageNet and of the table."""
        classes, synsets = ImageNetInfo(), ImageNetInfo(ALL_SYNSETS)
        by_synset: dict[str, EncyclopediaEntry] = {}
        for number in range(classes.num_classes()):
            synset = classes.index_to_label_name(number)
            (name, *synonyms), definition = _described(classes, synset)
            by_synset[synset] = EncyclopediaEntry(
                name, definition, synset, synonyms, classes={number}
            )
        without_synset = []
        for line in table.read_text(encoding="utf-8").splitlines()[1:]:
            name, meaning, words, ranges = line.split("\t")
            if SYNSET.fullmatch(meaning):
                lemmas, definition = _described(synsets, meaning)
                entry = by_synset.setdefault(meaning, EncyclopediaEntry(name, definition, meaning))
                entry.name = name
                entry.synonyms = [lemma for lemma in lemmas if lemma.lower() != name.lower()]
            else:
                entry = EncyclopediaEntry(name, meaning)
                without_synset.append(entry)
            entry.words += (
                [] if words == NOT_IN_CAPTIONS else [name, *filter(None, words.split(","))]
            )
            entry.classes |= _numbers(ranges)
        return cls(_without_repetitions([*by_synset.values(), *without_synset]))

    @cached_property
    def by_word(self) -> dict[str, EncyclopediaEntry]:
        """Word or phrase in lower case -> entry of the table; of several, the first."""
        return {
            word.lower(): entry
            for entry in reversed(self.entries)
            for word in reversed(entry.words)
        }

    @cached_property
    def by_name(self) -> dict[str, EncyclopediaEntry]:
        """Any name or synonym, lower case -> entry; everyday names first."""
        synonyms = {
            synonym.lower(): entry
            for entry in reversed(self.entries)
            for synonym in reversed(entry.synonyms)
        }
        # the first entry of a name has it
        names = {entry.name.lower(): entry for entry in reversed(self.entries)}
        return synonyms | names | self.by_word

    @cached_property
    def by_class(self) -> dict[int, list[int]]:
        """Class of ImageNet -> numbers of its entries."""
        by_class = defaultdict(list)
        for number, entry in enumerate(self.entries):
            for class_ in entry.classes:
                by_class[class_].append(number)
        return by_class

    def mentioned(self, text: str) -> list[EncyclopediaEntry]:
        """The entries that a text names, in its order; the longest phrase counts."""
        words = WORD.findall(text.lower())
        entries = []
        start = 0
        while start < len(words):
            for length in range(LONGEST, 0, -1):
                if entry := _found(self.by_word, words[start : start + length]):
                    entries.append(entry)
                    start += length - 1
                    break
            start += 1
        return entries

    def named(self, name: str, left_out: Container[str] = ()) -> EncyclopediaEntry | None:
        """The entry of the thing that a name names, by its last words: "red apple" is an apple.

        left_out: names of entries that are not meant.
        """
        words = name.lower().split()
        entries = [_found(self.by_name, words[start:]) for start in range(len(words))]
        entries += reversed(self.mentioned(name))
        return next((entry for entry in entries if entry and entry.name not in left_out), None)

    def captioned(self, captions: Iterable[str], least: int = 2) -> list[EncyclopediaEntry]:
        """The entries that at least this number of the captions name, the most frequent first."""
        counts = Counter(
            entry for caption in captions for entry in dict.fromkeys(self.mentioned(caption))
        )
        return [entry for entry, count in counts.most_common() if count >= least]

    def predicted(self, probabilities: dict[int, float]) -> list[EncyclopediaEntry]:
        """The most specific entries that a tower is sure enough of, SHOWN_CLASSES at most.
        probabilities: by class of ImageNet.
        """
        sums: dict[int, float] = defaultdict(float)
        for class_, probability in probabilities.items():
            for number in self.by_class[class_]:
                sums[number] += probability
        sure = []
        for number, total in sums.items():
            kinds = len(self.entries[number].classes)
            if total >= (ONE_CLASS if kinds == 1 else KINDS):
                sure.append((kinds, -total, number))
        return [self.entries[number] for _, _, number in sorted(sure)[:SHOWN_CLASSES]]


def _found(
    entries: Mapping[str, EncyclopediaEntry], words: Sequence[str]
) -> EncyclopediaEntry | None:
    """The entry of a phrase in the singular or plural."""
    phrase = " ".join(words)
    return entries.get(phrase) or entries.get(singular(phrase))


def _without_repetitions(entries: list[EncyclopediaEntry]) -> list[EncyclopediaEntry]:
    """Leave out a class of ImageNet that has the name of another entry and is a kind of it."""
    by_name: dict[str, list[EncyclopediaEntry]] = defaultdict(list)
    for entry in entries:
        by_name[entry.name.lower()].append(entry)
    return [
        entry
        for entry in entries
        if entry.words
        or not any(
            entry.classes <= other.classes and other is not entry
            for other in by_name[entry.name.lower()]
        )
    ]


def _described(synsets: ImageNetInfo, synset: str) -> tuple[list[str], str]:
    """Names and definition of a synset, which timm describes as "lemma, lemma: definition"."""
    names = synsets.label_name_to_description(synset, detailed=False)
    described = synsets.label_name_to_description(synset, detailed=True)
    return names.split(", "), described.removeprefix(names).removeprefix(":").strip(" .")


def _numbers(ranges: str) -> set[int]:
    """ "3,7-9" -> {3, 7, 8, 9}"""
    numbers: set[int] = set()
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


@dataclass(frozen=True)
class Sighting:
    """A picture and the entries of what it shows."""

    image: SourceImage
    split: str
    entries: tuple[EncyclopediaEntry, ...]
    key: str  # of its question
    copies: object = None  # pictures of one key are near copies


def encyclopedia_rows(
    draft: Draft, book: Encyclopedia, sighted: Iterable[Sighting], photos: Sequence[Photo]
) -> None:
    """Add all entries, illustrated pages and queries."""
    texts = {
        entry: draft.candidate((1, 3, 6), SPLITS, text=entry.text, source=entry_facts(entry))
        for entry in book.entries
    }
    pages, shown = illustrate(draft, book, photos)
    for entry in book.entries:
        split = ("test", "val")[bucket] if (bucket := stable_hash(entry.text) % 10) < 2 else "train"
        questions = [template.format(name=entry.name) for template in TEMPLATES["entry"]]
        definition = f"{entry.definition[:1].upper()}{entry.definition[1:]}."
        for text in (*questions, definition, *entry.synonyms[:2]):
            draft.ask(1, split, [texts[entry]], text=text)
        for text in questions if pages[entry] else ():
            draft.ask(2, split, pages[entry], text=text)
    for sighting in sighted:
        answers = [texts[entry] for entry in sighting.entries]
        if not answers:
            continue
        question = choice(TEMPLATES["question"], sighting.key)
        draft.ask(3, sighting.split, answers, image=sighting.image)
        draft.ask(6, sighting.split, answers, text=question, image=sighting.image)
        illustrated = [page for entry in sighting.entries for page in pages[entry]]
        if illustrated and sighting.copies not in shown:
            draft.ask(8, sighting.split, illustrated, text=question, image=sighting.image)


def illustrate(
    draft: Draft, book: Encyclopedia, photos: Sequence[Photo]
) -> tuple[dict[EncyclopediaEntry, list[Candidate]], set[int]]:
    """Pages of entries with training photographs that they name; returns them by entry, and the
    copies they show.
    """
    pages: dict[EncyclopediaEntry, list[Candidate]] = defaultdict(list)
    shown: set[int] = set()
    for photo in sorted(photos, key=lambda photo: (photo.is_scene, stable_hash(photo.record.id))):
        entry = photo_entry(book, photo)
        if entry is None or photo.split != "train" or not photo.shown or photo.copies in shown:
            continue
        if len(pages[entry]) < PAIRS_OF_ENTRY:
            shown.add(photo.copies)
            facts = with_text_facts(photo.facts, entry_facts(entry))
            pages[entry].append(draft.candidate((2, 8), SPLITS, entry.text, photo.image, facts))
    return pages, shown


def photo_entry(book: Encyclopedia, photo: Photo) -> EncyclopediaEntry | None:
    """The entry of what a photograph's name says, or that a scene illustrates."""
    if photo.is_scene:
        return book.by_name.get(photo.entry.lower())
    if photo.set in DISHES:
        return book.named(dish_head(photo.name), left_out=NOT_MEANT["dish"])
    return book.named(photo.name.removesuffix(FOR_CHILDREN))


def entry_facts(entry: EncyclopediaEntry) -> dict[str, str]:
    """For src_content."""
    source = "wordnet" if entry.synset else "definitions"
    facts = {"kind": "entry", "category": "encyclopedia", "set": source} | SETS[source].facts
    return facts | ({"synset": entry.synset} if entry.synset else {})


def sightings(
    book: Encyclopedia,
    photos: Sequence[Photo],
    sets: Mapping[str, Sequence[SourceEntry]],
    predictions: Predictions,
) -> Iterator[Sighting]:
    """What photographs and scenes show, then the pictures of the other sets: by their words and
    predicted classes.

    A photograph's class counts in training, where its name is no entry's. Of scenes and of the
    other sets no picture of the test asks.
    """
    entries: list[EncyclopediaEntry | None]
    for photo in photos:
        captions = photo.record.captions
        if photo.is_scene and photo.split == "test":
            continue
        if photo.is_scene:
            named = book.captioned(captions) if len(captions) > 2 else book.mentioned(captions[-1])
            entries = [photo_entry(book, photo), *named]
        else:
            entries = [*book.captioned(captions)] if captions[1:] else [photo_entry(book, photo)]
        if photo.is_scene or (photo.split == "train" and not any(entries)):
            entries += book.predicted(predictions[photo.image.digest])
        unique = _unique(entries)
        yield Sighting(photo.image, photo.split, unique, photo.record.id, photo.copies)
    for name, of_set in sets.items():
        for number, entry in enumerate(of_set):
            if entry.splits not in ({"train"}, {"val"}) or (
                name == "fashion" and number % FASHION_SHARE
            ):
                continue
            entries = [*_named(book, name, entry.record)]
            if name in ("flickr8k", "visual7w"):
                entries += book.predicted(predictions[entry.image.digest])
            (split,) = entry.splits
            yield Sighting(entry.image, split, _unique(entries), entry.record.id)


def _named(book: Encyclopedia, name: str, record: Record) -> Sequence[EncyclopediaEntry | None]:
    """The entries that the own words of a set's picture name."""
    match name:
        case "flickr8k":
            return book.captioned(record.captions)
        case "fashion":
            return [book.named(str(record.attributes.get("articleType", "")))]
        case "grocery":
            return [
                book.named(str(record.attributes[field]).replace("-", " "))
                for field in ("class_name", "coarse")
            ]
        case "visual7w":
            return book.captioned([text for pair in record.qa for text in pair])
    return [book.by_name.get(record.captions[0].lower())] if record.captions else []  # emoji


def _unique(entries: Iterable[EncyclopediaEntry | None]) -> tuple[EncyclopediaEntry, ...]:
    return tuple(dict.fromkeys(entry for entry in entries if entry is not None))
