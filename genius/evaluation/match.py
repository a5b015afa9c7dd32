"""Fit the word for confidence of a run to its validation queries, and test it on others.

    python -m genius.evaluation.match RUN
    python -m genius.evaluation.match RUN --collection DIR --limit 200

Queries that have an answer in the index are searched for as they are served; a query is right if
one of its positives is among the first five results. Queries that nothing answers are wrong: the
same ones without their positives, as if the index lacked them; pictures with the words of other
queries; and pictures that show nothing, under every reading: shuffled pixels, one color, noise,
lines and shapes, and screens of text. From then on searches carry a word, see
genius/search/match.py. Prints two tables and writes RUN/reports/match.json and .md.

Shapes: q queries.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_line, evaluation_parser, opened
from genius.evaluation.queries import BATCH, read_queries
from genius.metrics.hit_rate import wilson_interval
from genius.reports import Cell, Column, Report, Table, program_version
from genius.run import Run
from genius.schema import READINGS_OF_PICTURES, UNREAD, Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from genius.search.match import (
    FIRST,
    GOOD,
    LENGTH,
    WEAK,
    WORDS,
    kind_of,
    record_of,
    signals,
    word_of,
)

MODULE = "genius.evaluation.match"
# right ones, and wrong ones, of a kind whose weights are fitted; and good ones, for a word but weak
LEAST = 10
K = 15  # results, of which some are taken away
SWAPPED = 4  # of so many queries with a picture, one is asked with the words of another
EMPTIED = 40  # pictures that lend their pixels to pictures that show nothing
SIDE = 224  # of these pictures, in pixels
WITHHELD = 0.25  # weight of queries without their positives
STRENGTH = 10.0  # inverse of the penalty of large weights, of signals with unit deviation
# least and most of a drawing, of a screen, and their size
SHAPES = (3, 9)
LINES = (6, 30)
LETTERS = (10, 16)
SCREEN = (
    "file edit view total amount due invoice date page search user name error settings login "
    "button of the and"
)
NOTE = (
    "Every result line says how well the first results probably fit: *good* if the probability "
    f"that one of the first {FIRST} is right is at least {GOOD:.0%}, *weak* if it is below "
    f"{WEAK:.0%}, else *fair*; of readings with too few right answers among the validation queries "
    "only *weak* is said. The tables are of queries that had no part in the fit."
)


@dataclass(frozen=True)
class Answered:
    """A query that was searched for."""

    kind: str  # its reading, or such as "image to text"
    signals: tuple[float, ...]
    right: bool
    weight: float = 1.0  # in the fit
    picture: str = ""  # that shows nothing: what it is


def answered(
    engine: Engine,
    collection: Collection,
    split: str,
    limit: int | None,
    seed: int,
    others: bool = False,
) -> list[Answered]:
    """The queries of a split that found anything, and pictures that show nothing.

    others: and the queries that nothing answers. Raises UserError as `read_queries` does.
    """
    found = list[Answered]()
    pictures = list[Image.Image]()
    sets = read_queries(collection, engine.index, split, limit=limit, seed=seed, answerable=True)

    def served(queries: Sequence[Query]) -> Iterator[tuple[Query, SearchResult]]:
        results = engine.search(queries, SearchOptions(k=K)) if queries else []
        return zip(queries, results, strict=True)

    for queries in tqdm(sets, desc=f"search {split} queries", unit="row"):
        labeled = batched(queries.queries, BATCH)
        for batch, known in zip(queries.opened(collection, BATCH), labeled, strict=True):
            for (query, result), answer in zip(served(batch), known, strict=True):
                found += judged(query, result, set(answer.positives), others)
            with_picture = [query for query in batch if query.image]
            pictures += [query.image for query in with_picture]
            for query, result in served(swapped(with_picture[::SWAPPED]) if others else []):
                found += judged(query, result, set())
    readings = READINGS_OF_PICTURES if engine.has_reader else (UNREAD,)
    lent = pictures[:: max(1, len(pictures) // EMPTIED)][:EMPTIED]
    for name, picture in showing_nothing(lent, np.random.default_rng(seed)):
        for query, result in served([Query("", picture, reading=one) for one in readings]):
            found += [replace(one, picture=name) for one in judged(query, result, set())]
    return found


def judged(
    query: Query, result: SearchResult, positives: set[str], withheld: bool = False
) -> list[Answered]:
    """A query as it was answered; withheld: and as if its positives were not there."""
    if not result.hits:
        return []
    kind = kind_of(query, result)
    length = result.image_length
    is_right = [
        not positives.isdisjoint([hit.item.id, *(item.id for item in hit.versions)])
        for hit in result.hits
    ]
    both = [Answered(kind, signals(result.hits, length), any(is_right[:FIRST]))]
    rest = [hit for hit, right in zip(result.hits, is_right, strict=True) if not right]
    if withheld and len(rest) >= FIRST:
        both.append(Answered(kind, signals(rest, length), False, WITHHELD))
    return both


def swapped(queries: Sequence[Query]) -> list[Query]:
    """Pictures with the words of the next query."""
    others = [*queries[1:], *queries[:1]]
    return [
        replace(query, text=other.text)
        for query, other in zip(queries, others, strict=True)
        if query.text and query.text != other.text
    ]


def showing_nothing(
    pictures: Sequence[Image.Image], rng: np.random.Generator
) -> Iterator[tuple[str, Image.Image]]:
    """For each picture some of its size that show nothing, with what they are."""
    for picture in pictures:
        pixels = np.asarray(picture.convert("RGB").resize((SIDE, SIDE)))
        shuffled = rng.permutation(pixels.reshape(-1, 3)).reshape(pixels.shape)
        yield "shuffled pixels", Image.fromarray(shuffled)
        yield "noise", Image.fromarray(rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8))
        yield (
            "one color",
            Image.new("RGB", (SIDE, SIDE), tuple(pixels.mean((0, 1)).astype(int).tolist())),
        )
        yield "lines and shapes", drawing(rng)
        yield "screen of text", screen(rng)


def drawing(rng: np.random.Generator) -> Image.Image:
    """A few black lines, circles and boxes on white."""
    image = Image.new("RGB", (SIDE, SIDE), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(rng.integers(*SHAPES)):
        left, right = sorted(rng.integers(0, SIDE, 2).tolist())
        top, bottom = sorted(rng.integers(0, SIDE, 2).tolist())
        draw = (pen.line, pen.ellipse, pen.rectangle)[rng.integers(3)]
        draw(
            (left, top, right + 2, bottom + 2),
            **{"fill" if draw == pen.line else "outline": "black"},
            width=3,
        )
    return image


def screen(rng: np.random.Generator) -> Image.Image:
    """Lines of words, dark on light or light on dark."""
    size = int(rng.integers(*LETTERS))
    words = SCREEN.split()
    ground, ink = ("black", "white") if rng.random() < 0.3 else ("white", "black")
    image = Image.new("RGB", (SIDE, SIDE), ground)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for line in range(rng.integers(*LINES)):
        pen.text(
            (6, 4 + line * (size + 4)),
            " ".join(rng.choice(words, rng.integers(2, 8))),
            fill=ink,
            font=font,
        )
    return image


def fitted(queries: Sequence[Answered]) -> tuple[dict[str, list[float]], list[str]]:
    """The weights of the signals, and the constant, of each kind; and the kinds of which only weak
    ones are told.

    A reading with too few right and wrong queries has the weights of all queries with a picture
    together.
    """
    weights = dict[str, list[float]]()
    only_weak = list[str]()
    pictured = [query for query in queries if query.signals[LENGTH]]
    for kind in sorted({query.kind for query in queries}):
        of_kind = [query for query in queries if query.kind == kind]
        own = fit(of_kind)
        good = own and sum(word_of(own, query.signals) == "good" for query in of_kind)
        if own or (kind in READINGS_OF_PICTURES and (own := fit(pictured))):
            weights[kind] = own
            only_weak += [kind] if (good or 0) < LEAST else []
    return weights, only_weak


def fit(queries: Sequence[Answered]) -> list[float]:
    """The weights of the signals, and the constant; none of too few right or wrong queries."""
    known = np.array([query.signals for query in queries])
    right = np.array([query.right for query in queries])
    if not len(queries) or min(right.sum(), (~right).sum()) < LEAST:
        return []
    mean = known.mean(0)
    deviation = known.std(0).clip(min=1e-9)
    inputs = (known - mean) / deviation
    shares = [query.weight for query in queries]
    model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(inputs, right, shares)
    slopes = model.coef_[0] / deviation
    return [*slopes.tolist(), float(model.intercept_[0] - slopes @ mean)]


def match_table(title: str, queries: Mapping[str, Sequence[tuple[str, bool]]]) -> Table:
    """For each kind of query the share of each word, and how many of these had a right result.
    queries: word, right.
    """
    rows: list[list[Cell]] = []
    for kind, of_kind in queries.items():
        row: list[Cell] = [kind, len(of_kind)]
        for word in WORDS:
            right = [is_right for given, is_right in of_kind if given == word]
            share = (
                (sum(right) / len(right), *wilson_interval(sum(right), len(right)))
                if right
                else None
            )
            row += [len(right) / len(of_kind), share]
        rows.append(row)
    columns = [
        Column(f"{word}{what}", "%") for word in WORDS for what in ("", f": right among {FIRST}")
    ]
    return Table(title, [Column("queries of kind"), Column("queries"), *columns], rows)


def nothing_table(queries: Sequence[tuple[Answered, str]]) -> Table:
    """Of pictures that show nothing, the share of weak matches by reading and by picture. queries:
    with their words.
    """
    names = sorted({query.picture for query, _ in queries})
    rows: list[list[Cell]] = []
    for kind in sorted({query.kind for query, _ in queries}):
        row: list[Cell] = [kind, sum(query.kind == kind for query, _ in queries)]
        for name in names:
            words = [word for query, word in queries if (query.kind, query.picture) == (kind, name)]
            row.append(words.count("weak") / len(words) if words else None)
        rows.append(row)
    columns = [Column("queries of kind"), Column("queries"), *(Column(name, "%") for name in names)]
    return Table("Pictures that show nothing: weak matches", columns, rows)


def main(arguments: list[str]) -> None:
    """Fit and test the words, and write match.json. Raises UserError if no kind of query has enough
    validation queries.
    """
    given = evaluation_parser(MODULE, __doc__).parse_args(arguments)
    engine, collection = opened(given)
    weights, only_weak = fitted(
        answered(engine, collection, "val", given.limit, given.seed, others=True)
    )
    if not weights:
        raise UserError(
            f"no kind of query has {LEAST} validation queries with a right result among "
            f"the first {FIRST} and {LEAST} "
            "without; add validation queries, or search without a word for confidence"
        )
    run = Run(given.run)
    run.record(match=record_of(run, engine.resolved(SearchOptions()).order, weights, only_weak))
    tested: dict[str, list[tuple[str, bool]]] = {"all": []}
    nothing: list[tuple[Answered, str]] = []
    for query in answered(engine, collection, given.split, given.limit, given.seed + 1):
        if query.kind not in weights:
            continue
        word = word_of(weights[query.kind], query.signals)
        word = "" if query.kind in only_weak and word != "weak" else word
        if query.picture:
            nothing.append((query, word))
            continue
        tested["all"].append((word, query.right))
        tested.setdefault(query.kind, []).append((word, query.right))
    note = f"{NOTE} {engine.index.n:,} items, {given.split} queries, seed {given.seed}."
    table = match_table("Good, fair and weak matches", dict(sorted(tested.items())))
    rates = dict(zip(table.headings(), table.texts()[0], strict=True))
    good, weak = (rates[f"{word}: right among {FIRST}, %"].split()[0] for word in ("good", "weak"))
    headline = f"of good matches {good} % are right among the first {FIRST}, of weak ones {weak} %"
    command = command_line(MODULE, arguments)
    tables = [table, *([nothing_table(nothing)] if nothing else [])]
    report = Report(
        "A word for confidence",
        note,
        command,
        program_version(given.run),
        tables,
        headline=headline,
    )
    report.save(given.run / "reports" / "match.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
