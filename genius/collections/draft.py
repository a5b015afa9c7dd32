"""Collect the candidates and queries of one dataset while it is built.

Equal texts become one candidate; equal queries become one query with all their positives. Splits
are assigned here: the positives of a training query never include a test item.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from genius.collections.layout import SPLITS
from genius.schema import PICTURE, Item, LabeledQuery, Modality

# split -> those that a query's positives may have
POSITIVE_SPLITS = {"train": {"train"}, "val": {"train", "val"}, "test": set(SPLITS)}

Content = tuple[str, bytes | None]  # text, and digest of the image's bytes, of a candidate


@dataclass(frozen=True, slots=True)
class SourceImage:
    """A valid image of the source."""

    path: str  # relative to the collection's root
    digest: bytes  # of its bytes: identical images are equal positives
    splits: frozenset[str]  # its one split; all three if it is a candidate everywhere
    source: dict[str, Any]  # its attributes in the source


@dataclass(slots=True)
class Candidate:
    number: int
    text: str
    image: SourceImage | None
    source: dict[str, Any]  # for src_content
    splits: set[str] = field(default_factory=set)
    tasks: set[int | None] = field(default_factory=set)
    describes: set[str] = field(default_factory=set)  # paths of the pictures whose caption it is


@dataclass(slots=True)
class Question:
    task: int
    text: str
    image: SourceImage | None
    splits: set[str] = field(default_factory=set)
    positives: dict[int, Candidate] = field(default_factory=dict)  # by number, in the order given


class Draft:
    """The candidates and queries of one dataset, numbered in the order they are added."""

    def __init__(self, dataset_id: int, known: Mapping[Content, int] | None = None):
        """known: numbers that candidates have already; others get higher ones."""
        self.dataset_id = dataset_id
        self._known = dict(known or {})
        self._next = max(self._known.values(), default=0) + 1
        self._candidates: dict[tuple[str, str | None], Candidate] = {}
        self._questions: dict[tuple[int, str, bytes | None], Question] = {}

    def candidate(
        self,
        tasks: Iterable[int | None],
        splits: Iterable[str],
        text: str = "",
        image: SourceImage | None = None,
        source: dict[str, Any] | None = None,
        describes: SourceImage | None = None,
    ) -> Candidate:
        """Add a candidate, or add an existing one to the pools of these tasks and splits.

        source: for its src_content; by default that of the image. describes: the image of a
        caption, which src_content names if it is the only one.
        """
        key = (text, image.path if image else None)
        candidate = self._candidates.get(key)
        if candidate is None:
            source = source or (image.source if image else {})
            number = self._known.pop((text, image.digest if image else None), None)
            if number is None:
                number = self._next
                self._next += 1
            candidate = self._candidates[key] = Candidate(number, text, image, source)
        candidate.describes.update({describes.path} if describes else ())
        candidate.tasks.update(tasks)
        candidate.splits.update(splits)
        return candidate

    def ask(
        self,
        task: int,
        split: str,
        positives: Iterable[Candidate],
        text: str = "",
        image: SourceImage | None = None,
    ) -> None:
        """Add a query to this split. An existing query with the same text and image gains these
        positives.
        """
        key = (task, text, image.digest if image else None)
        question = self._questions.setdefault(key, Question(task, text, image))
        question.splits.add(split)
        question.positives.update((candidate.number, candidate) for candidate in positives)

    def candidates(self) -> Iterator[tuple[Item, list[int | None], list[str]]]:
        """Yield each item with the tasks and splits of its pools."""
        for entry in self._candidates.values():
            image = entry.image.path if entry.image else None
            facts = entry.source
            if len(entry.describes) == 1:
                facts = facts | {PICTURE: min(entry.describes)}
            source = json.dumps(facts, ensure_ascii=False) if facts else ""
            modality = Modality.of(entry.text, image)
            item = Item(self._id(entry.number), modality, entry.text, image, source)
            splits = [split for split in SPLITS if split in entry.splits]
            yield item, sorted(entry.tasks, key=str), splits

    def queries(self) -> Iterator[tuple[str, LabeledQuery]]:
        """Yield (split, query) for each query in each of its splits where it has a positive."""
        number = 0
        for question in self._questions.values():
            if question.task == 1 and (question.text, None) in self._candidates:
                continue  # a text that is also a candidate would find itself
            image = question.image.path if question.image else None
            modality = Modality.of(question.text, image)
            for split in SPLITS:
                positives = tuple(
                    self._id(candidate.number)
                    for candidate in question.positives.values()
                    if candidate.splits & POSITIVE_SPLITS[split]
                )
                if split in question.splits and positives:
                    number += 1
                    about = (modality, question.task, question.text, image, positives)
                    yield split, LabeledQuery(self._id(number), *about)

    def _id(self, number: int) -> str:
        return f"{self.dataset_id}:{number}"
