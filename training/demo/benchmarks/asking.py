"""Measure whether a run does what people ask for in their own words.

    python -m training.benchmarks.asking RUN $GENIUS_DATA

1. The phrasings that no reader learned from (training/data/requests.py), filled with names and
   captions of other sets; those about a picture are asked of objects, one of each class of
   ImageNet. Of the first five results the share that is of the kind asked for, read by the run and
   as a run without a reader asks: the words as content, behind the instruction that the page then
   adds.
2. Of the same objects, asked what they are in these phrasings: whether the thing is named among the
   first five.
3. *X without Y* for the pairs of without.tsv: the share of the first five that show Y, told by
   captions and names.

Writes RUN/reports/asking.json and .md.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from genius.collections.images import open_image
from genius.collections.source_records import Record
from genius.collections.sources import read_source
from genius.errors import UserError
from genius.evaluation.paper import read_published as read_table
from genius.reports import Cell, Column, Report, Table, program_version
from genius.schema import READINGS, UNREAD, Item, Query, SearchResult, source_fields
from genius.search.engine import Engine
from genius.search.match import FIRST
from training.data.requests import Contents, Phrasing, labeled, read_phrasings
from training.demo.benchmarks.uploads import benchmark_parser, judged, opened, right_entries, search
from training.distributed import run_alone

PAIRS = Path(__file__).with_name("without.tsv")
BEFORE = {  # instructions of the page of a run without a reader, without and with a picture
    False: "Show me a photo of this.",
    True: "Find the encyclopedia entry that says what this is.",
}
THING = "entry, with a picture"  # phrasings that ask what it shows
WAYS = ("{} without {}", "{}, no {} please", "photos of {} -{}", "pictures of {} but not {}")


def main(argv: Sequence[str] | None = None) -> None:
    options = benchmark_parser("training.benchmarks.asking", __doc__).parse_args(argv)
    engine = opened(options)
    if not engine.has_reader:
        raise UserError(
            f"{options.run} has no reader; train one: python -m training.reader "
            f"COLLECTION {options.run}"
        )
    objects = read_source(options.data / "objects").records
    captions = [
        record.captions[0]
        for record in read_source(options.data / "flickr8k").records
        if record.captions
    ]
    rng = random.Random(options.seed)
    contents = Contents([record.captions[0] for record in objects], captions)
    asked = [
        (
            phrasing,
            " ".join(labeled(phrasing, contents.fill(phrasing.words, rng)).words),
            rng.choice(objects),
        )
        for phrasing in read_phrasings()
        if phrasing.is_held_out
    ]
    kinds, named = measure_kinds(engine, asked, options.data / "objects")
    left_out = measure_left_out(engine, texts_of_pictures(options.data))
    Report(
        "Asking in one's own words",
        f"{len(asked)} phrasings that no reader learned from, with names and captions of other "
        f"sets; {engine.index.n:,} items, seed {options.seed}.",
        f"python -m training.benchmarks.asking RUN $GENIUS_DATA --seed {options.seed}",
        program_version(options.run),
        [kinds, named, left_out],
        headline=f"{kinds.texts()[0][3]} % of the first {FIRST} results are of the kind asked for",
    ).save(options.run / "reports" / "asking.json")


def measure_kinds(
    engine: Engine, asked: Sequence[tuple[Phrasing, str, Record]], folder: Path
) -> tuple[Table, Table]:
    """Right kinds by reading, and how often the thing in a picture is named."""
    read = [
        Query(words, open_image(folder / record.image) if phrasing.picture else None)
        for phrasing, words, record in asked
    ]
    before = [
        replace(query, instruction=BEFORE[query.image is not None], reading=UNREAD)
        for query in read
    ]
    answers = {"before": search(engine, before), "read": search(engine, read)}
    groups: dict[str, list[int]] = {"all": list(range(len(asked)))}  # places of what was asked
    for place, (phrasing, _, _) in enumerate(asked):
        group = f"{phrasing.reading}, {'with' if phrasing.picture else 'without'} a picture"
        groups.setdefault(group, []).append(place)
    right = [
        np.array(
            [right_share(result, phrasing) for result, (phrasing, _, _) in zip(results, asked)]
        )
        for results in answers.values()
    ]
    rows: list[list[Cell]] = [
        [name, len(places), *(float(shares[places].mean()) for shares in right)]
        for name, places in sorted(groups.items())
    ]
    columns = [Column("asked for"), Column("phrasings"), *(Column(name, "%") for name in answers)]
    kinds = Table(f"Right kind among the first {FIRST}", columns, rows)
    judge = right_entries()
    shown = [record for _, _, record in asked]
    things = groups[THING]
    cells = []
    for results in answers.values():
        named = [any(hits[:FIRST]) for hits in judged(results, shown, judge)]
        cells.append(float(np.mean([named[place] for place in things])))
    title = f"The thing is named among the first {FIRST}"
    return kinds, Table(title, columns, [["what it is", len(things), *cells]])


def right_share(result: SearchResult, phrasing: Phrasing) -> float:
    """The share of the first results that are of the kind asked for."""
    first = result.hits[:FIRST]
    right = sum(hit.item.modality == READINGS[phrasing.reading] for hit in first)
    return right / max(len(first), 1)


def texts_of_pictures(data: Path) -> dict[str, str]:
    """What captions, labels and categories say about each everyday scene, by the name of its
    file.
    """
    return {
        Path(record.image).name: " ".join(
            [*record.captions, str(record.attributes.get("category", ""))]
        )
        for record in read_source(data / "scenes").records
    }


def measure_left_out(engine: Engine, texts: dict[str, str]) -> Table:
    """The share of the first results that show what is left out: of X alone, of X without Y, and as
    before.
    """

    def shows(item: Item, pattern: re.Pattern[str]) -> bool:
        told = texts.get(Path(item.image or "").name, "")
        facts = " ".join(str(value) for value in source_fields(item.source).values())
        return bool(pattern.search(f"{told} {facts} {item.text}"))

    rows: list[list[Cell]] = []
    for pair in read_table(PAIRS):
        sought, left_out = pair["sought"], pair["left out"]
        pattern = re.compile(
            rf"\b({'|'.join(pair['words that name it'].split(','))})(s|es)?\b", re.I
        )
        ways = [way.format(sought, left_out) for way in WAYS]
        alone = Query(f"photos of {sought}")
        before = Query(ways[0], None, BEFORE[False], UNREAD)
        found = search(engine, [alone, before, *map(Query, ways)])
        shares = [
            float(np.mean([shows(hit.item, pattern) for hit in result.hits[:FIRST]]))
            for result in found
        ]
        rows.append([sought, left_out, shares[0], shares[1], float(np.mean(shares[2:]))])
    means = [float(np.mean([row[column] for row in rows])) for column in (2, 3, 4)]
    columns = [Column("sought"), Column("left out")]
    columns += [Column(name, "%") for name in ("sought alone", "before", "left out")]
    return Table(
        f"Of the first {FIRST} show what is left out",
        columns,
        [["all", f"{len(rows)} pairs", *means], *rows],
    )


if __name__ == "__main__":
    run_alone(main)
