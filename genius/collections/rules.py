"""Make candidates and queries from the fields of a source's records.

By default each record is one of `titles`, `attributes` or an image alone. A rule applies because of
the fields that the records have, never because of a dataset's name. Task ids are M-BEIR's
(layout.TASKS).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genius.collections import wording
from genius.collections.draft import POSITIVE_SPLITS, Candidate, Draft, SourceImage
from genius.collections.layout import SPLITS
from genius.collections.source_records import Record
from genius.collections.sources import ComposedPair
from genius.texts import stable_hash


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """A record and its image."""

    record: Record
    image: SourceImage

    @property
    def splits(self) -> frozenset[str]:
        return self.image.splits

    @property
    def query_splits(self) -> frozenset[str]:
        """The split of its queries; an entry that is a candidate everywhere has none."""
        return self.splits if len(self.splits) == 1 else frozenset()


def apply_rules(
    draft: Draft,
    entries: Sequence[SourceEntry],
    pairs: Sequence[ComposedPair],
    benchmark: bool = False,
    missing: Sequence[Record] = (),
) -> list[str]:
    """Add all candidates and queries that the entries allow. Returns the names of the rules that
    applied.

    What becomes of a record depends on this record, and all that it says can be found. benchmark:
    as in M-BEIR, the first main rule that fits any entry makes all of them; of several captions the
    first only asks, and photographs of iconic images do. missing: records without their images,
    whose texts can be found, though no query asks for them.
    """
    if benchmark:
        main = next((rule for rule, fits in MAIN_RULES if any(map(fits, entries))), None)
        applied = [] if main is None else [main.__name__]
        if main is not None:
            main(draft, entries)
    else:
        applied = _each_record(draft, entries, bool(pairs))
    if any(entry.record.qa for entry in entries):
        applied.append("answers")
        answers(draft, entries)
    if pairs:
        applied.append("composed")
        composed(draft, entries, pairs)
    texts = [(text, record) for record in missing for text in record.captions]
    for text, record in texts:
        draft.candidate((3,), SPLITS, text=text, source=record.facts)
    if texts and "titles" not in applied:
        applied.append("titles")
    if not applied:
        applied.append("images")
        for entry in entries:
            draft.candidate((None,), SPLITS, image=entry.image)
    return applied


def _each_record(draft: Draft, entries: Sequence[SourceEntry], paired: bool) -> list[str]:
    """Each record by what it has: texts, or attributes, or neither. paired: images are also asked
    for by others.
    """
    titled = [entry for entry in entries if entry.record.captions]
    others = [entry for entry in entries if not entry.record.captions]
    described = [entry for entry in others if entry.record.attributes]
    images = [entry for entry in others if not entry.record.attributes]
    titles(draft, titled)
    attributes(draft, described)
    for entry in images:  # in every split: what nothing asks for need not be kept apart
        splits = entry.splits if paired or entry.record.qa else SPLITS
        draft.candidate((None,), splits, image=entry.image)
    groups = {"titles": titled, "attributes": described, "images": images}
    return [rule for rule, of_kind in groups.items() if of_kind]


def captions(draft: Draft, entries: Sequence[SourceEntry]) -> None:
    """Several captions per image: tasks 0, 3 and 1.

    The first caption of an image is not a candidate but the query of task 1; the others are its
    positives.
    """
    images = _images(draft, 0, entries)
    for entry in entries:
        first, *others = entry.record.captions or [""]
        texts = [
            draft.candidate((1, 3), entry.splits, text=text, describes=entry.image)
            for text in others
        ]
        for split in entry.query_splits:
            for caption in entry.record.captions:
                draft.ask(0, split, images[entry.image.digest], text=caption)
            if texts:
                draft.ask(3, split, texts, image=entry.image)
                draft.ask(1, split, texts, text=first)


def titles(draft: Draft, entries: Sequence[SourceEntry]) -> None:
    """One text per image: tasks 0 and 3, and task 2 for images with attributes."""
    images = _images(draft, 0, entries)
    for entry in entries:
        for title in entry.record.captions:
            origin = entry.record.origin
            text = draft.candidate(
                (3,), entry.splits, text=title, source=origin, describes=entry.image
            )
            for split in entry.query_splits:
                draft.ask(0, split, images[entry.image.digest], text=title)
                draft.ask(3, split, [text], image=entry.image)
    described = [entry for entry in entries if entry.record.captions and entry.record.attributes]
    pairs = defaultdict(list)
    for entry in described:
        pair = draft.candidate((2,), entry.splits, text=entry.record.captions[0], image=entry.image)
        pairs[_attribute_pairs(entry)].append(pair)
    for entry in described:
        for split in entry.query_splits:
            draft.ask(2, split, pairs[_attribute_pairs(entry)], text=_sentence(entry))


def attributes(draft: Draft, entries: Sequence[SourceEntry]) -> None:
    """Attributes without text: a sentence made from the attributes is the query of the image (task
    0).
    """
    images = _images(draft, 0, entries)
    for entry in entries:
        if entry.record.attributes:
            for split in entry.query_splits:
                draft.ask(0, split, images[entry.image.digest], text=_sentence(entry))


def answers(draft: Draft, entries: Sequence[SourceEntry]) -> None:
    """Questions about an image (task 6): equal answers are one candidate."""
    for entry in entries:
        for question, answer in entry.record.qa:
            text = draft.candidate((6,), entry.splits, text=answer)
            for split in entry.query_splits:
                draft.ask(6, split, [text], text=question, image=entry.image)


def composed(draft: Draft, entries: Sequence[SourceEntry], pairs: Sequence[ComposedPair]) -> None:
    """An image and a change as the query of the changed image (task 7), in the split of that
    target.

    Training and validation pairs whose query image is a test image are left out.
    """
    images = _images(draft, 7, entries)
    by_id = {entry.record.id: entry for entry in entries}
    for pair in pairs:
        if pair.query_id not in by_id or pair.target_id not in by_id:
            continue  # its image is unreadable, which is reported
        query, target = by_id[pair.query_id], by_id[pair.target_id]
        for split in target.query_splits:
            if split == "test" or query.splits != {"test"}:
                draft.ask(7, split, images[target.image.digest], text=pair.text, image=query.image)


def iconic(draft: Draft, entries: Sequence[SourceEntry]) -> None:
    """Photographs and one iconic image per class: tasks 4, 6 and 8 (the iconic image, its text,
    both).
    """
    classes: dict[tuple[int, Any], list[Candidate]] = defaultdict(list)  # by task and class
    for entry in entries:
        if _kind(entry) == "iconic":
            name = entry.record.attributes["class_id"]
            splits = entry.splits
            image = entry.image
            classes[4, name].append(draft.candidate((4,), splits, image=image))
            for text in entry.record.captions[:1]:
                classes[6, name].append(draft.candidate((6,), splits, text=text))
                classes[8, name].append(draft.candidate((8,), splits, text=text, image=image))
    for entry in entries:
        if _kind(entry) == "natural":
            name = entry.record.attributes["class_id"]
            for split in entry.query_splits:
                for task in (4, 6, 8):
                    _offer(classes[task, name], split)
                draft.ask(4, split, classes[4, name], image=entry.image)
                question = wording.WHAT_IS_THIS[
                    stable_hash(entry.record.id) % len(wording.WHAT_IS_THIS)
                ]
                for task in (6, 8):
                    draft.ask(task, split, classes[task, name], text=question, image=entry.image)


def _offer(candidates: Sequence[Candidate], split: str) -> None:
    """Put the candidates that a query of this split may have as positives into its pool, unless one
    is there.
    """
    if not any(split in candidate.splits for candidate in candidates):
        for candidate in candidates:
            if candidate.splits & POSITIVE_SPLITS[split]:
                candidate.splits.add(split)


def _images(
    draft: Draft, task: int, entries: Sequence[SourceEntry]
) -> dict[bytes, list[Candidate]]:
    """Add every image as a candidate; returns them by digest, because identical images are equal
    positives.
    """
    images: dict[bytes, list[Candidate]] = defaultdict(list)
    for entry in entries:
        images[entry.image.digest].append(draft.candidate((task,), entry.splits, image=entry.image))
    return images


def _kind(entry: SourceEntry) -> str | None:
    kind = entry.record.attributes.get("kind")
    has_class = isinstance(entry.record.attributes.get("class_id"), str | int | float)
    return kind if has_class and kind in ("natural", "iconic") else None


def _attribute_pairs(entry: SourceEntry) -> tuple[tuple[str, str], ...]:
    """The sorted (name, value) pairs for a sentence: the lists of words if there are any, else all
    attributes.
    """
    attributes = entry.record.attributes
    lists = {
        name: ", ".join(value) for name, value in attributes.items() if isinstance(value, list)
    }
    return tuple(sorted((name, str(value)) for name, value in (lists or attributes).items()))


def _sentence(entry: SourceEntry) -> str:
    pairs = _attribute_pairs(entry)
    variant = stable_hash(str(pairs))
    if isinstance(entry.record.attributes[pairs[0][0]], list):
        return wording.keyword_sentence(", ".join(words for _, words in pairs), variant)
    return wording.attribute_sentence(dict(pairs), variant)


MAIN_RULES = (  # of a benchmark: the first rule that fits any entry is used
    (iconic, _kind),
    (captions, lambda entry: len(entry.record.captions) > 1),
    (titles, lambda entry: entry.record.captions),
    (attributes, lambda entry: entry.record.attributes),
)
