"""What the fields of a source's records can ask: one rule per shape of source, never per name.

Task ids are M-BEIR's (see layout.TASKS).
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genius.collections import wording
from genius.collections.draft import Candidate, Draft, Picture
from genius.collections.layout import SPLITS
from genius.collections.sources import ComposedPair, Record


@dataclass(frozen=True, slots=True)
class Entry:
    """A record and its picture."""

    record: Record
    picture: Picture

    @property
    def splits(self) -> frozenset[str]:
        return self.picture.splits

    @property
    def asks_in(self) -> frozenset[str]:
        """The split of its queries; what is a candidate everywhere asks nothing."""
        return self.splits if len(self.splits) == 1 else frozenset()


def apply_rules(draft: Draft, entries: Sequence[Entry], pairs: Sequence[ComposedPair]) -> list[str]:
    """Fill the draft with all that the entries allow. Returns the names of the rules that applied."""
    main = next((rule for rule, fits in MAIN_RULES if any(map(fits, entries))), None)
    applied = [] if main is None else [main.__name__]
    if main is not None:
        main(draft, entries)
    if any(entry.record.qa for entry in entries):
        applied.append("answers")
        answers(draft, entries)
    if pairs:
        applied.append("composed")
        composed(draft, entries, pairs)
    if not applied:
        applied.append("images")
        for entry in entries:  # in every split: where nothing is asked, nothing need be kept from training
            draft.candidate((None,), SPLITS, picture=entry.picture)
    return applied


def captions(draft: Draft, entries: Sequence[Entry]) -> None:
    """Several sentences per image: tasks 0, 3 and 1.

    The first caption of an image is no candidate: it is the query of task 1, answered by the others.
    """
    images = _images(draft, 0, entries)
    for entry in entries:
        first, *others = entry.record.captions or [""]
        texts = [draft.candidate((1, 3), entry.splits, text=text) for text in others]
        for split in entry.asks_in:
            for caption in entry.record.captions:
                draft.ask(0, split, images[entry.picture.digest], text=caption)
            if texts:
                draft.ask(3, split, texts, picture=entry.picture)
                draft.ask(1, split, texts, text=first)


def titles(draft: Draft, entries: Sequence[Entry]) -> None:
    """One text per image: tasks 0 and 3, and task 2 where attributes are known."""
    images = _images(draft, 0, entries)
    for entry in entries:
        for title in entry.record.captions:
            text = draft.candidate((3,), entry.splits, text=title)
            for split in entry.asks_in:
                draft.ask(0, split, images[entry.picture.digest], text=title)
                draft.ask(3, split, [text], picture=entry.picture)
    described = [entry for entry in entries if entry.record.captions and entry.record.attributes]
    alike = defaultdict(list)
    for entry in described:
        alike[_facts(entry)].append(
            draft.candidate((2,), entry.splits, text=entry.record.captions[0], picture=entry.picture)
        )
    for entry in described:
        for split in entry.asks_in:
            draft.ask(2, split, alike[_facts(entry)], text=_sentence(entry))


def attributes(draft: Draft, entries: Sequence[Entry]) -> None:
    """Attributes and no text: a sentence made of them finds the image (task 0)."""
    images = _images(draft, 0, entries)
    for entry in entries:
        if entry.record.attributes:
            for split in entry.asks_in:
                draft.ask(0, split, images[entry.picture.digest], text=_sentence(entry))


def answers(draft: Draft, entries: Sequence[Entry]) -> None:
    """Questions about an image (task 6): equal answers are one candidate."""
    for entry in entries:
        for question, answer in entry.record.qa:
            text = draft.candidate((6,), entry.splits, text=answer)
            for split in entry.asks_in:
                draft.ask(6, split, [text], text=question, picture=entry.picture)


def composed(draft: Draft, entries: Sequence[Entry], pairs: Sequence[ComposedPair]) -> None:
    """Image and change find the changed image (task 7), in the split of the target.

    A training or validation triple that starts from a test image is left out.
    """
    images = _images(draft, 7, entries)
    by_id = {entry.record.id: entry for entry in entries}
    for pair in pairs:
        query, target = by_id[pair.query_id], by_id[pair.target_id]
        for split in target.asks_in:
            if split == "test" or query.splits != {"test"}:
                draft.ask(7, split, images[target.picture.digest], text=pair.text, picture=query.picture)


def iconic(draft: Draft, entries: Sequence[Entry]) -> None:
    """Photographs and one clean picture per class: tasks 4, 6 and 8 (the class picture, its text, both)."""
    classes: dict[tuple[int, Any], list[Candidate]] = defaultdict(list)  # by task and class
    for entry in entries:
        if _kind(entry) == "iconic":
            name, splits, picture = entry.record.attributes["class_id"], entry.splits, entry.picture
            classes[4, name].append(draft.candidate((4,), splits, picture=picture))
            for text in entry.record.captions[:1]:
                classes[6, name].append(draft.candidate((6,), splits, text=text))
                classes[8, name].append(draft.candidate((8,), splits, text=text, picture=picture))
    for entry in entries:
        if _kind(entry) == "natural":
            name = entry.record.attributes["class_id"]
            for split in entry.asks_in:
                draft.ask(4, split, classes[4, name], picture=entry.picture)
                for task in (6, 8):
                    question = _pick(wording.WHAT_IS_THIS, entry.record.id)
                    draft.ask(task, split, classes[task, name], text=question, picture=entry.picture)


def _images(draft: Draft, task: int, entries: Sequence[Entry]) -> dict[bytes, list[Candidate]]:
    """Every picture as a candidate; by content, because identical pictures are equal answers."""
    images: dict[bytes, list[Candidate]] = defaultdict(list)
    for entry in entries:
        images[entry.picture.digest].append(draft.candidate((task,), entry.splits, picture=entry.picture))
    return images


def _kind(entry: Entry) -> str | None:
    said = entry.record.attributes
    return said["kind"] if said.get("kind") in ("natural", "iconic") and "class_id" in said else None


def _facts(entry: Entry) -> tuple[tuple[str, str], ...]:
    """The attributes a sentence is made of: lists of words if there are any, else all."""
    said = entry.record.attributes
    lists = {name: ", ".join(value) for name, value in said.items() if isinstance(value, list)}
    return tuple(sorted((name, str(value)) for name, value in (lists or said).items()))


def _sentence(entry: Entry) -> str:
    said, facts = entry.record.attributes, _facts(entry)
    if isinstance(said[facts[0][0]], list):
        return wording.keyword_sentence(", ".join(words for _, words in facts), _pick_number(str(facts)))
    return wording.attribute_sentence(dict(facts), _pick_number(str(facts)))


def _pick(choices: Sequence[str], key: str) -> str:
    return choices[_pick_number(key) % len(choices)]


def _pick_number(key: str) -> int:
    """Different for different keys, the same on every machine and in every run."""
    return zlib.crc32(key.encode())


MAIN_RULES = (  # the first that fits any entry is used
    (iconic, _kind),
    (captions, lambda entry: len(entry.record.captions) > 1),
    (titles, lambda entry: entry.record.captions),
    (attributes, lambda entry: entry.record.attributes),
)
