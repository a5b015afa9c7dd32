"""Do an image, its caption and both together get the same codes? Does a code mean the same in every dataset?

    python -m genius.evaluation.shared_codes RUN
    python -m genius.evaluation.shared_codes RUN --collection COLLECTION --limit 500

The paper answers with examples (Figure 3, supplement Figures 2 to 4); this counts. What is compared is known from the
collection: a test query that is a picture alone and asks for texts (task 3), where that very picture file is an image
candidate of the index, and the first of the query's positives that is a text candidate of the index. Both IDs are those
of the index. The third is that of the pair: the picture as it is shown (its thumbnail) and the text, encoded together
as a candidate by the run.

Writes RUN/reports/shared_codes.json and .md, and a few of the couples, which the Codes tab shows.

Shapes: c couples, n items, M levels.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

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
    command_line,
    command_parser,
    parse_positive,
)
from genius.evaluation.queries import stable_hash
from genius.evaluation.redraw import run_collection
from genius.evaluation.tables import UNKNOWN, percent, table
from genius.files import write_report
from genius.index.store import Index
from genius.metrics.code_agreement import code_agreement, meaning_elsewhere
from genius.metrics.factor_agreement import read_factors
from genius.runtime import keep_freed_memory
from genius.schema import Modality
from genius.search.engine import Engine

SIDES = ("image", "text", "pair")
BATCH = 64  # pairs encoded together
EXAMPLES = 12  # couples that are kept for the page
FACTOR_ITEMS = 20_000  # items whose factors are read, at most
Report = dict[str, Any]


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


def measure(engine: Engine, collection: Collection, split: str, limit: int | None, seed: int) -> Report:
    """The report, ready for JSON, without the command and the run's name."""
    index = engine.index
    couples = read_couples(collection, index, split, limit, seed)
    codes = {
        "image": index.codes(couples.images),
        "text": index.codes(couples.texts),
        "pair": pair_codes(engine, couples),
    }
    names, groups = np.unique(couples.datasets, return_inverse=True)
    agreement = [
        {"first": first, "second": second, "dataset": name, "couples": int(own.sum())}
        | {"levels": code_agreement(codes[first][own].astype(int), codes[second][own].astype(int), groups[own])}
        for first, second in combinations(SIDES, 2)
        for name, own in [
            ("", np.ones(len(couples), dtype=bool)),
            *((str(name), groups == at) for at, name in enumerate(names) if len(names) > 1),
        ]
    ]
    shown = np.random.default_rng(seed).permutation(len(couples))[:EXAMPLES]
    examples = [
        {"image": image.id, "text": text.id, "dataset": couples.datasets[at]}
        | {side: {"id": name, "codes": codes[side][at].tolist()} for side, name in zip(SIDES, (image.id, text.id, ""))}
        for at, image, text in zip(
            shown.tolist(), index.items(couples.images[shown]), index.items(couples.texts[shown]), strict=True
        )
    ]
    return {
        "split": split,
        "couples": len(couples),
        "seed": seed,
        "levels": len(index.code_sizes),
        "agreement": agreement,
        "elsewhere": factors_elsewhere(index, seed),
        "examples": examples,
    }


def factors_elsewhere(index: Index, seed: int) -> list[Report]:
    """For each factor that items of several datasets have: whether a code's meaning carries over to other datasets."""
    rows = np.arange(index.n)
    if index.n > FACTOR_ITEMS:
        rows = np.sort(np.random.default_rng(seed).choice(index.n, FACTOR_ITEMS, replace=False))
    items = index.items(rows)
    datasets = np.array([key_dataset(id_key(item.id)) for item in items])
    found = []
    for name, values in read_factors(items).items():
        if len(np.unique(datasets[values >= 0])) > 1:
            levels = meaning_elsewhere(index.codes(rows).astype(int), values, datasets)
            found.append({"factor": name, "items": int((values >= 0).sum()), "levels": levels})
    return found


NOTE = (
    "A couple is an image and one of its captions, both candidates of the index, as the collection's queries from "
    "images to texts know them; the pair is that picture and that text, encoded together as a candidate. The first "
    "code, the modality, is not compared. In brackets: what is expected if the images of a dataset are coupled with "
    "its captions at random."
)
ELSEWHERE = (
    "Each item is guessed to be what its code at that level mostly is in another dataset. In brackets: what is right "
    "of the same items if the guess is always the other dataset's commonest value."
)


def agreement_rows(report: Report, figure: str = "same") -> list[dict[str, str]]:
    """A row for each two sides and dataset; figure: same, or same_so_far."""
    chance = figure.replace("same", "by_chance")
    return [
        {
            "compared": f"{one['first']} and {one['second']}",
            "dataset": one["dataset"] or "all",
            "couples": f"{one['couples']:,}",
        }
        | {f"level {level['level']}": f"{percent(level[figure])} ({percent(level[chance])})" for level in one["levels"]}
        for one in report["agreement"]
    ]


def elsewhere_rows(report: Report) -> list[dict[str, str]]:
    """A row for each factor."""
    return [
        {"factor": one["factor"], "items": f"{one['items']:,}"}
        | {
            f"level {level['level']}": f"{percent(level['right'])} ({percent(level['without_codes'])})"
            if level["pairs"]
            else UNKNOWN
            for level in one["levels"]
        }
        for one in report["elsewhere"]
    ]


def markdown(report: Report) -> str:
    parts = [
        f"# Shared codes: {report['run']} on {report['collection']}",
        f"`{report['command']}`",
        f"{report['couples']:,} couples of the split {report['split']}, seed {report['seed']}. {NOTE}",
        "## The same code at a level, percent",
        table(agreement_rows(report), text_columns=2),
        "## The same codes at every level from 1 to this one, percent",
        table(agreement_rows(report, "same_so_far"), text_columns=2),
    ]
    if report["elsewhere"]:
        parts += ["## What a code means in another dataset, percent", ELSEWHERE, table(elsewhere_rows(report))]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.shared_codes", __doc__)
    add_run(parser)
    add_collection_and_device(parser)
    parser.add_argument("--split", default="test", choices=SPLITS, help="default: %(default)s")
    parser.add_argument(
        "--limit", type=partial(parse_positive, "--limit"), metavar="N", help="couples of each dataset (default: all)"
    )
    add_seed(parser, "the samples")
    options = parser.parse_args(arguments)
    keep_freed_memory()
    engine = Engine.load(options.run, options.device)
    with run_collection(options.run, options.collection, options.split, records_only=True) as collection:
        report = {
            "command": command_line("genius.evaluation.shared_codes", arguments),
            "run": options.run.resolve().name,
            "collection": collection.root.resolve().name if options.collection else "its own collection",
        } | measure(engine, collection, options.split, options.limit, options.seed)
    write_report(options.run / "reports" / "shared_codes", report, markdown(report))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
