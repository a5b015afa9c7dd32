"""The rows of the dataset `photos`: every task that names, titles and captions of the photographs allow.

A picture that asks for pictures in a test is in no pool, and no copy of it in one that a test searches (pictures.py).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from genius.collections.draft import Candidate, Draft
from genius.collections.layout import SPLITS
from training.photos.pictures import DISHES, FOR_CHILDREN, Photo, dish_head, family, stable_hash
from training.photos.tables import QUESTIONS, SETS, STATED, TEXTS

NAME_QUERIES = ("{name}", "a photo of {a_name}", "I want to see {a_name}")
PAIR_QUERIES = ("{name}, with a picture", "a picture and the name of {name}", "{name}")
CHANGES = (
    "like this, but {other}",
    "the same kind of thing, but {other}",
    "{other} instead of {name}",
    "rather {other}",
)
WITH = ("with {other} instead", "the same, but with {other}", "{other} instead of {shown}")
FOR_OTHERS = {True: ("the same for adults", "for grown-ups"), False: ("the same for children", "but in a child's size")}
MOST_PAIRS = 6  # titled photographs of one name in a split; names with few photographs have one
COUNTABLE = ("flower_photos", "clothing", "npc_animals")
CHANGEABLE = ("flower_photos", "clothing", "trashnet")  # sets whose pictures change by another category


def photo_rows(draft: Draft, photos: Sequence[Photo]) -> None:
    """Add all candidates and queries of the photographs."""
    images = [picture(draft, photo) for photo in photos]
    by_name: dict[str, list[int]] = defaultdict(list)
    for number, photo in enumerate(photos):
        if photo.name:
            by_name[photo.name].append(number)
    captioned(draft, photos, images)
    for name, numbers in by_name.items():
        named(draft, name, [photos[number] for number in numbers], [images[number] for number in numbers])
    changed(draft, photos, images)


def captioned(draft: Draft, photos: Sequence[Photo], images: Sequence[Candidate]) -> None:
    """Photographs with several captions: tasks 0 and 3; the first caption is only a query."""
    for photo, image in zip(photos, images, strict=True):
        if len(photo.record.captions) > 1:
            first, *others = photo.record.captions
            texts = [draft.candidate((3,), (photo.split,), text=text, source=text_facts(photo)) for text in others]
            draft.ask(3, photo.split, texts, image=photo.image)
            if not photo.query_only:
                for caption in (first, *others):
                    draft.ask(0, photo.split, [image], text=caption)


def named(draft: Draft, name: str, photos: Sequence[Photo], images: Sequence[Candidate]) -> None:
    """The photographs of one name: tasks 0, 2, 3, 4, 6 and 8."""
    splits = {photo.split for photo in photos}
    title = draft.candidate((3, 6), splits, text=name, source=text_facts(photos[0]))
    pairs = _pairs(draft, name, photos)
    for split in SPLITS:
        in_split = [number for number, photo in enumerate(photos) if photo.split == split]
        if not in_split:
            continue
        for template in NAME_QUERIES:
            ask(draft, 0, split, images, text=template.format(name=name, a_name=_with_article(photos[0].set, name)))
        for template in PAIR_QUERIES:
            ask(draft, 2, split, list(pairs.values()), text=template.format(name=name))
        for number in in_split:
            photo = photos[number]
            question = _choice(QUESTIONS, photo.record.id)
            draft.ask(3, split, [title], image=photo.image)
            draft.ask(6, split, [title], text=question, image=photo.image)
            if split == "test" and not photo.query_only:
                continue
            others = [image for image, other in zip(images, photos, strict=True) if other.copies != photo.copies]
            ask(draft, 4, split, others, image=photo.image)
            pictures = [pair for copies, pair in pairs.items() if copies != photo.copies]
            ask(draft, 8, split, pictures, text=question, image=photo.image)


def changed(draft: Draft, photos: Sequence[Photo], images: Sequence[Candidate]) -> None:
    """A photograph and a change of its category, its ingredients or its wearer: task 7."""
    by_name: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, photo in enumerate(photos):
        by_name[photo.set, photo.name].append(number)
    alternatives = _alternatives(list(by_name))
    for photo in photos:
        if photo.split == "test" and not photo.query_only:
            continue
        choices = alternatives.get((photo.set, photo.name), [])
        if not choices:
            continue
        for turn in range(1 if photo.split == "test" else 2):
            other, texts = choices[stable_hash(f"{photo.record.id} {turn}") % len(choices)]
            targets = [number for number in by_name[photo.set, other] if photos[number].copies != photo.copies]
            text = _choice(texts, f"{photo.record.id} {turn} text")
            ask(draft, 7, photo.split, [images[number] for number in targets], text=text, image=photo.image)
            for number in targets:
                if not photos[number].query_only:
                    images[number].tasks.add(7)


def _alternatives(names: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[str, tuple[str, ...]]]]:
    """For each (set, name): other names of the set that a change leads to, and texts that say the change."""
    names = [(set_, name) for set_, name in names if name]
    alternatives = defaultdict(list)
    for set_, name in names:
        for other_set, other in names:
            if other_set == set_ and other != name and (texts := _change(set_, name, other)):
                alternatives[set_, name].append((other, texts))
    return alternatives


def _change(set_: str, name: str, other: str) -> tuple[str, ...]:
    """Texts that ask for `other` where `name` is shown; none if it is not a change of the thing shown."""
    if set_ in DISHES:
        if dish_head(name) == dish_head(other) and " with " in name and " with " in other:
            shown, wished = name.split(" with ", 1)[1], other.split(" with ", 1)[1]
            return tuple(text.format(shown=shown, other=wished) for text in WITH)
        if family(name) != family(other) or family(name) == "other dish":
            return ()
    elif set_ not in CHANGEABLE:
        return ()
    adult, other_adult = name.removesuffix(FOR_CHILDREN), other.removesuffix(FOR_CHILDREN)
    if adult == other_adult:
        return FOR_OTHERS[name.endswith(FOR_CHILDREN)]
    if name.endswith(FOR_CHILDREN) != other.endswith(FOR_CHILDREN):
        return ()
    return tuple(
        text.format(name=_with_article(set_, adult), other=_with_article(set_, other_adult)) for text in CHANGES
    )


def picture(draft: Draft, photo: Photo) -> Candidate:
    """A picture as a candidate; one that is only a query of the test is in no pool, so that no training sees it."""
    tasks, splits = ((), ()) if photo.query_only else ((0, 4), (photo.split,))
    return draft.candidate(tasks, splits, image=photo.image, source=photo.facts)


def _pairs(draft: Draft, name: str, photos: Sequence[Photo]) -> dict[int, Candidate]:
    """Titled photographs by their group of near copies; some in each split that has photographs."""
    pairs: dict[int, Candidate] = {}
    for split in SPLITS:
        shown = [photo for photo in photos if photo.split == split and not photo.query_only]
        limit = len(pairs) + min(MOST_PAIRS, 1 + len(shown) // 10)
        for photo in shown:
            if photo.copies not in pairs and len(pairs) < limit:
                pairs[photo.copies] = draft.candidate((2, 8), (split,), name, photo.image, photo.facts)
    return pairs


def ask(draft: Draft, task: int, split: str, positives: Sequence[Candidate], **query: Any) -> None:
    """Ask, unless the pool of a test would have no positive."""
    shown = [candidate for candidate in positives if candidate.tasks]
    if split != "test" or any("test" in candidate.splits for candidate in shown):
        draft.ask(task, split, shown, **query)


def text_facts(photo: Photo) -> dict[str, str]:
    """The facts of a title or caption: those of the whole set or of its texts, not the credit of one picture."""
    name = TEXTS.get(photo.set, photo.set)
    terms = SETS[name]
    facts = {"kind": photo.facts["kind"], "category": photo.facts["category"], "set": name, "origin": terms.origin}
    return facts if terms.license == STATED else facts | terms.facts


def _with_article(photo_set: str, name: str) -> str:
    """ "daisy" -> "a daisy", where the names of a set are mostly countable nouns."""
    if photo_set not in COUNTABLE or name.endswith("s"):
        return name
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _choice(choices: Sequence[str], key: str) -> str:
    return choices[stable_hash(key) % len(choices)]
