"""The candidates and queries of one dataset while its records are being turned into them.

Equal texts become one candidate, and equal questions one query whose positives are all its answers.
What belongs to which split is settled here: the positives of a training query never hold a test item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from genius.collections.layout import SPLITS
from genius.schema import Item, LabelledQuery, Modality

ANSWERS = {"train": {"train"}, "val": {"train", "val"}, "test": set(SPLITS)}  # splits of a query's positives


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of the source, checked and about to be stored."""

    path: str  # relative to the collection's root
    digest: bytes  # of its bytes: identical images are equal answers
    splits: frozenset[str]  # the one split it belongs to; all three for one that is always a candidate
    source: dict[str, Any]  # what the source says of it besides its texts


@dataclass(slots=True)
class Candidate:
    number: int
    text: str
    picture: Picture | None
    splits: set[str] = field(default_factory=set)
    tasks: set[int | None] = field(default_factory=set)


@dataclass(slots=True)
class Question:
    task: int
    text: str
    picture: Picture | None
    splits: set[str] = field(default_factory=set)
    positives: dict[int, Candidate] = field(default_factory=dict)  # by number, in the order they were named


class Draft:
    """Collects candidates and queries of one dataset; numbers them in the order they come."""

    def __init__(self, dataset_id: int):
        self.dataset_id = dataset_id
        self._candidates: dict[tuple[str, str | None], Candidate] = {}
        self._questions: dict[tuple[int, str, bytes | None], Question] = {}

    def candidate(
        self, tasks: Iterable[int | None], splits: Iterable[str], text: str = "", picture: Picture | None = None
    ) -> Candidate:
        """The candidate with this text and picture, now also in the pools of these tasks and splits."""
        key = (text, picture.path if picture else None)
        candidate = self._candidates.get(key)
        if candidate is None:
            candidate = self._candidates[key] = Candidate(len(self._candidates) + 1, text, picture)
        candidate.tasks.update(tasks)
        candidate.splits.update(splits)
        return candidate

    def ask(
        self, task: int, split: str, positives: Iterable[Candidate], text: str = "", picture: Picture | None = None
    ) -> None:
        """Ask in this split. What was asked before, with an identical picture, gains these positives."""
        key = (task, text, picture.digest if picture else None)
        question = self._questions.setdefault(key, Question(task, text, picture))
        question.splits.add(split)
        question.positives.update((candidate.number, candidate) for candidate in positives)

    def candidates(self) -> Iterator[tuple[Item, list[int | None], list[str]]]:
        """Each item with the tasks and the splits whose pools hold it."""
        for entry in self._candidates.values():
            picture = entry.picture
            source = json.dumps(picture.source, ensure_ascii=False) if picture and picture.source else ""
            item = Item(
                self._id(entry.number),
                Modality.of(entry.text, picture),
                entry.text,
                picture.path if picture else None,
                source,
            )
            yield item, sorted(entry.tasks, key=str), [split for split in SPLITS if split in entry.splits]

    def queries(self) -> Iterator[tuple[str, LabelledQuery]]:
        """(split, query) of every question in every split that asks it and may know an answer."""
        number = 0
        for question in self._questions.values():
            picture = question.picture
            for split in SPLITS:
                positives = tuple(
                    self._id(candidate.number)
                    for candidate in question.positives.values()
                    if candidate.splits & ANSWERS[split]
                )
                if split not in question.splits or not positives or self._gives_itself_away(question):
                    continue
                number += 1
                yield (
                    split,
                    LabelledQuery(
                        self._id(number),
                        Modality.of(question.text, picture),
                        question.task,
                        question.text,
                        picture.path if picture else None,
                        positives,
                    ),
                )

    def _gives_itself_away(self, question: Question) -> bool:
        """A text that looks for texts and is one of them would only find itself."""
        return question.task == 1 and (question.text, None) in self._candidates

    def _id(self, number: int) -> str:
        return f"{self.dataset_id}:{number}"
