"""Measure what a run answers to photographs from outside its collection, as visitors upload them.

    python -m training.benchmarks.uploads RUN $GENIUS_DATA [--out FOLDER]

1. "What is this?" on Flickr8k's development photographs: a text among the first results is right if
it names what a
   caption names (caption_words.py). On the objects, one of each class of ImageNet: an entry of the
   encyclopedia,
   or its name alone, is right if it is of the class or of a kind of things that the class belongs
   to.
2. Where RUN holds the objects themselves, as a folder of one's own does: a name or a definition
asks for its picture. 3. "Find similar pictures." on held-out pictures of other sets: a picture
among the first results is right if it is of
   the category in the pool that upload_categories.tsv gives.
4. Where RUN has words for confidence: how often each came, and how often one of the first entries
was right then, also
   for noise, flat colors and drawn shapes.

Held-out pictures are those of the test splits that the index lacks. Writes RUN/reports/uploads.json
and .md, which hold figures alone. With --out, FOLDER gets a sheet of each set of (1) for the eye,
the worst uploads first; it shows pictures that must not be shared.
"""

import base64
import html
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from timm.data import ImageNetInfo

from genius.collections.images import open_image, thumbnail
from genius.collections.sources import Record, read_source
from genius.commands import command_parser
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_number, add_seed
from genius.evaluation.match import match_table
from genius.evaluation.paper import read_published as read_table
from genius.index.store import Index
from genius.metrics.hit_rate import MISS, bootstrap_shares, interval
from genius.models.class_bridge import ClassTexts
from genius.reports import Cell, Column, Report, Table, program_version
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import Hit, Item, Modality, Query, SearchOptions, SearchResult, source_fields
from genius.search.batching import leave_cores_to_engines
from genius.search.engine import Engine
from genius.search.match import FIRST
from training.demo.benchmarks.caption_words import is_right, words
from training.demo.photos.encyclopedia import Encyclopedia
from training.demo.toy_world import Scene, picture
from training.distributed import run_alone

WHAT_IS_THIS, FIND_SIMILAR = "What is this?", "Find similar pictures."
FIND_PICTURE = "Show me a photo of this."
CUTS = (1, 5, 10)
DRAWS = 2000  # bootstrap samples
BATCH = 16  # queries searched together
CATEGORIES = Path(__file__).parent / "upload_categories.tsv"
PHRASINGS = 8  # of the run's own
PER_CATEGORY = 20  # uploads
JUDGED, SHOWN, THUMBNAIL = 60, 5, 160  # uploads and results of a sheet; pixels
DRAWN, SIDE = 100, 224  # pictures of each kind that shows nothing, pixels
CAPTIONS_THAT_AGREE = 2  # captions that name what a picture is taken for


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.uploads", __doc__)
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of the public sets")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where sheets are written (default: none)"
    )
    add_number(
        parser, "--limit", default=200, help="photographs of Flickr8k (default: %(default)s)"
    )
    add_seed(parser, "all samples")
    add_device(parser)
    options = parser.parse_args(argv)
    keep_freed_memory()
    leave_cores_to_engines()
    engine = Engine.load(options.run, options.device)
    sets = held_out_records(options.data, engine.index)
    if not sets.get("flickr8k"):
        raise UserError(
            f"{options.data}/flickr8k has no development photograph that {options.run} "
            "has not indexed, so there is no "
            "upload from outside; name the folder of the public sets, or a run whose "
            "index lacks them"
        )
    question = [*Run(options.run).manifest.get("about", {}).get("ask_with_text", []), ""][0]
    tables = []
    words = {}
    judges = {
        "flickr8k": lambda text, record: is_right(text, record.captions),
        "objects": right_entries(),
    }
    for name, judge in judges.items():
        if records := sets.get(name, []):
            sample = random.Random(options.seed).sample(records, min(options.limit, len(records)))
            table, found = measure_answers(
                engine, options.data / name, sample, judge, question, options.seed
            )
            tables.append(table)
            words[name] = [
                (result.match, any(judge(hit.item.text, record) for hit in result.hits[:FIRST]))
                for result, record in zip(found, sample, strict=True)
            ]
            if options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                sheet = answer_sheet(
                    options.data / name, sample, [result.hits for result in found], judge
                )
                (options.out / f"{name}.html").write_text(sheet, encoding="utf-8")
    tables += [
        measure_similar(engine, options.data, sets, options.seed),
        measure_words(engine, options.seed),
    ]
    if any(word for word, _ in words["flickr8k"]):
        for name, pictures in drawn(options.seed).items():
            found = search(engine, [Query("", picture, WHAT_IS_THIS) for _, picture in pictures])
            named = [
                [shape in hit.item.text.lower() for hit in result.hits]
                for (shape, _), result in zip(pictures, found)
            ]
            words[name] = [(result.match, any(hits[:FIRST])) for result, hits in zip(found, named)]
        tables.append(match_table("A word for confidence, of pictures from elsewhere", words))
    sampled = f"--limit {options.limit} --seed {options.seed}"
    Report(
        "Uploads: photographs from outside the collection",
        f"How well the page answers about photographs of your own: {engine.index.n:,} "
        f"items, seed {options.seed}. "
        "Brackets are bootstrap 95 % intervals.",
        f"python -m training.benchmarks.uploads RUN $GENIUS_DATA {sampled}",
        program_version(options.run),
        [table for table in tables if table.rows],
        headline=f"{tables[0].texts()[0][3].split()[0]} % of photographs from outside are named "
        "among the first 5",
    ).save(options.run / "reports" / "uploads.json")


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
    parts = [queries[start : start + BATCH] for start in range(0, len(queries), BATCH)]
    return [result for part in parts for result in engine.search(part, SearchOptions(k=CUTS[-1]))]


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


def right_entries() -> Callable[[str, Record], bool]:
    """Judges whether a text is the entry or a name of the class of an object, or of a kind that it
    belongs to.
    """
    encyclopedia = Encyclopedia.read()
    classes = {name: entry.classes for name, entry in encyclopedia.by_name.items()}
    classes |= {entry.text.lower(): entry.classes for entry in encyclopedia.entries}
    return lambda text, record: record.attributes["class"] in classes.get(text.lower(), ())


def measure_answers(
    engine: Engine,
    folder: Path,
    records: Sequence[Record],
    judge: Callable[[str, Record], bool],
    question: str,
    seed: int,
) -> tuple[Table, list[SearchResult]]:
    """A row for each way to ask "What is this?", and what came back for the plain one.

    judge: whether a text is right about a record. question: the instruction that the page gives to
    a picture with a description.
    """
    pictures = [open_image(folder / record.image) for record in records]
    known = {
        text for *way, text in engine.index.instructions if way == [Modality.IMAGE, Modality.TEXT]
    }
    phrasings = sorted(known - {WHAT_IS_THIS})
    typed = [Query(WHAT_IS_THIS, picture, question) for picture in pictures]
    results = {(WHAT_IS_THIS, "typed as the description"): search(engine, typed)}
    for instruction in (
        WHAT_IS_THIS,
        *random.Random(seed).sample(phrasings, min(PHRASINGS, len(phrasings))),
    ):
        asked = [Query("", picture, instruction) for picture in pictures]
        results[instruction, "as the instruction"] = search(engine, asked)
    rows: list[list[Cell]] = []
    for way, found in results.items():
        answered = zip(found, records, strict=True)
        right = [
            [judge(hit.item.text, record) for hit in result.hits] for result, record in answered
        ]
        rows.append([*way, *rates(right, seed)])
    columns = [Column("instruction"), Column("results"), *(Column(f"hit@{k}", "%") for k in CUTS)]
    note = (
        f"{len(records):,} pictures of {folder.name}. A result is right if it names what the "
        "picture shows."
    )
    return Table(WHAT_IS_THIS, columns, rows, note), results[WHAT_IS_THIS, "as the instruction"]


def answer_sheet(
    folder: Path,
    records: Sequence[Record],
    results: Sequence[Sequence[Hit]],
    judge: Callable[[str, Record], bool],
) -> str:
    """HTML with a line for each upload, those without a right answer first: its picture and its
    first results.
    """
    lines = []
    for record, hits in zip(records, results, strict=True):
        right = [judge(hit.item.text, record) for hit in hits[:SHOWN]]
        picture = base64.b64encode(thumbnail(folder / record.image, THUMBNAIL)).decode()
        texts = [html.escape(hit.item.text) for hit in hits[:SHOWN]]
        marked = [
            f"<b>{text}</b>" if is_so else text for text, is_so in zip(texts, right, strict=True)
        ]
        lines.append((any(right), [f'<img src="data:image/webp;base64,{picture}">', *marked]))
    lines.sort(key=lambda line: line[0])
    with pd.option_context("display.max_colwidth", None):
        return pd.DataFrame([cells for _, cells in lines[:JUDGED]]).to_html(
            escape=False, na_rep="", header=False
        )


def measure_words(engine: Engine, seed: int) -> Table:
    """Words that ask for the picture of a class, where the index holds one of each; else no
    rows.
    """
    synsets = ImageNetInfo().label_names()
    texts = ClassTexts.of("imagenet-1k")
    place = {
        Path(item.image or "").stem: row
        for row, item in enumerate(engine.index.items(range(engine.index.n)))
    }
    rows: list[list[Cell]] = []
    if set(synsets) <= set(place):
        asked = {
            "a photo of a NAME": [f"a photo of a {of[0]}" for of in texts.names],
            "definition": texts.definitions,
        }
        for title, words in asked.items():
            found = search(engine, [Query(text, instruction=FIND_PICTURE) for text in words])
            answered = zip(synsets, found, strict=True)
            right = [[hit.row == place[name] for hit in result.hits] for name, result in answered]
            rows.append([title, len(words), *rates(right, seed)])
    columns = [Column("words"), Column("queries"), *(Column(f"hit@{k}", "%") for k in CUTS)]
    return Table(
        "Words that ask for one picture", columns, rows, f"With the instruction *{FIND_PICTURE}*"
    )


def rates(right: Sequence[Sequence[bool]], seed: int) -> list[Cell]:
    """Hit rate with its interval at each cut. right: for each upload whether its results are right,
    best first.
    """
    ranks = np.array(
        [list(hits).index(True) + 1 if True in hits else MISS for hits in right], dtype=np.int64
    )
    rng = np.random.default_rng(seed)
    hits = [ranks <= k for k in CUTS]
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
        found = [result.hits for result in search(engine, queries)]
        right = [
            [bool(hit.item.image) and category(hit.item) in categories for hit in hits]
            for hits in found
        ]
        of_first_5 = float(np.mean([hit for hits in right for hit in hits[:5]] or [False]))
        asked: list[Cell] = [entry[name] for name in ("set", "values", "categories")]
        rows.append([*asked, inside, len(sample), *rates(right, seed), of_first_5])
    names = ("set", "uploaded", "category in the pool", "pictures of it", "uploads")
    columns = [
        *map(Column, names),
        *(Column(f"hit@{k}", "%") for k in CUTS),
        Column("of the first 5", "%"),
    ]
    note = (
        f"Held-out pictures of other sets with the instruction *{FIND_SIMILAR}* A result "
        "is right if it is a picture "
        "of the named categories. *Of the first 5*: share of right ones among all first "
        "five results."
    )
    return Table(FIND_SIMILAR, columns, rows, note)


def category(item: Item) -> str:
    """The category in the item's source; empty if it has none."""
    return str(source_fields(item.source).get("category", ""))


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
