"""Fit the word for confidence of a run to its validation queries, and test it on others.

    python -m genius.evaluation.match RUN
    python -m genius.evaluation.match RUN --collection DIR --limit 200

Queries that have an answer in the index are searched for as they are served; a query is right if one of its positives
is among the first five results. It is also fitted to pictures that show nothing, about which no text is right: the
shuffled pixels and the mean color of some queries' pictures. From then on searches carry a word, see
genius/search/match.py. Prints a table and writes RUN/reports/match.json and .md.

Shapes: q queries.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_line, evaluation_parser, opened
from genius.evaluation.queries import BATCH, read_queries
from genius.metrics.hit_rate import wilson_interval
from genius.reports import Cell, Column, Report, Table, version
from genius.run import Run
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.search.match import FIRST, GOOD, WEAK, WORDS, kind_of, record_of, signals, word_of

MODULE = "genius.evaluation.match"
LEAST = 10  # right ones, and wrong ones, of a kind whose weights are fitted
EMPTIED = 8  # of so many queries that are a picture alone, one is asked again with pictures that show nothing
SIDE = 224  # of these pictures, in pixels
STRENGTH = 10.0  # inverse of the penalty of large weights, of signals with unit deviation
NOTE = (
    "Every result line says how well the first results probably fit: *good* if the probability that one of the first "
    f"{FIRST} is right is at least {GOOD:.0%}, *weak* if it is below {WEAK:.0%}, else *fair*. The probability follows "
    "from the cosine of the first result, its ranker's score and the length of the query's image feature, fitted to "
    "validation queries of each kind and to pictures that show nothing; the table is of queries that had no part in it."
)


@dataclass(frozen=True)
class Answered:
    """A query that was searched for."""

    kind: str  # such as "image to text"
    signals: tuple[float, float, float]
    right: bool


def answered(
    engine: Engine, collection: Collection, split: str, limit: int | None, seed: int, emptied: bool = False
) -> list[Answered]:
    """The queries of a split that found anything; emptied: and those of `showing_nothing`.

    Raises UserError as `read_queries` does.
    """
    found, rng = [], np.random.default_rng(seed)
    sets = read_queries(collection, engine.index, split, limit=limit, seed=seed, answerable=True)
    for queries in tqdm(sets, desc=f"search {split} queries", unit="row"):
        labeled = iter(queries.queries)
        for batch in queries.opened(collection, BATCH):
            positives = [query.positives for query in islice(labeled, len(batch))]
            nothing = showing_nothing(batch, rng) if emptied and Modality.TEXT in queries.targets else []
            asked, answers = [*batch, *nothing], [*positives, *[()] * len(nothing)]
            for query, result, right in zip(asked, engine.search(asked), answers, strict=True):
                if result.hits:
                    is_right = any(hit.item.id in right for hit in result.hits[:FIRST])
                    found.append(Answered(kind_of(query, result), signals(result), is_right))
    return found


def showing_nothing(queries: Sequence[Query], rng: np.random.Generator) -> list[Query]:
    """Of every EMPTIED-th query that is a picture alone: its shuffled pixels and its mean color, asked alike."""
    asked = []
    for query in [query for query in queries if query.image and not query.text][::EMPTIED]:
        pixels = np.asarray(query.image.convert("RGB").resize((SIDE, SIDE)))
        color = tuple(pixels.mean((0, 1)).astype(int).tolist())
        shuffled = rng.permutation(pixels.reshape(-1, 3)).reshape(pixels.shape)
        pictures = Image.fromarray(shuffled), Image.new("RGB", (SIDE, SIDE), color)
        asked += [Query("", picture, query.instruction) for picture in pictures]
    return asked


def fitted(queries: Sequence[Answered]) -> dict[str, list[float]]:
    """The weights of the signals, and the constant, of each kind with enough right and wrong queries."""
    weights = {}
    for kind in sorted({query.kind for query in queries}):
        of_kind = [query for query in queries if query.kind == kind]
        known, right = np.array([query.signals for query in of_kind]), np.array([query.right for query in of_kind])
        if min(right.sum(), (~right).sum()) >= LEAST:
            mean, deviation = known.mean(0), known.std(0).clip(min=1e-9)
            model = LogisticRegression(C=STRENGTH).fit((known - mean) / deviation, right)
            slopes = model.coef_[0] / deviation
            weights[kind] = [*slopes.tolist(), float(model.intercept_[0] - slopes @ mean)]
    return weights


def match_table(title: str, queries: Mapping[str, Sequence[tuple[str, bool]]]) -> Table:
    """For each kind of query the share of each word, and how many of these had a right result. queries: word, right."""
    rows: list[list[Cell]] = []
    for kind, of_kind in queries.items():
        row: list[Cell] = [kind, len(of_kind)]
        for word in WORDS:
            right = [is_right for given, is_right in of_kind if given == word]
            share = (sum(right) / len(right), *wilson_interval(sum(right), len(right))) if right else None
            row += [len(right) / len(of_kind), share]
        rows.append(row)
    columns = [Column(f"{word}{what}", "%") for word in WORDS for what in ("", f": right among {FIRST}")]
    return Table(title, [Column("queries of kind"), Column("queries"), *columns], rows)


def main(arguments: list[str]) -> None:
    given = evaluation_parser(MODULE, __doc__).parse_args(arguments)
    engine, collection = opened(given)
    weights = fitted(answered(engine, collection, "val", given.limit, given.seed, emptied=True))
    if not weights:
        raise UserError(
            f"no kind of query has {LEAST} validation queries with a right result among the first {FIRST} and {LEAST} "
            "without; add validation queries, or search without a word for confidence"
        )
    run = Run(given.run)
    run.record(match=record_of(run, engine.resolved(SearchOptions()).order, weights))
    tested: dict[str, list[tuple[str, bool]]] = {"all": []}
    for query in answered(engine, collection, given.split, given.limit, given.seed):
        if query.kind in weights:
            entry = word_of(weights[query.kind], query.signals), query.right
            tested["all"].append(entry)
            tested.setdefault(query.kind, []).append(entry)
    note = f"{NOTE} {engine.index.n:,} items, {given.split} queries, seed {given.seed}."
    table = match_table("Good, fair and weak matches", dict(sorted(tested.items())))
    rates = dict(zip(table.headings(), table.texts()[0], strict=True))
    good, weak = (rates[f"{word}: right among {FIRST}, %"].split()[0] for word in ("good", "weak"))
    headline = f"of good matches {good} % are right among the first {FIRST}, of weak ones {weak} %"
    command = command_line(MODULE, arguments)
    report = Report("A word for confidence", note, command, version(given.run), [table], headline=headline)
    report.save(given.run / "reports" / "match.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
