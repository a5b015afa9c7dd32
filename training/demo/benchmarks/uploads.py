"""Measure what a run answers to photographs from outside its collection, as visitors upload them.

    python -m training.benchmarks.uploads RUN $GENIUS_DATA

1. "What is this?" on Flickr8k's development photographs: a text among the first results is right
   if it names what a caption names (caption_words.py). On the objects, one of each class of
   ImageNet: an entry of the encyclopedia, or its name alone, is right if it is of the class or of a
   kind of things that the class belongs to.
2. "Find similar pictures." on held-out pictures of other sets: a picture among the first results is
   right if it is of the category in the pool that upload_categories.tsv gives.
3. Where RUN has words for confidence: how often each came, and how often one of the first entries
   was right then, also for noise, flat colors and drawn shapes.

Held-out pictures are those of the test splits that the index lacks. Writes RUN/reports/uploads.json
and .md, which hold figures alone.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from genius.collections.images import open_image
from genius.collections.source_records import Record
from genius.collections.sources import read_source
from genius.commands import command_parser
from genius.encoding.features import batched
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_number, add_seed
from genius.evaluation.match import match_table
from genius.evaluation.paper import read_published as read_table
from genius.index.store import Index
from genius.metrics.hit_rate import bootstrap_shares, interval
from genius.reports import Cell, Column, Report, Table, program_version
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import Item, Modality, Query, SearchOptions, SearchResult, source_fields
from genius.search.batching import leave_cores_to_engines
from genius.search.engine import Engine
from genius.search.match import FIRST
from training.demo.benchmarks.caption_words import is_right, words
from training.demo.photos.encyclopedia import Encyclopedia
from training.demo.toy_world import Scene, picture
from training.distributed import run_alone

WHAT_IS_THIS, FIND_SIMILAR = "What is this?", "Find similar pictures."
CUTS = (1, 5, 10)
RATES = [Column(f"hit@{k}", "%") for k in CUTS]
DRAWS = 2000  # bootstrap samples
BATCH = 16  # queries searched together
CATEGORIES = Path(__file__).parent / "upload_categories.tsv"
PHRASINGS = 8  # of the run's own
PER_CATEGORY = 20  # uploads
DRAWN, SIDE = 100, 224  # pictures of each kind that shows nothing, pixels
CAPTIONS_THAT_AGREE = 2  # captions that name what a picture is taken for

Judge = Callable[[Item, Any], bool]  # whether an item is right about what was uploaded


def main(argv: Sequence[str] | None = None) -> None:
    parser = benchmark_parser("training.benchmarks.uploads", __doc__)
    add_number(
        parser, "--limit", default=200, help="photographs of Flickr8k (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    engine = opened(options)
    sets = held_out_records(options.data, engine.index)
    if not sets.get("flickr8k"):
        raise UserError(
            f"{options.data}/flickr8k has no development photograph that {options.run} has not "
            "indexed, so there is no upload from outside; name the folder of the public sets, or "
            "a run whose index lacks them"
        )
    question = [*Run(options.run).manifest.get("about", {}).get("ask_with_text", []), ""][0]
    tables = []
    confidence = {}
    judges: dict[str, Judge] = {
        "flickr8k": lambda item, record: is_right(item.text, record.captions),
        "objects": right_entries(),
    }
    for name, judge in judges.items():
        if records := sets.get(name, []):
            sample = random.Random(options.seed).sample(records, min(options.limit, len(records)))
            table, confidence[name] = measure_answers(
                engine, options.data / name, sample, judge, question, options.seed
            )
            tables.append(table)
    tables.append(measure_similar(engine, options.data, sets, options.seed))
    if any(word for word, _ in confidence["flickr8k"]):
        for name, pictures in drawn(options.seed).items():
            found = search(engine, [Query("", picture, WHAT_IS_THIS) for _, picture in pictures])
            right = judged(found, pictures, lambda item, shown: shown[0] in item.text.lower())
            confidence[name] = with_words(found, right)
        tables.append(match_table("A word for confidence, of pictures from elsewhere", confidence))
    sampled = f"--limit {options.limit} --seed {options.seed}"
    Report(
        "Uploads: photographs from outside the collection",
        f"How well the page answers about photographs of your own: {engine.index.n:,} items, seed "
        f"{options.seed}. Brackets are bootstrap 95 % intervals.",
        f"python -m training.benchmarks.uploads RUN $GENIUS_DATA {sampled}",
        program_version(options.run),
        [table for table in tables if table.rows],
        headline=f"{tables[0].texts()[0][3].split()[0]} % of photographs from outside are named "
        "among the first 5",
    ).save(options.run / "reports" / "uploads.json")


def benchmark_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """The arguments of a benchmark on the public sets."""
    parser = command_parser(module, doc)
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of the public sets")
    add_seed(parser, "all samples")
    add_device(parser)
    return parser


def opened(options: argparse.Namespace) -> Engine:
    """The run that the arguments name. The process keeps its memory and its cores for it."""
    keep_freed_memory()
    leave_cores_to_engines()
    return Engine.load(options.run, options.device)


def held_out_records(data: Path, index: Index) -> dict[str, list[Record]]:
    """The test records of each set whose picture the index lacks; collections store it at
    images/SET/PICTURE.

    No run was trained on one as a query. The decoder may have seen those that a test pool of its
    collection has, as queries for themselves.
    """
    indexed = {item.image for item in index.items(range(index.n))}
    return {
        folder.name: [
            record
            for record in read_source(folder).records
            if record.split == "test"
            and f"images/{folder.name}/{record.image.removeprefix('images/')}" not in indexed
        ]
        for folder in sorted(data.iterdir())
        if (folder / "manifest.jsonl").is_file()
    }


def search(engine: Engine, queries: Sequence[Query]) -> list[SearchResult]:
    """The results for each query, as the page finds them. The engine remembers the features of 256
    pictures.
    """
    options = SearchOptions(k=CUTS[-1])
    return [result for part in batched(queries, BATCH) for result in engine.search(part, options)]


def judged(
    results: Sequence[SearchResult], uploads: Sequence[Any], judge: Judge
) -> list[list[bool]]:
    """For each upload whether its results are right, best first."""
    answered = zip(results, uploads, strict=True)
    return [[judge(hit.item, upload) for hit in result.hits] for result, upload in answered]


def with_words(
    results: Sequence[SearchResult], right: Sequence[Sequence[bool]]
) -> list[tuple[str, bool]]:
    """The word for confidence of each upload, and whether one of its first results is right."""
    return [(result.match, any(hits[:FIRST])) for result, hits in zip(results, right, strict=True)]


def drawn(seed: int) -> dict[str, list[tuple[str, Image.Image]]]:
    """Pictures that are no photographs, each with the word that a right entry has."""
    rng = np.random.default_rng(seed)
    chosen = random.Random(seed)
    noise = rng.integers(0, 256, (DRAWN, SIDE, SIDE, 3), dtype=np.uint8)
    colors = rng.integers(0, 256, (DRAWN, 3)).tolist()
    scenes = [Scene.draw(chosen, "test") for _ in range(DRAWN)]
    return {
        "noise": [("noise", Image.fromarray(pixels)) for pixels in noise],
        "flat colors": [
            ("color", Image.new("RGB", (SIDE, SIDE), tuple(color))) for color in colors
        ],
        "drawn shapes": [(scene.shape, picture(scene, chosen)) for scene in scenes],
    }


def right_entries() -> Judge:
    """Judges whether a text is the entry or a name of the class of an object, or of a kind that it
    belongs to.
    """
    encyclopedia = Encyclopedia.read()
    classes = {name: entry.classes for name, entry in encyclopedia.by_name.items()}
    classes |= {entry.text.lower(): entry.classes for entry in encyclopedia.entries}
    return lambda item, record: record.attributes["class"] in classes.get(item.text.lower(), ())


def measure_answers(
    engine: Engine, folder: Path, records: Sequence[Record], judge: Judge, question: str, seed: int
) -> tuple[Table, list[tuple[str, bool]]]:
    """A row for each way to ask "What is this?", and for the plain one the words for confidence.

    judge: whether a text is right about a record. question: the instruction that the page gives to
    a picture with a description.
    """
    pictures = [open_image(folder / record.image) for record in records]
    known = {
        text for *way, text in engine.index.instructions if way == [Modality.IMAGE, Modality.TEXT]
    }
    others = sorted(known - {WHAT_IS_THIS})
    others = random.Random(seed).sample(others, min(PHRASINGS, len(others)))
    ways = [(WHAT_IS_THIS, "typed as the description", WHAT_IS_THIS, question)]
    ways += [(text, "as the instruction", "", text) for text in (WHAT_IS_THIS, *others)]
    rows: list[list[Cell]] = []
    confidence = []
    for shown, way, text, instruction in ways:
        found = search(engine, [Query(text, picture, instruction) for picture in pictures])
        right = judged(found, records, judge)
        rows.append([shown, way, *rates(right, seed)])
        confidence.append(with_words(found, right))
    note = (
        f"{len(records):,} pictures of {folder.name}. A result is right if it names what the "
        "picture shows."
    )
    columns = [Column("instruction"), Column("results"), *RATES]
    return Table(WHAT_IS_THIS, columns, rows, note), confidence[1]  # as the instruction


def rates(right: Sequence[Sequence[bool]], seed: int) -> list[Cell]:
    """Hit rate with its interval at each cut. right: for each upload whether its results are right,
    best first.
    """
    rng = np.random.default_rng(seed)
    hits = [np.array([any(of_upload[:k]) for of_upload in right]) for k in CUTS]
    return [(float(hit.mean()), *interval(bootstrap_shares(hit, DRAWS, rng))) for hit in hits]


def measure_similar(engine: Engine, data: Path, sets: dict[str, list[Record]], seed: int) -> Table:
    """A row for each category that the pool has."""
    pool = [category(item) for item in engine.index.items(range(engine.index.n)) if item.image]
    rows: list[list[Cell]] = []
    for entry in read_table(CATEGORIES):
        categories = entry["categories"].split(",")
        values = entry["values"].split(",")
        records = [
            record
            for record in sets.get(entry["set"], [])
            if belongs(record, entry["field"], values)
        ]
        inside = sum(name in categories for name in pool)
        if not inside or not records:
            continue
        sample = random.Random(seed).sample(records, min(PER_CATEGORY, len(records)))
        queries = [
            Query("", open_image(data / entry["set"] / record.image), FIND_SIMILAR)
            for record in sample
        ]
        found = search(engine, queries)
        right = judged(found, [categories] * len(sample), is_in)
        of_first_5 = float(np.mean([hit for hits in right for hit in hits[:5]]))
        asked: list[Cell] = [entry[name] for name in ("set", "values", "categories")]
        rows.append([*asked, inside, len(sample), *rates(right, seed), of_first_5])
    names = ("set", "uploaded", "category in the pool", "pictures of it", "uploads")
    note = (
        f"Held-out pictures of other sets with the instruction *{FIND_SIMILAR}* A result is right "
        "if it is a picture of the named categories. *Of the first 5*: share of right ones among "
        "all first five results."
    )
    columns = [*map(Column, names), *RATES, Column("of the first 5", "%")]
    return Table(FIND_SIMILAR, columns, rows, note)


def category(item: Item) -> str:
    """The category in the item's source; empty if it has none."""
    return str(source_fields(item.source).get("category", ""))


def is_in(item: Item, categories: Sequence[str]) -> bool:
    """Whether it is a picture of one of these categories."""
    return bool(item.image) and category(item) in categories


def belongs(record: Record, attribute: str, values: Sequence[str]) -> bool:
    """Whether a held-out picture is of one of these categories, by an attribute or by the words of
    its texts.
    """
    if attribute == "captions":
        named = [set(values) & set(words(caption)) for caption in record.captions]
        return sum(map(bool, named)) >= CAPTIONS_THAT_AGREE
    if attribute == "answers":
        return any(set(values) & set(words(answer)) for _, answer in record.qa)
    return record.attributes.get(attribute) in values


if __name__ == "__main__":
    run_alone(main)
