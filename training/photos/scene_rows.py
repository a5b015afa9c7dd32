"""The rows of the dataset `scenes`: everyday photographs with sentences, titles or names.

A picture asks for its texts (task 3) and for pictures of the same kind (4), a text for its picture (0) and for the
picture with its title (2), as does the name of a kind. Its kinds are the things that most of its sentences name.
"""

from collections import defaultdict
from collections.abc import Sequence

from genius.collections.draft import Candidate, Draft
from genius.collections.sources import Record, Source
from training.photos.encyclopedia import Encyclopedia
from training.photos.photo_rows import NAME_QUERIES, PAIR_QUERIES, ask, picture, text_facts
from training.photos.pictures import Photo
from training.photos.tables import with_text_facts

LONGER = 30  # characters that a description must add to the title
HUMAN_CAPTIONS = 5
AGREED, SURE = 3, 4  # of the human captions that name a kind, or what a scene illustrates
HEAD = 4  # words of a title that say what it is about: "a stack of books"
NO_KIND = (  # what is in pictures of every kind
    *("person", "people", "man", "woman", "hand", "table", "food", "room", "sky", "group", "field", "building"),
    *("couple", "water", "street", "city"),
)
NO_CATEGORY = "everyday scene"


def with_own_texts(source: Source) -> Source:
    """The scenes with the texts that are used: five sentences, a description and a title, or a title or name."""
    for record in source.records:
        record.captions = _own_texts(record)
    return source


def scene_rows(draft: Draft, book: Encyclopedia, scenes: Sequence[Photo]) -> None:
    """Add all candidates and queries of the scenes, and say what each shows: category and illustrated entry."""
    kinds: dict[str, list[tuple[Photo, Candidate, Candidate]]] = defaultdict(list)
    for scene in scenes:
        own_kinds = scene_kinds(book, scene.record.captions)
        scene.entry = next(iter(scene_kinds(book, scene.record.captions, SURE)), "")
        scene.facts["category"] = own_kinds[0] if own_kinds else NO_CATEGORY
        image, facts = picture(draft, scene), text_facts(scene)
        first, *others = scene.record.captions
        texts = [draft.candidate((3,), (scene.split,), text=text, source=facts) for text in others or [first]]
        draft.ask(3, scene.split, texts, image=scene.image)
        tasks, splits = ((), ()) if scene.query_only else ((2,), (scene.split,))
        pair = draft.candidate(tasks, splits, texts[-1].text, scene.image, with_text_facts(scene.facts, facts))
        if not scene.query_only:
            for text in (first, *others):
                draft.ask(0, scene.split, [image], text=text)
            for text in (first, *others[:-1]):
                draft.ask(2, scene.split, [pair], text=text)
        for kind in own_kinds:
            kinds[kind].append((scene, image, pair))
    for name, members in kinds.items():
        for split in sorted({scene.split for scene, _, _ in members}):
            for template in NAME_QUERIES:
                ask(draft, 0, split, [image for _, image, _ in members], text=template.format(name=name, a_name=name))
            for template in PAIR_QUERIES:
                ask(draft, 2, split, [pair for _, _, pair in members], text=template.format(name=name))
        for scene, _, _ in members:
            if scene.split != "test" or scene.query_only:
                alike = [image for other, image, _ in members if other.copies != scene.copies]
                ask(draft, 4, scene.split, alike, image=scene.image)


def scene_kinds(book: Encyclopedia, captions: Sequence[str], agreed: int = AGREED) -> list[str]:
    """The entries that most human captions name, the most frequent first, or those of a name or the head of a title."""
    words = captions[-1].split(",")[0].split()
    if len(captions) == HUMAN_CAPTIONS:
        entries = book.captioned(captions, agreed)
    elif len(words) < HEAD and (named := book.named(" ".join(words))):
        entries = [named]
    else:
        entries = book.mentioned(" ".join(words[:HEAD])) if agreed == AGREED else []
    return list(dict.fromkeys(entry.name for entry in entries if entry.name not in NO_KIND))


def _own_texts(record: Record) -> list[str]:
    """The table has a title, which repeats one of the sentences or the first of a description, and legends of books."""
    title, *sentences = record.captions
    if len(record.captions) >= HUMAN_CAPTIONS:
        return list({text.rstrip(" ."): text for text in record.captions}.values())[-HUMAN_CAPTIONS:]
    description = next(iter(sentences), "")
    return [description, title] if len(description) > len(title) + LONGER else [title]
