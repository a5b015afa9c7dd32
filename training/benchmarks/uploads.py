"""Measure what a run answers to photographs from outside its collection, as visitors upload them.

    python -m training.benchmarks.uploads RUN $GENIUS_DATA [--out FOLDER]

1. "What is this?" on Flickr8k's development photographs: a text among the first results is right if it names what a
   caption names (caption_words.py), or "of the kind" if it is the entry of a kind of it (everyday.tsv of the photo run:
   a caption says "dog", the entry is "golden retriever").
2. "Find similar pictures." on held-out pictures of other sets: a picture among the first results is right if it is of
   the category in the pool that upload_categories.tsv gives.
3. How often a picture is said to be far from everything in the index: photographs, drawings, noise.

Held-out pictures are those of the test splits that the index lacks.

Writes RUN/reports/uploads.json and .md, which hold figures alone. With --out, FOLDER gets sheets of uploads with what
came back, to be judged by eye; they show pictures and captions of sets that must not be shared.

Shapes: q uploads, d embedding dim.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.sources import Record, read_source
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed, command_parser, parse_positive
from genius.evaluation.tables import percent, table
from genius.files import write_report
from genius.index.store import Index
from genius.index.versions import load_index
from genius.metrics.hit_rate import MISS, bootstrap_hit_rates, hit_rate, interval
from genius.models.encoder import Features
from genius.run import Run
from genius.runtime import keep_freed_memory
from genius.schema import Item, Modality, Query, SearchOptions
from genius.search.dense import flat_search
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries
from genius.texts import query_text
from training.benchmarks.upload_sheets import SheetRow, write_sheets
from training.caption_words import is_right, words
from training.distributed import expect_one_process
from training.photos.encyclopedia import Encyclopedia, EncyclopediaEntry

WHAT_IS_THIS, FIND_SIMILAR = "What is this?", "Find similar pictures."
CUTS = (1, 5, 10)
DRAWS = 2000  # bootstrap samples
BATCH = 16  # pictures per forward pass
CATEGORIES = Path(__file__).parent / "upload_categories.tsv"
PHRASINGS = 8  # of the run's own
PER_CATEGORY = 20  # uploads
OUTSIDE = 200  # pictures of each kind whose distance is judged
DRAWN_RUN = Path(__file__).resolve().parents[2] / "assets" / "demo"  # whose pictures are drawings
SIDE = 224  # pixels of noise and of flat colors
JUDGED = 50  # uploads on sheets
CAPTIONS_THAT_AGREE = 2  # captions that name what a picture is taken for


@dataclass(frozen=True)
class Uploads:
    """Pictures, encoded once for all instructions."""

    paths: list[Path]  # q
    features: Tensor  # (q, d) image features, on the engine's device

    @classmethod
    @torch.inference_mode()
    def encode(cls, engine: Engine, paths: list[Path]) -> Uploads:
        """Raises UserError for a picture that cannot be opened."""
        parts = [torch.zeros(0, engine.encoder.dim, device=engine.device)]
        for start in tqdm(range(0, len(paths), BATCH), desc="encode pictures", unit="batch"):
            images = [open_image(path) for path in paths[start : start + BATCH]]
            parts.append(engine.encoder.encode(images, [""] * len(images)).image)
        return cls(paths, torch.cat(parts))

    @torch.inference_mode()
    def with_instruction(self, engine: Engine, instruction: str, text: str = "") -> EncodedQueries:
        """The uploads as queries with this instruction and text."""
        text = engine.encoder.encode([None], [query_text(instruction, text)]).text
        mask = torch.ones(len(self.paths), dtype=torch.bool, device=engine.device)
        features = Features(self.features, text.expand(len(self.paths), -1), mask, mask)
        return EncodedQueries(None, features.embedding(), engine.fusion(features))


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.uploads", __doc__)
    parser.add_argument("run", type=Path, help="a directory made by python -m training")
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of the public sets")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where sheets are written (default: none)")
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=200,
        help="photographs of Flickr8k (default: %(default)s)",
    )
    add_seed(parser, "all samples")
    add_device(parser)
    options = parser.parse_args(argv)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    sets = held_out_records(options.data, engine.index)
    if "flickr8k" not in sets:
        raise UserError(f"{options.data} has no folder flickr8k, whose captions judge the answers")
    if not sets["flickr8k"]:
        raise UserError(
            f"{options.run} has indexed every development photograph of Flickr8k, so none is an upload from outside; "
            "name a run whose index lacks them"
        )
    sample = random.Random(options.seed).sample(sets["flickr8k"], min(options.limit, len(sets["flickr8k"])))
    sampled = f"--limit {options.limit} --seed {options.seed}"
    report = {
        "command": f"python -m training.benchmarks.uploads RUN $GENIUS_DATA {sampled}",
        "items": engine.index.n,
        "seed": options.seed,
    }
    uploads = Uploads.encode(engine, [options.data / "flickr8k" / record.image for record in sample])
    about = Run(options.run).manifest.get("about", {})
    report["answers"], rows = measure_answers(engine, uploads, sample, about, options.seed)
    report["similar"], similar_rows = measure_similar(engine, options.data, sets, options.seed)
    report["far"] = measure_far(engine, options.data, sets, options.seed)
    write_report(options.run / "reports" / "uploads", report, markdown(report))
    if options.out:
        worst_first = sorted(rows, key=lambda row: any(row.right[:5]))
        write_sheets(rows[:JUDGED], options.out, "answers")
        write_sheets(worst_first[:JUDGED], options.out, "worst")
        write_sheets(similar_rows, options.out, "similar")
        print(f"sheets: {options.out}")


def held_out_records(data: Path, index: Index) -> dict[str, list[Record]]:
    """The test records of each set whose picture the index lacks.

    No run was trained on one as a query. The decoder may have seen those that a test pool of its collection has, as
    queries for themselves.
    """
    indexed = {item.image for item in index.items(range(index.n)) if item.image}
    held_out = {}
    for folder in sorted(data.iterdir()):
        if (folder / "manifest.jsonl").is_file():
            records = [record for record in read_source(folder).records if record.split == "test"]
            held_out[folder.name] = [record for record in records if stored_path(folder.name, record) not in indexed]
    return held_out


def stored_path(name: str, record: Record) -> str:
    """The path of a picture of this set in the collections that have it (genius/collections/from_folders.py)."""
    return f"images/{name}/{record.image.removeprefix('images/')}"


def measure_answers(
    engine: Engine, uploads: Uploads, records: Sequence[Record], about: Mapping[str, Any], seed: int
) -> tuple[list[dict[str, Any]], list[SheetRow]]:
    """A row for each way to ask, and for the first of them what came back.

    about: the run's entry, whose instructions the page uses where a visitor gives none (genius/ui/common/about.py).
    """
    own = phrasings(engine, seed)
    question = [*about.get("ask_with_text", []), ""][0]
    typed = search(engine, uploads.with_instruction(engine, question, WHAT_IS_THIS))
    asked = uploads.with_instruction(engine, WHAT_IS_THIS)
    ways = {
        "typed as the description": typed,
        "typed as the instruction": search(engine, asked),
        "texts alone": search(engine, asked, Modality.TEXT),
        "dense search": [engine.index.items(rows) for rows in dense_rows(engine, asked)],
    }
    results = [(WHAT_IS_THIS, way, items) for way, items in ways.items()]
    for instruction in tqdm(own, desc="ask in other words", unit="phrasing"):
        results.append(
            (instruction, "as the instruction", search(engine, uploads.with_instruction(engine, instruction)))
        )
    measured, book = [], Encyclopedia.read()
    entries = {entry.text: entry for entry in book.entries}
    kinds = [kinds_named(book, record.captions) for record in records]
    for instruction, way, items_per_upload in results:
        right = [
            [is_right(item.text, record.captions) for item in items]
            for items, record in zip(items_per_upload, records, strict=True)
        ]
        of_kind = [
            [
                hit or (item.text in entries and is_kind(entries[item.text], named))
                for hit, item in zip(hits, items, strict=True)
            ]
            for hits, items, named in zip(right, items_per_upload, kinds, strict=True)
        ]
        measured.append(
            {"instruction": instruction, "way": way} | rates(right, seed) | {"of_kind": rates(of_kind, seed)["hit"]}
        )
    rows = [
        SheetRow(
            path,
            record.captions,
            [item.text or f"({item.modality.mbeir} {item.id})" for item in items[:5]],
            [is_right(item.text, record.captions) for item in items[:5]],
        )
        for path, record, items in zip(uploads.paths, records, typed, strict=True)
    ]
    return measured, rows


def kinds_named(book: Encyclopedia, captions: Sequence[str]) -> list[set[int]]:
    """The classes of ImageNet that are kinds of what the captions name, one set for each thing."""
    return [entry.classes for caption in captions for entry in book.mentioned(caption)]


def is_kind(entry: EncyclopediaEntry, kinds: Sequence[set[int]]) -> bool:
    return bool(entry.classes) and any(entry.classes <= classes for classes in kinds)


def phrasings(engine: Engine, seed: int) -> list[str]:
    """A sample of the run's own instructions from an image to a text."""
    own = {
        text
        for query, target, text in engine.index.instructions
        if (query, target) == (Modality.IMAGE, Modality.TEXT) and text != WHAT_IS_THIS
    }
    return random.Random(seed).sample(sorted(own), min(PHRASINGS, len(own)))


def search(engine: Engine, encoded: EncodedQueries, modality: Modality | None = None) -> list[list[Item]]:
    """The first items for each query."""
    results = engine.search_encoded(encoded, SearchOptions(k=CUTS[-1], modality=modality))
    return [[hit.item for hit in result.hits] for result in results]


def dense_rows(engine: Engine, encoded: EncodedQueries) -> np.ndarray:
    """(q, k) rows of the index by exact search over the embeddings."""
    k = min(CUTS[-1], engine.index.n)
    return flat_search(engine.index.embeddings, encoded.embeddings.cpu().numpy(), k)[1]


def rates(right: Sequence[Sequence[bool]], seed: int) -> dict[str, Any]:
    """Hit rates with intervals. right: for each upload whether its results are right, best first."""
    ranks = np.array([hits.index(True) + 1 if True in hits else MISS for hits in map(list, right)], dtype=np.int64)
    rng = np.random.default_rng(seed)
    return {
        "uploads": len(ranks),
        "hit": {str(k): hit_rate(ranks, k) for k in CUTS},
        "interval": {str(k): interval(bootstrap_hit_rates(ranks, k, DRAWS, rng)) for k in CUTS},
    }


def measure_similar(
    engine: Engine, data: Path, sets: dict[str, list[Record]], seed: int
) -> tuple[list[dict[str, Any]], list[SheetRow]]:
    """A row for each category that the pool has, and what came back for one upload of each."""
    pool = [category(item) for item in engine.index.items(range(engine.index.n)) if item.image]
    measured, rows = [], []
    with CATEGORIES.open(encoding="utf-8") as stream:
        mapping = list(csv.DictReader(stream, delimiter="\t"))
    for entry in mapping:
        wanted = set(entry["categories"].split(","))
        inside = sum(name in wanted for name in pool)
        records = [
            record
            for record in sets.get(entry["set"], [])
            if belongs(record, entry["field"], entry["values"].split(","))
        ]
        if not inside or not records:
            continue
        sample = random.Random(seed).sample(records, min(PER_CATEGORY, len(records)))
        uploads = Uploads.encode(engine, [data / entry["set"] / record.image for record in sample])
        encoded = uploads.with_instruction(engine, FIND_SIMILAR)
        options = SearchOptions(k=CUTS[-1])
        results = engine.search_encoded(encoded, options)
        right = [[bool(hit.item.image) and category(hit.item) in wanted for hit in result.hits] for result in results]
        first = [hits[:5] for hits in right]
        measured.append(
            {"set": entry["set"], "uploaded": entry["values"], "categories": entry["categories"], "pictures": inside}
            | rates(right, seed)
            | {"of_first_5": float(np.mean([hit for hits in first for hit in hits])) if any(first) else 0.0}
        )
        rows.append(
            SheetRow(
                uploads.paths[0],
                [f"{entry['set']}: {entry['values']} → {entry['categories']}"],
                [category(hit.item) or hit.item.text for hit in results[0].hits[:5]],
                first[0],
                [engine.index.thumbnail(hit.row) for hit in results[0].hits[:5]],
            )
        )
    return measured, rows


def category(item: Item) -> str:
    """The category in the item's source; empty if it has none."""
    try:
        facts = json.loads(item.source or "{}")
    except ValueError:
        return ""
    return str(facts.get("category", "")) if isinstance(facts, dict) else ""


def belongs(record: Record, field: str, values: Sequence[str]) -> bool:
    """Whether a held-out picture is of one of these categories, by an attribute or by the words of its texts."""
    if field == "captions":
        named = [set(values) & set(words(caption)) for caption in record.captions]
        return sum(map(bool, named)) >= CAPTIONS_THAT_AGREE
    if field == "answers":
        return any(set(values) & set(words(answer)) for _, answer in record.qa)
    return record.attributes.get(field) in values


def measure_far(engine: Engine, data: Path, sets: dict[str, list[Record]], seed: int) -> list[dict[str, Any]]:
    """The share of pictures of each kind that get the note; none if the run has no detector."""
    if engine.ood_detector is None:
        return []
    kinds = {
        name: [
            open_image(data / name / record.image) for record in random.Random(seed).sample(own, min(OUTSIDE, len(own)))
        ]
        for name, own in sets.items()
    }
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (OUTSIDE // 2, SIDE, SIDE, 3), dtype=np.uint8)
    kinds["noise"] = list(map(Image.fromarray, noise))
    kinds["flat colors"] = [
        Image.new("RGB", (SIDE, SIDE), tuple(color)) for color in rng.integers(0, 256, (OUTSIDE // 2, 3)).tolist()
    ]
    kinds["drawings of the demo world"] = drawings(seed)
    return [
        {"pictures": name, "count": len(images), "far": far_share(engine, images)}
        for name, images in kinds.items()
        if images
    ]


def drawings(seed: int) -> list[Image.Image]:
    """A sample of the drawings in the shipped demo; none without it."""
    run = Run(DRAWN_RUN)
    if not run.has("index"):
        return []
    index = load_index(run)
    drawn = np.flatnonzero(index.modalities != Modality.TEXT).tolist()
    rows = random.Random(seed).sample(drawn, min(OUTSIDE, len(drawn)))
    return [open_image(index.thumbnail(row)) for row in rows]


def far_share(engine: Engine, images: Sequence[Image.Image]) -> float:
    return float(np.mean([engine.is_out_of_distribution(Query(image=image)) for image in images]))


def markdown(report: dict[str, Any]) -> str:
    """The three tables."""

    def cells(row: dict[str, Any]) -> dict[str, str]:
        return {
            f"hit@{k}": f"{percent(rate)} [{percent(low)}, {percent(high)}]"
            for (k, rate), (low, high) in zip(row["hit"].items(), row["interval"].values(), strict=True)
        }

    parts = [
        "# Uploads: photographs from outside the collection",
        f"- `{report['command']}`\n- {report['items']:,} items, seed {report['seed']}",
        "## What is this?",
        f"{report['answers'][0]['uploads']:,} development photographs of Flickr8k. A result is right if one of its "
        "names is in one of the five captions; *of the kind* also counts entries of a kind of what a caption names. "
        "Brackets are bootstrap 95 % intervals.",
        table(
            [
                {"instruction": row["instruction"], "results": row["way"]}
                | cells(row)
                | {f"of the kind @{k}": percent(rate) for k, rate in row["of_kind"].items()}
                for row in report["answers"]
            ],
            text_columns=2,
        ),
        "## Find similar pictures",
        f"Held-out pictures of other sets with the instruction *{FIND_SIMILAR}* A result is right if it is a picture "
        "of the named categories. *Of the first 5*: share of right ones among all first five results.",
    ]
    parts.append(
        table(
            [
                {
                    "set": row["set"],
                    "uploaded": row["uploaded"],
                    "category in the pool": row["categories"],
                    "pictures of it": f"{row['pictures']:,}",
                    "uploads": f"{row['uploads']:,}",
                }
                | {f"hit@{k}": percent(rate) for k, rate in row["hit"].items()}
                | {"of the first 5": percent(row["of_first_5"])}
                for row in report["similar"]
            ],
            text_columns=3,
        )
        if report["similar"]
        else "The pool has none of the categories."
    )
    parts.append("## Far from everything in the index")
    parts.append(
        table(
            [
                {"pictures": row["pictures"], "count": f"{row['count']:,}", "far, %": percent(row["far"])}
                for row in report["far"]
            ]
        )
        if report["far"]
        else "The run has no detector."
    )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
