"""A word for how well the first results answer a query: a good, fair or weak match.

The probability that one of the first FIRST results is right is a logistic function of numbers that
every search knows (`signals`). `python -m genius.evaluation.match RUN` fits it to validation
queries, by reading (of a run without a reader by the modalities of query and first result), and
records it in the run's manifest. A run without a record has no words, and neither has a search in
another order than the run's own. Where validation has no good matches, or too few queries of a
reading to tell, only a weak match is named, and else nothing is said. Not every right result is
judged in a collection, so a word understates.

Shapes: q queries.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from genius.run import Run
from genius.schema import Hit, Modality, Query, SearchResult

FIRST = 5  # results, one of which is right
GOOD, WEAK = 0.9, 0.3  # probability from which on a match is good, and below which it is weak
WORDS = ("good", "fair", "weak")
LENGTH = 4  # place of the image's length among the signals
SIGNALS = 6  # a record of other ones is of no use
MODELS = ("encoder", "fusion", "quantizer", "decoder", "reader")  # of which the numbers are


def kind_of(query: Query, result: SearchResult) -> str:
    """The reading or, where nothing was read, such as: image to text."""
    if result.reading:
        return result.reading.name
    asked = Modality.of(query.text, query.image)
    found = result.hits[0].item.modality
    return f"{asked.name.lower()} to {found.name.lower()}"


def signals(hits: Sequence[Hit], image_length: float) -> tuple[float, ...]:
    """What tells right results from wrong ones.

    The cosine of the first result, and the mean of the first FIRST; the same of the inner products
    of fused features, or 0 where the index has none; the logarithm of the length of the query's
    image feature, which tells noise from photographs, or 0 for a query without an image; and the
    log-probability of the first result's ID.
    """
    first = hits[:FIRST]
    cosines = [hit.cosine for hit in first]
    scores = [hit.fused or 0.0 for hit in first]
    length = math.log(image_length) if image_length else 0.0
    return cosines[0], fmean(cosines), scores[0], fmean(scores), length, hits[0].log_prob


def word_of(weights: Sequence[float], known: Sequence[float]) -> str:
    """weights: of the signals, and the constant."""
    log_odds = sum(weight * value for weight, value in zip(weights, (*known, 1.0), strict=True))
    if log_odds >= math.log(GOOD / (1 - GOOD)):
        return "good"
    return "weak" if log_odds < math.log(WEAK / (1 - WEAK)) else "fair"


def record_of(
    run: Run, order: str, weights: Mapping[str, Sequence[float]], only_weak: Sequence[str] = ()
) -> dict[str, Any]:
    """What the manifest says: the order and the models that the weights belong to, these by kind of
    query, and the kinds of which only weak matches are named.
    """
    models = digests_of(run)
    return {"order": order, "models": models, "weights": weights, "only_weak": list(only_weak)}


def digests_of(run: Run) -> dict[str, str]:
    """Of the models that the numbers are of."""
    return {part: run.digest(part) for part in MODELS if run.has(part)}


class MatchWords:
    """The words of a run."""

    def __init__(self, run: Run | None):
        recorded = run.manifest.get("match") if run else None
        if not run or not recorded or recorded["models"] != digests_of(run):
            recorded = {"order": "", "weights": {}}
        self.order: str = recorded["order"]
        self.only_weak: list[str] = recorded.get("only_weak", [])
        self.weights: dict[str, list[float]] = {
            kind: own for kind, own in recorded["weights"].items() if len(own) == SIGNALS + 1
        }

    def word(self, query: Query, result: SearchResult) -> str:
        """good, fair or weak; empty: not known."""
        if not result.hits or result.order != self.order:
            return ""
        kind = kind_of(query, result)
        weights = self.weights.get(kind)
        word = word_of(weights, signals(result.hits, result.image_length)) if weights else ""
        return "" if kind in self.only_weak and word != "weak" else word
