"""Do an image, its caption and both together get the same codes? Does a code mean the same in every dataset?

    python -m genius.evaluation.shared_codes RUN
    python -m genius.evaluation.shared_codes RUN --collection COLLECTION --limit 500

The paper answers with examples (Figure 3, supplement Figures 2 to 4); this counts. What is compared is known from the
collection: a test query that is a picture alone and asks for texts (task 3), where that very picture file is an image
candidate of the index, and the first of the query's positives that is a text candidate of the index. Both IDs are those
of the index. The third is that of the pair: the picture as it is shown (its thumbnail) and the text, encoded together
as a candidate by the run.

Writes RUN/reports/shared_codes.json and .md, with a few of the couples.

Shapes: c couples, n items, M levels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from itertools import combinations

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

SIDES = ("image", "text", "pair")
BATCH = 64  # pairs encoded together
EXAMPLES = 12  # couples that are shown
FACTOR_ITEMS = 20_000  # items whose factors are read, at most
MODULE = "genius.evaluation.shared_codes"
NOTE = (
    "A couple is an image and one of its captions, both candidates of the index, as the collection's queries from "
    "images to texts know them; the pair is that picture and that text, encoded together as a candidate. The first "
    "code, the modality, is not compared. *By chance*: what is expected if the images of a dataset are coupled with "
    "its captions at random."
)
ELSEWHERE = (
    "Each item is guessed to be what its code at that level mostly is in another dataset. *Without codes*: what is "
    "right of the same items if the guess is always the other dataset's commonest value."
)


@dataclass(frozen=True)
class Couples:
    """An image and one of its captions, both in the index."""

    images: np.ndarray  # (c,) rows of the index
    texts: np.ndarray  # (c,)
    datasets: list[str]  # (c,) of the query that says so

    def __len__(self) -> int:
        return len(self.images)


def read_couples(collection: Collection, index: Index, split: str, limit: int | None, seed: int) -> Couples:
    """limit: couples of each dataset, a sample fixed by the seed. Raises UserError if there are none."""
    asking = [row for row in collection.rows() if TASKS[row.task] == (Modality.IMAGE, Modality.TEXT)]
    by_picture = _rows_of_images(index, {query.image for row in asking for query in collection.queries(split, row)})
    images, texts, datasets = [], [], []
    for row in asking:
        found = []
        for query in collection.queries(split, row):
            if query.image not in by_picture:
                continue
            known = [at for at in index.rows_of(query.positives).tolist() if at >= 0]
            captions = [at for at in known if index.modalities[at] == Modality.TEXT]
            if captions:
                found.append((stable_hash(seed, "couple", query.id), by_picture[query.image], captions[0]))
        for _, picture, caption in sorted(found)[:limit]:
            if index.thumbnail(picture):  # else its file could not be read
                images.append(picture)
                texts.append(caption)
                datasets.append(row.dataset)
    if not images:
        raise UserError(
            f"no {split} query of {collection.root} is a picture that is also a candidate and asks for a text, so no "
            "image and caption are known to belong together"
        )
    return Couples(np.array(images), np.array(texts), datasets)


def _rows_of_images(index: Index, paths: set[str | None]) -> dict[str, int]:
    """The row of each of these images that is an item of its own."""
    found = {}
    for part in batched(np.flatnonzero(index.modalities == Modality.IMAGE), FACTOR_ITEMS):
        named = zip(part, index.items(part), strict=True)
        found |= {item.image: int(row) for row, item in named if item.image in paths}
    return found


@torch.inference_mode()
def pair_codes(engine: Engine, couples: Couples) -> np.ndarray:
    """(c, M) codes of the pairs of picture and text, as candidates."""
    codes = []
    for part in batched(list(zip(couples.images.tolist(), couples.texts.tolist(), strict=True)), BATCH):
        pictures = [open_image(engine.index.thumbnail(picture)) for picture, _ in part]
        texts = [item.text for item in engine.index.items([text for _, text in part])]
        z = engine.fusion(engine.encoder.encode(pictures, texts))
        modality = torch.full((len(part),), int(Modality.PAIR), device=z.device)
        codes.append(engine.quantizer.encode(z, modality).cpu().numpy())
    return np.concatenate(codes)


def measure(engine: Engine, collection: Collection, split: str, limit: int | None, seed: int) -> list[Table]:
    """How far the codes of couples agree, what codes mean elsewhere, and examples."""
    index = engine.index
    couples = read_couples(collection, index, split, limit, seed)
    codes = {
        "image": index.codes(couples.images),
        "text": index.codes(couples.texts),
        "pair": pair_codes(engine, couples),
    }
    datasets = np.array(couples.datasets)
    names, groups = np.unique(datasets, return_inverse=True)
    chosen = {"all": np.ones(len(couples), dtype=bool)}
    if len(names) > 1:
        chosen |= {str(name): datasets == name for name in names}
    same: list[list[Cell]] = []
    so_far: list[list[Cell]] = []
    for first, second in combinations(SIDES, 2):
        for name, members in chosen.items():
            levels = code_agreement(
                codes[first][members].astype(int), codes[second][members].astype(int), groups[members]
            )
            start: list[Cell] = [f"{first} and {second}", name, int(members.sum())]
            same.append(start + [(level["same"], *level["interval"]) for level in levels])
            same.append(["by chance", name, None, *(level["by_chance"] for level in levels)])
            so_far.append(start + [level["same_so_far"] for level in levels])
            so_far.append(["by chance", name, None, *(level["by_chance_so_far"] for level in levels)])
    shown = np.random.default_rng(seed).permutation(len(couples))[:EXAMPLES]
    examples: list[list[Cell]] = [
        [image.id, text.id, *(" ".join(map(str, codes[side][at].tolist())) for side in SIDES)]
        for at, image, text in zip(
            shown.tolist(), index.items(couples.images[shown]), index.items(couples.texts[shown]), strict=True
        )
    ]
    columns = [Column("compared"), Column("dataset"), Column("couples")]
    columns += [Column(f"level {level}", "%") for level in range(1, len(index.code_sizes))]
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
    items = index.items(rows)
    datasets = np.array([key_dataset(id_key(item.id)) for item in items])
    lines: list[list[Cell]] = []
    for name, values in read_factors(items).items():
        if len(np.unique(datasets[values >= 0])) > 1:
            levels = meaning_elsewhere(index.codes(rows).astype(int), values, datasets)
            lines.append([name, int((values >= 0).sum()), *(level["right"] for level in levels)])
            lines.append(["without codes", None, *(level["without_codes"] for level in levels)])
    columns = [Column("factor"), Column("items")]
    columns += [Column(f"level {level}", "%") for level in range(1, len(index.code_sizes))]
    return [Table("What a code means in another dataset", columns, lines, ELSEWHERE)] if lines else []


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
    engine = Engine.load(given.run, given.device)
    collection = collection_of(given.run, given.collection)
    tables = measure(engine, collection, given.split, given.limit, given.seed)
    command = command_line(MODULE, arguments)
    note = f"Couples of the split {given.split} of {collection.root.resolve().name}, seed {given.seed}. {NOTE}"
    report = Report("The same codes for the same thing", note, command, version(given.run), tables)
    report.save(given.run / "reports" / "shared_codes.json")


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
