"""Measure whether a run does what people ask for in their own words.

    python -m training.benchmarks.asking RUN $GENIUS_DATA

1. The phrasings that no reader learned from (training/data/requests.py), filled with names and
captions of other sets; those
   about a picture are asked of objects, one of each class of ImageNet. Of the first five results
   the share that is of
   the kind asked for, read by the run and as a run without a reader asks: the words as content,
   behind the instruction
   that the page then adds.
2. Of the same objects, asked what they are in these phrasings: whether the thing is named among the
first five. 3. *X without Y* for the pairs of without.tsv: the share of the first five that show Y,
told by captions and names.

Writes RUN/reports/asking.json and .md.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from genius.collections.images import open_image
from genius.collections.sources import Record, read_source
from genius.commands import command_parser
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_seed
from genius.evaluation.paper import read_published as read_table
from genius.reports import Cell, Column, Report, Table, program_version, shown
from genius.runtime import keep_freed_memory
from genius.schema import READINGS, UNREAD, Item, Query, SearchResult, source_fields
from genius.search.batching import leave_cores_to_engines
from genius.search.engine import Engine
from genius.search.match import FIRST
from training.data.requests import Contents, Phrasing, labeled, read_phrasings
from training.demo.benchmarks.uploads import right_entries, search
from training.distributed import run_alone

PAIRS = Path(__file__).with_name("without.tsv")
BEFORE = {  # instructions of the page of a run without a reader, without and with a picture
    False: "Show me a photo of this.",
    True: "Find the encyclopedia entry that says what this is.",
}
THING = (True, "entry")  # phrasings with a picture that ask what it shows
WAYS = ("{} without {}", "{}, no {} please", "photos of {} -{}", "pictures of {} but not {}")


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.asking", __doc__)
    parser.add_argument(
        "run", type=Path, help="a directory made by python -m training, with a reader"
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of the public sets")
    add_seed(parser, "all samples")
    add_device(parser)
    options = parser.parse_args(argv)
    keep_freed_memory()
    leave_cores_to_engines()
    engine = Engine.load(options.run, options.device)
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
    kinds, named = measure_kinds(engine, asked, options.data / "objects", right_entries())
    left_out = measure_left_out(engine, texts_of_pictures(options.data))
    (row,) = (row for row in kinds.rows if row[0] == "all")
    Report(
        "Asking in one's own words",
        f"{len(asked)} phrasings that no reader learned from, with names and captions of "
        "other sets; "
        f"{engine.index.n:,} items, seed {options.seed}.",
        f"python -m training.benchmarks.asking RUN $GENIUS_DATA --seed {options.seed}",
        program_version(options.run),
        [kinds, named, left_out],
        headline=f"{shown(row[3], kinds.columns[3])} % of the first {FIRST} results are of the "
        "kind asked for",
    ).save(options.run / "reports" / "asking.json")


def measure_kinds(
    engine: Engine,
    asked: Sequence[tuple[Phrasing, str, Record]],
    folder: Path,
    judge: Callable[[str, Record], bool],
) -> tuple[Table, Table]:
    """Right kinds by reading, and how often the thing in a picture is named."""
    pictures = [
        open_image(folder / record.image) if phrasing.picture else None
        for phrasing, _, record in asked
    ]
    read = [Query(words, picture) for (_, words, _), picture in zip(asked, pictures, strict=True)]
    before = [
        replace(query, instruction=BEFORE[query.image is not None], reading=UNREAD)
        for query in read
    ]
    answers = {"before": search(engine, before), "read": search(engine, read)}
    groups: dict[str, list[int]] = {"all": list(range(len(asked)))}
    for place, (phrasing, _, _) in enumerate(asked):
        groups.setdefault(
            f"{phrasing.reading}, {'with' if phrasing.picture else 'without'} a picture", []
        ).append(place)
    wanted = [READINGS[phrasing.reading] for phrasing, _, _ in asked]

    def share(results: Sequence[SearchResult], places: Sequence[int]) -> float:
        return float(np.mean([right_share(results[place], wanted[place]) for place in places]))

    rows: list[list[Cell]] = [
        [name, len(places), *(share(results, places) for results in answers.values())]
        for name, places in sorted(groups.items())
    ]
    columns = [Column("asked for"), Column("phrasings"), *(Column(name, "%") for name in answers)]
    kinds = Table(f"Right kind among the first {FIRST}", columns, rows)
    of_things = [
        place
        for place, (phrasing, _, _) in enumerate(asked)
        if (phrasing.picture, phrasing.reading) == THING
    ]
    cells = [
        float(np.mean([names(results[place], asked[place][2], judge) for place in of_things]))
        if of_things
        else None
        for results in answers.values()
    ]
    named = Table(
        f"The thing is named among the first {FIRST}",
        columns,
        [["what it is", len(of_things), *cells]],
    )
    return kinds, named


def right_share(result: SearchResult, wanted: int) -> float:
    first = result.hits[:FIRST]
    return sum(hit.item.modality == wanted for hit in first) / max(len(first), 1)


def names(result: SearchResult, record: Record, judge: Callable[[str, Record], bool]) -> bool:
    return any(judge(hit.item.text, record) for hit in result.hits[:FIRST])


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
