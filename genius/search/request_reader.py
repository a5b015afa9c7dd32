"""What a request asks for: the reader of a run applied to words as people type them.

The words are those of the instruction or, without one, of the text. What is searched for is the
most probable reading whose results the collection has. The encoder then gets the content, with the
sentence that training knew for such a request; an instruction that training knew stays as it is.

Shapes: b requests, n words.
"""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from PIL.Image import Image

from genius.index.layout import Instruction
from genius.models.encoder import Encoder
from genius.models.reader import ASKING, CONTENT, LEFT_OUT, Reader, word_states
from genius.schema import (
    READINGS,
    READINGS_OF_PICTURES,
    READINGS_OF_WORDS,
    UNREAD,
    Modality,
    Query,
    Reading,
)

CAPACITY = 4096  # requests whose words are remembered
WORDS = 64  # of a request that are read; towers see few more
CHOSEN = 0.98  # probability of the kind of a reading that a visitor chose
# by this kind: (3, 3) log-probabilities of all kinds
CHOSEN_LOG_PROBS = np.log(
    np.where(np.eye(len(Modality)), CHOSEN, (1 - CHOSEN) / (len(Modality) - 1)).astype(np.float32)
)
LEAST = 1e-4  # probability of any kind
PICTURE_ALONE = "entry"  # the reading of a picture without words
NEXT_BEST = {
    "answer": "entry",
    "caption": "entry",
    "entry": "caption",
    "change": "similar",
    "similar": "change",
}
WITHOUT_CONTENT = ("similar", "caption")  # readings for which the picture is all that counts
# readings of which all words are content if none seems to be
NEEDS_WORDS = ("photo", "paraphrase", "answer")
# a word that is left out as in web search, and how sure that is
MINUS = re.compile(r"-[^\W\d]")
SURE = 10.0
EDGES = " \t\n.,;:!?\"'“”‘’«»()[]<>–—"  # characters around a content that are none of it


class Words(NamedTuple):
    """What the reader says about words."""

    readings: dict[str, float]  # probabilities
    tags: np.ndarray  # (n, 3) log-probabilities


class Understood(NamedTuple):
    """A request as it is searched for."""

    instruction: str  # that training knew
    text: str  # of what is sought
    reading: Reading | None  # None: the words were not read


class RequestReader:
    """Reads requests; only one thread at a time may use it."""

    def __init__(self, reader: Reader, encoder: Encoder, instructions: Iterable[Instruction]):
        """instructions: those of training, with the modalities of their queries and results."""
        self.reader = reader.to(encoder.device).eval()
        self.encoder = encoder
        self.known: dict[str, set[tuple[bool, Modality]]] = {
            text: set() for text in reader.config.instructions.values()
        }
        for query, target, text in instructions:
            self.known.setdefault(text, set()).add((query != Modality.TEXT, target))
        self._read: OrderedDict[tuple[str, bool], Words] = OrderedDict()  # the last used last

    def understand(self, queries: Sequence[Query], kinds: Collection[Modality]) -> list[Understood]:
        """How b queries are searched for. kinds: that results can have."""
        asked = [
            (query.instruction or query.text, isinstance(query.image, Image)) for query in queries
        ]
        read = [query.reading != UNREAD for query in queries]
        self._learn([one for one, is_read in zip(asked, read) if is_read and one[0].split()])
        return [
            self._understood(query, *one, kinds)
            if is_read
            else Understood(query.instruction, query.text, None)
            for query, one, is_read in zip(queries, asked, read)
        ]

    def _learn(self, asked: Sequence[tuple[str, bool]]) -> None:
        """Read the words that are not remembered, all in one pass."""
        for one in asked:
            if one in self._read:
                self._read.move_to_end(one)
        new = list(dict.fromkeys(one for one in asked if one not in self._read))
        if not new:
            return
        states, mask = word_states(self.encoder, [words.split()[:WORDS] for words, _ in new])
        picture = torch.tensor([has_picture for _, has_picture in new], device=states.device)
        with torch.inference_mode():
            readings, tags = self.reader(states, mask, picture)
        for one, probabilities, of_words, own in zip(
            new, readings.exp().tolist(), tags.cpu(), mask.cpu(), strict=True
        ):
            shares = dict(zip(READINGS, probabilities, strict=True))
            self._read[one] = Words(shares, of_words[own].numpy())
        while len(self._read) > max(CAPACITY, len(asked)):
            self._read.popitem(last=False)

    def _understood(
        self, query: Query, words: str, has_picture: bool, kinds: Collection[Modality]
    ) -> Understood:
        names = READINGS_OF_PICTURES if has_picture else READINGS_OF_WORDS
        read = self._read[words, has_picture] if words.split() else None
        probabilities = {name: float(name == PICTURE_ALONE) for name in names}
        if read:
            probabilities = {name: read.readings[name] for name in names}
            probabilities = self._as_known(words, has_picture, probabilities)
        chosen = query.reading in names
        possible = (
            [query.reading]
            if chosen
            else [name for name in names if READINGS[name] in kinds] or list(names)
        )
        name = max(possible, key=lambda one: (probabilities[one], one == "similar"))
        content, left_out = query.text, ""
        is_known = query.instruction in self.known
        if read and (not query.instruction or not (query.text or is_known)):
            content, left_out = marked(words, read.tags, name, not has_picture)
        reading = Reading(name, probabilities, content, left_out, chosen)
        if is_known and not chosen:
            return Understood(query.instruction, query.text, reading)
        used = "" if has_picture and name in WITHOUT_CONTENT else content
        asking = Modality.of(used, query.image) if used or has_picture else Modality.TEXT
        return Understood(self.instruction(asking, name), used, reading)

    def _as_known(
        self, words: str, has_picture: bool, probabilities: dict[str, float]
    ) -> dict[str, float]:
        """The probabilities of readings, of which those of another kind are 0 for words whose kind
        training knew.
        """
        targets = {
            target for pictured, target in self.known.get(words, ()) if pictured == has_picture
        }
        fitting = {
            name: share if READINGS[name] in targets else 0.0
            for name, share in probabilities.items()
        }
        total = sum(fitting.values())
        return {name: share / total for name, share in fitting.items()} if total else probabilities

    def instruction(self, query: Modality, name: str) -> str:
        """The sentence that training knew for such queries, or for the next best reading; empty if
        it knew neither.
        """
        known = self.reader.config.instructions
        asking = query.name.lower()
        return known.get(f"{asking} {name}") or known.get(f"{asking} {NEXT_BEST.get(name, '')}", "")


def kind_log_probs(readings: Sequence[Reading | None]) -> np.ndarray:
    """(b, 3) log-probabilities of the modalities of results; 0 where the words were not read."""
    table = np.zeros((len(readings), len(Modality)), dtype=np.float32)
    for row, reading in zip(table, readings, strict=True):
        if reading is not None and reading.chosen:
            row[:] = CHOSEN_LOG_PROBS[reading.modality]
        elif reading is not None:
            shares = np.full(len(Modality), LEAST)
            for name, probability in reading.probabilities.items():
                shares[READINGS[name]] += probability
            row[:] = np.log(shares / shares.sum())
    return table


def marked(text: str, tags: np.ndarray, name: str, needs_content: bool) -> tuple[str, str]:
    """The content and what is left out of a text, whose first words have these tags (n, 3).

    needs_content: something must be sought, so where no word seems to say what, the likeliest does.
    """
    words = text.split()
    excess = tags[:, LEFT_OUT] - np.maximum(tags[:, ASKING], tags[:, CONTENT])
    excess[[bool(MINUS.match(word)) for word in words[: len(tags)]]] = SURE
    first, last = best_run(excess)
    left_out = " ".join(words[first:last]).lstrip("-").strip(EDGES)
    gain = tags[:, CONTENT] - np.maximum(tags[:, ASKING], tags[:, LEFT_OUT])
    gain[first:last] = -np.inf
    begin, end = best_run(gain)
    if begin == end and name in NEEDS_WORDS:
        return " ".join(words[:first] + words[last:]).strip(EDGES) or text, left_out
    if begin == end and needs_content and np.isfinite(gain).any():
        begin = int(gain.argmax())
        end = begin + 1
    if end == len(tags) > 0:
        end = len(words)  # what was not read goes with the last word that was
    return " ".join(words[begin:end]).strip(EDGES), left_out


def best_run(gains: np.ndarray) -> tuple[int, int]:
    """Start and end of the run of gains (n,) with the largest sum; an empty one if none is
    positive.
    """
    best = 0.0
    run = (0, 0)
    start = 0
    total = 0.0
    for place, gain in enumerate(gains.tolist()):
        if total <= 0:
            start = place
            total = 0.0
        total += gain
        if total > best:
            best = total
            run = (start, place + 1)
    return run
