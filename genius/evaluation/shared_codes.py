"""Do an image, its caption and both together get the same codes? Does a code mean the same in every dataset?

    python -m genius.evaluation.shared_codes RUN
    python -m genius.evaluation.shared_codes RUN --collection COLLECTION --limit 500

The paper answers with examples (Figure 3, supplement Figures 2 to 4); this counts, and adds a few of the couples. What
is compared is known from the collection: a test query that is a picture alone and asks for texts (task 3), where that
very picture file is an image candidate of the index, and the first of the query's positives that is a text candidate
of the index. Both IDs are those of the index. The third is that of the pair: the picture as it is shown (its
thumbnail) and the text, encoded together as a candidate by the run. Writes RUN/reports/shared_codes.json and .md.

Shapes: c couples, n items, M levels.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch

from genius.collections.images import open_image
from genius.collections.keys import id_key, key_dataset
from genius.collections.layout import SPLITS, TASKS
from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import (
    add_collection_and_device,
    add_run,
    add_seed,
    collection_of,
    command_line,
    command_parser,
    parse_positive,
)
from genius.evaluation.queries import stable_hash
from genius.index.store import Index
from genius.metrics.code_agreement import code_agreement, meaning_elsewhere
from genius.metrics.factor_agreement import read_factors
from genius.reports import Cell, Column, Report, Table, version
from genius.runtime import keep_freed_memory
from genius.schema import Modality
from genius.search.engine import Engine

MODULE = "genius.evaluation.shared_codes"
SIDES = ("image", "text", "pair")
BATCH = 64  # pairs encoded together
EXAMPLES = 12  # couples that are shown
FACTOR_ITEMS = 20_000  # items whose factors are read, at most
NOTE = (
    "How often an image, its caption and both together have the same code, and whether a code means the same in every "
    "dataset.\n\n"
    "A couple is an image and one of its captions, both candidates of the index, as the collection's queries from "
    "images to texts know them; the pair is that picture and that text, encoded together as a candidate. The first "
    "code, the modality, is not compared. *By chance*: what is expected if the images of a dataset are coupled with "
    "its captions at random."
)
ELSEWHERE = (
    "Each item is guessed to be what its code at that level mostly is in another dataset. *Without codes*: what is "
    "right of the same items if the guess is always the other dataset's commonest value."
)


class Couple(NamedTuple):
    """An image and one of its captions, both rows of the index, and the dataset of the query that says so."""

    image: int
    text: int
    dataset: str


def read_couples(collection: Collection, index: Index, split: str, limit: int | None, seed: int) -> list[Couple]:
    """limit: couples of each dataset, a sample fixed by the seed. Raises UserError if there are none."""
    asking = [row for row in collection.rows() if TASKS[row.task] == (Modality.IMAGE, Modality.TEXT)]
    pictures = {query.image for row in asking for query in collection.queries(split, row)}
    by_picture = {}
    for part in batched(np.flatnonzero(index.modalities == Modality.IMAGE), FACTOR_ITEMS):
        named = zip(part, index.items(part), strict=True)
        by_picture |= {item.image: int(row) for row, item in named if item.image in pictures}
    couples = []
    for row in asking:
        found = []
        for query in collection.queries(split, row):
            known = [at for at in index.rows_of(query.positives).tolist() if at >= 0]
            captions = [at for at in known if index.modalities[at] == Modality.TEXT]
            if captions and query.image in by_picture:
                couple = Couple(by_picture[query.image], captions[0], row.dataset)
                found.append((stable_hash(seed, "couple", query.id), couple))
        shown = [couple for _, couple in sorted(found)[:limit] if index.thumbnail(couple.image)]
        couples += shown  # others have a file that could not be read
    if not couples:
        raise UserError(
            f"no {split} query of {collection.root} is a picture that is also a candidate and asks for a text, so no "
            "image and caption are known to belong together"
        )
    return couples


@torch.inference_mode()
def pair_codes(engine: Engine, couples: list[Couple]) -> np.ndarray:
    """(c, M) codes of the pairs of picture and text, as candidates."""
    codes = []
    for part in batched(couples, BATCH):
        pictures = [open_image(engine.index.thumbnail(couple.image)) for couple in part]
        texts = [item.text for item in engine.index.items([couple.text for couple in part])]
        z = engine.fusion(engine.encoder.encode(pictures, texts))
        modality = torch.full((len(part),), int(Modality.PAIR), device=z.device)
        codes.append(engine.quantizer.encode(z, modality).cpu().numpy())
    return np.concatenate(codes)


def measure(engine: Engine, couples: list[Couple], seed: int) -> list[Table]:
    """How far the codes of couples agree, what codes mean elsewhere, and examples."""
    index = engine.index
    rows = {"image": [couple.image for couple in couples], "text": [couple.text for couple in couples]}
    codes = {side: index.codes(of_side).astype(int) for side, of_side in rows.items()}
    codes["pair"] = pair_codes(engine, couples).astype(int)
    datasets = np.array([couple.dataset for couple in couples])
    names, groups = np.unique(datasets, return_inverse=True)
    same: list[list[Cell]] = []
    so_far: list[list[Cell]] = []
    for first, second in combinations(SIDES, 2):
        for name in ["all", *(names.tolist() if len(names) > 1 else [])]:
            chosen = (datasets == name) | (name == "all")
            levels = code_agreement(codes[first][chosen], codes[second][chosen], groups[chosen])
            start: list[Cell] = [f"{first} and {second}", name, int(chosen.sum())]
            same.append(start + [(level["same"], *level["interval"]) for level in levels])
            same.append(["by chance", name, None, *(level["by_chance"] for level in levels)])
            so_far.append(start + [level["same_so_far"] for level in levels])
            so_far.append(["by chance", name, None, *(level["by_chance_so_far"] for level in levels)])
    examples: list[list[Cell]] = []
    for at in np.random.default_rng(seed).permutation(len(couples))[:EXAMPLES].tolist():
        image, text = index.items([couples[at].image, couples[at].text])
        examples.append([image.id, text.id, *(" ".join(map(str, codes[side][at])) for side in SIDES)])
    columns = [Column("compared"), Column("dataset"), Column("couples"), *_levels(index)]
    of_examples = [Column("image"), Column("text"), *(Column(f"codes of the {side}") for side in SIDES)]
    return [
        Table("The same code at a level", columns, same),
        Table("The same codes at every level from 1 to this one", columns, so_far),
        *elsewhere_tables(index, seed),
        Table("Examples", of_examples, examples),
    ]


def elsewhere_tables(index: Index, seed: int) -> list[Table]:
    """For each factor that items of several datasets have: whether a code's meaning carries over to other datasets."""
    rows = np.arange(index.n)
    if index.n > FACTOR_ITEMS:
        rows = np.sort(np.random.default_rng(seed).choice(index.n, FACTOR_ITEMS, replace=False))
    items, codes = index.items(rows), index.codes(rows).astype(int)
    datasets = np.array([key_dataset(id_key(item.id)) for item in items])
    lines: list[list[Cell]] = []
    for name, values in read_factors(items).items():
        if len(np.unique(datasets[values >= 0])) > 1:
            levels = meaning_elsewhere(codes, values, datasets)
            lines.append([name, int((values >= 0).sum()), *(level["right"] for level in levels)])
            lines.append(["without codes", None, *(level["without_codes"] for level in levels)])
    columns = [Column("factor"), Column("items"), *_levels(index)]
    return [Table("What a code means in another dataset", columns, lines, ELSEWHERE)] if lines else []


def _levels(index: Index) -> list[Column]:
    return [Column(f"level {level}", "%") for level in range(1, len(index.code_sizes))]


def main(arguments: list[str]) -> None:
    parser = command_parser(MODULE, __doc__)
    add_run(parser)
    add_collection_and_device(parser)
    parser.add_argument("--split", default="test", choices=SPLITS, help="default: %(default)s")
    parser.add_argument(
        "--limit", type=partial(parse_positive, "--limit"), metavar="N", help="couples of each dataset (default: all)"
    )
    add_seed(parser, "the samples")
    given = parser.parse_args(arguments)
    keep_freed_memory()
    engine, collection = Engine.load(given.run, given.device), collection_of(given.run, given.collection)
    couples = read_couples(collection, engine.index, given.split, given.limit, given.seed)
    note = f"{NOTE} {len(couples):,} couples of the split {given.split} of {collection.root.resolve().name}."
    command, tables = command_line(MODULE, arguments), measure(engine, couples, given.seed)
    report = Report("The same codes for the same thing", note, command, version(given.run), tables)
    report.save(given.run / "reports" / "shared_codes.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
