"""The rows of the datasets `photos` and `scenes`: every task that names, titles and captions of the
photographs allow.

A picture that asks for pictures in a test is in no pool, and no copy of it in one that a test
searches (pictures.py). A scene asks for its texts (task 3) and for pictures of the same kind (4), a
text for its picture (0) and for the picture with its title (2), as does the name of a kind. Its
kinds are the things that most of its sentences name.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from genius.collections.draft import Candidate, Draft
from genius.collections.layout import SPLITS
from genius.collections.source_records import Record
from training.demo.photos.encyclopedia import Encyclopedia
from training.demo.photos.pictures import DISHES, FOR_CHILDREN, Photo, dish_head, family
from training.demo.photos.tables import (
    NOT_MEANT,
    SETS,
    STATED,
    TEMPLATES,
    TEXTS,
    choice,
    with_text_facts,
)

MOST_PAIRS = 6  # titled photographs of one name in a split; names with few photographs have one
COUNTABLE = ("flower_photos", "clothing", "npc_animals")
# sets whose pictures change by another category
CHANGEABLE = ("flower_photos", "clothing", "trashnet")
LONGER = 30  # characters that a description must add to the title
HUMAN_CAPTIONS = 5
AGREED, SURE = 3, 4  # of the human captions that name a kind, or what a scene illustrates
HEAD = 4  # words of a title that say what it is about: "a stack of books"
NO_CATEGORY = "everyday scene"


def photo_rows(draft: Draft, photos: Sequence[Photo]) -> None:
    """Add all candidates and queries of the photographs."""
    by_name: dict[str, list[Photo]] = defaultdict(list)
    for photo in photos:
        photo.candidate = picture(draft, photo)
        if photo.name:
            by_name[photo.name].append(photo)
    for photo in photos:
        if len(photo.record.captions) > 1:
            captioned(draft, photo)
    for name, of_name in by_name.items():
        named(draft, name, of_name)
    changed(draft, photos)


def captioned(draft: Draft, photo: Photo) -> list[Candidate]:
    """The captions of a photograph: tasks 0 and 3; the first of several is only a query. Returns
    the others.
    """
    first, *others = photo.record.captions
    facts = text_facts(photo)
    texts = [
        draft.candidate((3,), (photo.split,), text=text, source=facts, describes=photo.image)
        for text in others or [first]
    ]
    draft.ask(3, photo.split, texts, image=photo.image)
    if not photo.query_only:
        for text in photo.record.captions:
            draft.ask(0, photo.split, [photo.candidate], text=text)
    return texts


def named(draft: Draft, name: str, photos: Sequence[Photo]) -> None:
    """The photographs of one name: tasks 0, 2, 3, 4, 6 and 8."""
    splits = {photo.split for photo in photos}
    title = draft.candidate((3, 6), splits, text=name, source=text_facts(photos[0]))
    pairs = _pairs(draft, name, photos)
    a_name = _with_article(photos[0].set, name)
    for split in SPLITS:
        in_split = [photo for photo in photos if photo.split == split]
        if in_split:
            images = [photo.candidate for photo in photos]
            by_words(draft, split, name, a_name, images, list(pairs.values()))
        for photo in in_split:
            question = choice(TEMPLATES["question"], photo.record.id)
            draft.ask(3, split, [title], image=photo.image)
            draft.ask(6, split, [title], text=question, image=photo.image)
            if split == "test" and not photo.query_only:
                continue
            ask(draft, 4, split, without_copies(photos, photo), image=photo.image)
            others = [pair for copies, pair in pairs.items() if copies != photo.copies]
            ask(draft, 8, split, others, text=question, image=photo.image)


def by_words(
    draft: Draft,
    split: str,
    name: str,
    a_name: str,
    images: Sequence[Candidate],
    pairs: Sequence[Candidate],
) -> None:
    """The name asks for all that it names: tasks 0 and 2."""
    for template in TEMPLATES["name"]:
        ask(draft, 0, split, images, text=template.format(name=name, a_name=a_name))
    for template in TEMPLATES["pair"]:
        ask(draft, 2, split, pairs, text=template.format(name=name))


def without_copies(photos: Iterable[Photo], photo: Photo) -> list[Candidate]:
    """The pictures of photographs that are not near copies of this one."""
    return [other.candidate for other in photos if other.copies != photo.copies]


def changed(draft: Draft, photos: Sequence[Photo]) -> None:
    """A photograph and a change of its category, its ingredients or its wearer: task 7."""
    by_name: dict[tuple[str, str], list[Photo]] = defaultdict(list)  # by set and name
    for photo in photos:
        if photo.name:
            by_name[photo.set, photo.name].append(photo)
    alternatives = {  # other names of the set, with texts that say the change to them
        (set_, name): [
            (other, texts)
            for other_set, other in by_name
            if other_set == set_ and other != name and (texts := _change(set_, name, other))
        ]
        for set_, name in by_name
    }
    for photo in photos:
        choices = alternatives.get((photo.set, photo.name))
        if not choices or (photo.split == "test" and not photo.query_only):
            continue
        for turn in range(1 if photo.split == "test" else 2):
            other, texts = choice(choices, f"{photo.record.id} {turn}")
            text = choice(texts, f"{photo.record.id} {turn} text")
            targets = without_copies(by_name[photo.set, other], photo)
            ask(draft, 7, photo.split, targets, text=text, image=photo.image)
            for target in targets:
                if target.tasks:  # it is in a pool
                    target.tasks.add(7)


def _change(set_: str, name: str, other: str) -> tuple[str, ...]:
    """Texts that ask for `other` where `name` is shown; none if it is not a change of the thing
    shown.
    """
    if set_ in DISHES:
        if dish_head(name) == dish_head(other) and " with " in name and " with " in other:
            shown, wished = name.split(" with ", 1)[1], other.split(" with ", 1)[1]
            return tuple(text.format(shown=shown, other=wished) for text in TEMPLATES["addition"])
        if family(name) != family(other) or family(name) == "other dish":
            return ()
    elif set_ not in CHANGEABLE:
        return ()
    adult = name.removesuffix(FOR_CHILDREN)
    other_adult = other.removesuffix(FOR_CHILDREN)
    if adult == other_adult:
        return tuple(TEMPLATES["adult" if name.endswith(FOR_CHILDREN) else "child"])
    if name.endswith(FOR_CHILDREN) != other.endswith(FOR_CHILDREN):
        return ()
    parts = {"name": _with_article(set_, adult), "other": _with_article(set_, other_adult)}
    return tuple(text.format(**parts) for text in TEMPLATES["change"])


def picture(draft: Draft, photo: Photo) -> Candidate:
    """A picture as a candidate; one that is only a query of the test is in no pool, so that no
    training sees it.
    """
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
                pairs[photo.copies] = draft.candidate(
                    (2, 8), (split,), name, photo.image, photo.facts
                )
    return pairs


def ask(draft: Draft, task: int, split: str, positives: Sequence[Candidate], **query: Any) -> None:
    """Ask, unless the pool of a test would have no positive."""
    shown = [candidate for candidate in positives if candidate.tasks]
    if split != "test" or any("test" in candidate.splits for candidate in shown):
        draft.ask(task, split, shown, **query)


def text_facts(photo: Photo) -> dict[str, str]:
    """The facts of a title or caption: those of the whole set or of its texts, not the credit of
    one picture.
    """
    name = TEXTS.get(photo.set, photo.set)
    terms = SETS[name]
    facts = {
        "kind": photo.facts["kind"],
        "category": photo.facts["category"],
        "set": name,
        "origin": terms.origin,
    }
    return facts if terms.license == STATED else facts | terms.facts


def _with_article(photo_set: str, name: str) -> str:
    """ "daisy" -> "a daisy", where the names of a set are mostly countable nouns."""
    if photo_set not in COUNTABLE or name.endswith("s"):
        return name
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def scene_rows(draft: Draft, book: Encyclopedia, scenes: Sequence[Photo]) -> None:
    """Add all candidates and queries of the scenes, and say what each shows: category and
    illustrated entry.
    """
    by_kind: dict[str, list[tuple[Photo, Candidate]]] = defaultdict(list)  # with its pair
    for scene in scenes:
        kinds = scene_kinds(book, scene.record.captions)
        scene.entry = next(iter(scene_kinds(book, scene.record.captions, SURE)), "")
        scene.facts["category"] = kinds[0] if kinds else NO_CATEGORY
        scene.candidate = picture(draft, scene)
        title = captioned(draft, scene)[-1].text
        tasks, splits = ((), ()) if scene.query_only else ((2,), (scene.split,))
        facts = with_text_facts(scene.facts, text_facts(scene))
        pair = draft.candidate(tasks, splits, title, scene.image, facts)
        first, *others = scene.record.captions
        for text in () if scene.query_only else (first, *others[:-1]):
            draft.ask(2, scene.split, [pair], text=text)
        for kind in kinds:
            by_kind[kind].append((scene, pair))
    for kind, members in by_kind.items():
        of_kind, pairs = zip(*members, strict=True)
        images = [scene.candidate for scene in of_kind]
        for split in sorted({scene.split for scene in of_kind}):
            by_words(draft, split, kind, kind, images, pairs)
        for scene in of_kind:
            if scene.split != "test" or scene.query_only:
                ask(draft, 4, scene.split, without_copies(of_kind, scene), image=scene.image)


def scene_kinds(book: Encyclopedia, captions: Sequence[str], agreed: int = AGREED) -> list[str]:
    """The entries that most human captions name, the most frequent first, or those of a name or the
    head of a title.
    """
    words = captions[-1].split(",")[0].split()
    if len(captions) == HUMAN_CAPTIONS:
        entries = book.captioned(captions, agreed)
    elif len(words) < HEAD and (named := book.named(" ".join(words))):
        entries = [named]
    else:
        entries = book.mentioned(" ".join(words[:HEAD])) if agreed == AGREED else []
    return list(
        dict.fromkeys(entry.name for entry in entries if entry.name not in NOT_MEANT["scene"])
    )


def own_texts(record: Record) -> list[str]:
    """The texts of a scene that are used: five sentences, a description and a title, or a title or
    name.

    The table has a title, which repeats one of the sentences or the first of a description, and
    legends of books.
    """
    title, *sentences = record.captions
    if len(record.captions) >= HUMAN_CAPTIONS:
        return list({text.rstrip(" ."): text for text in record.captions}.values())[
            -HUMAN_CAPTIONS:
        ]
    description = next(iter(sentences), "")
    return [description, title] if len(description) > len(title) + LONGER else [title]
