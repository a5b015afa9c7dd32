"""A word for how well the first results answer a query: a good, fair or weak match.

The probability that one of the first FIRST results is right is a logistic function of three numbers that every search
knows (`signals`). `python -m genius.evaluation.match RUN` fits it to validation queries, for each kind of query (its
own modality and that of the first result), and records it in the run's manifest. A run without a record has no words,
and neither has a search in another order than the run's own, or with a kind of query that validation hardly knows. Not
every right result is judged in a collection, so a word understates.

Shapes: q queries.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from genius.run import Run
from genius.schema import Modality, Query, SearchResult

FIRST = 5  # results, one of which is right
GOOD, WEAK = 0.85, 0.3  # probability from which on a match is good, and below which it is weak
WORDS = ("good", "fair", "weak")
SIGNALS = 3  # a record of other ones is of no use
MODELS = ("encoder", "fusion", "quantizer", "decoder", "ranker")  # of which the numbers are


def kind_of(query: Query, result: SearchResult) -> str:
    """Such as: image to text."""
    asked, found = Modality.of(query.text, query.image), result.hits[0].item.modality
    return f"{asked.name.lower()} to {found.name.lower()}"


def signals(result: SearchResult) -> tuple[float, float, float]:
    """What tells a right result from a wrong one.

    The cosine of the first result; its ranker's score above that of the mean candidate, or 0; and the logarithm of the
    length of the query's image feature, which tells noise from photographs, or 0 for a query without an image.
    """
    length = math.log(result.image_length) if result.image_length else 0.0
    return result.hits[0].cosine, sum(result.hits[0].shares), length


def word_of(weights: Sequence[float], known: Sequence[float]) -> str:
    """weights: of the signals, and the constant."""
    log_odds = sum(weight * value for weight, value in zip(weights, (*known, 1.0), strict=True))
    if log_odds >= math.log(GOOD / (1 - GOOD)):
        return "good"
    return "weak" if log_odds < math.log(WEAK / (1 - WEAK)) else "fair"


def record_of(run: Run, order: str, weights: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """What the manifest says: the order and the models that the weights belong to, and these by kind of query."""
    models = {part: run.digest(part) for part in MODELS if run.has(part)}
    return {"order": order, "models": models, "weights": weights}


class MatchWords:
    """The words of a run."""

    def __init__(self, run: Run | None):
        self.order, self.weights = "", dict[str, list[float]]()
        recorded = run.manifest.get("match") if run else None
        if run and recorded and recorded["models"] == record_of(run, "", {})["models"]:
            self.order = recorded["order"]
            self.weights = {kind: own for kind, own in recorded["weights"].items() if len(own) == SIGNALS + 1}

    def word(self, query: Query, result: SearchResult) -> str:
        """good, fair or weak; empty: not known."""
        if not result.hits or result.order != self.order:
            return ""
        weights = self.weights.get(kind_of(query, result))
        return word_of(weights, signals(result)) if weights else ""
