"""Measure text search in a folder of photographs without texts, compared with dense search by the same encoder.

    python -m training.benchmarks.own_folder $GENIUS_DATA/flickr8k WORK
    python -m training.benchmarks.own_folder $GENIUS_DATA/flickr8k WORK --model ViT-B-32 --pretrained FILE

The folder has 4,000 training images of Flickr8k, chosen by seed, and all 1,000 development images, without texts;
`python -m training.folder` makes it searchable. The queries are captions of the development images; the only target of
each is its own image. --recipe changes how pseudo-queries are generated. All files are written to WORK/seed-N, and
steps that are done are skipped.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.collections.sources import Record, read_source
from genius.collections.writer import further_queries
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_device, add_seed, command_line, command_parser, parse_positive
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.figures import RowFigures
from genius.reports import Column, Report, Table, version
from genius.runtime import usable_device
from genius.schema import LabeledQuery, Modality
from genius.search.engine import Engine
from training import folder
from training.distributed import expect_one_process
from training.pseudo_queries import RECIPE, Recipe

RECIPES = {
    "default": RECIPE,
    "images-only": Recipe(texts=0),
    "words-only": Recipe(images=False),
    "own-image": Recipe(targets=0),
}
SYSTEMS = ("dense", "quantized", "geometry", "geometry + re-rank", "beam", "beam + re-rank", "fast + re-rank")
CUTS = (1, 5, 10, 50)
AIM = 10  # the k of the share of dense search
TRAINING_IMAGES = 4000


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.own_folder", __doc__)
    parser.add_argument("flickr8k", type=Path, help="the folder of Flickr8k, with manifest.jsonl")
    parser.add_argument("work", type=Path, metavar="WORK", help="where everything is written")
    parser.add_argument("--model", default="", help="as for training.folder (default: the encoder of the photographs)")
    parser.add_argument("--pretrained", default="", metavar="TAG|FILE", help="as for training.folder")
    parser.add_argument("--recipe", choices=RECIPES, default="default", help="which pseudo-queries to generate")
    parser.add_argument(
        "--limit",
        type=partial(parse_positive, "--limit"),
        default=2000,
        help="captions to search for (default: %(default)s)",
    )
    add_seed(parser, "the sample of training images")
    add_device(parser)
    given = sys.argv[1:] if argv is None else argv
    options = parser.parse_args(given)
    device = str(usable_device(options.device))
    records = read_source(options.flickr8k).records
    training = [record for record in records if record.split == "train"]
    test = [record for record in records if record.split == "test"]
    sampled = random.Random(options.seed).sample(training, min(TRAINING_IMAGES, len(training)))
    work = options.work / f"seed-{options.seed}"  # the sample of one seed is not mixed with that of another
    photographs, run = work / "photographs", work / f"run-{options.recipe}"
    copy(options.flickr8k, [*sampled, *test], photographs)
    arguments = folder.stage_arguments([str(photographs)], run, options.model, options.pretrained, device=device)
    folder.make_searchable([str(photographs)], arguments, recipe=RECIPES[options.recipe])
    collection = Collection(arguments.collection)
    add_queries(collection, test)
    searching = EvaluationOptions(limit=options.limit, systems=SYSTEMS, details=False)
    (row,) = evaluate(Engine.load(run, device), collection, searching).pools[0].rows
    Report(
        "A folder of photographs without texts",
        "Captions are searched for their own photograph, which dense search by the same encoder is compared with.",
        command_line("training.benchmarks.own_folder", given),
        version(run),
        [table(row)],
    ).save(run / "reports" / "own_folder.json")


def copy(source: Path, records: Sequence[Record], destination: Path) -> None:
    """Copy the images without their captions."""
    destination.mkdir(parents=True, exist_ok=True)
    for record in records:
        if not (file := destination / Path(record.image).name).exists():
            aside = destination / ".copied"
            shutil.copyfile(source / record.image, aside)
            aside.rename(file)  # so that a kill leaves no half of it


def add_queries(collection: Collection, records: Sequence[Record]) -> None:
    """Add every caption of these images as a test query."""
    if any(True for _ in collection.queries("test")):
        return
    ids = {Path(item.image).name: item.id for item in collection.all_candidates()}
    number = 1_000_000
    with further_queries(collection.root) as writer:
        for record in records:
            for caption in record.captions:
                number += 1
                writer.query(
                    LabeledQuery(f"0:{number}", Modality.TEXT, 0, caption, positives=(ids[Path(record.image).name],)),
                    "photographs",
                    "test",
                )


def table(row: RowFigures) -> Table:
    """The hit rates of each system, and their share of dense search."""
    dense = row.systems["dense"].hit[AIM]
    rows = []
    for system in SYSTEMS:
        hit = row.systems[system].hit
        rows.append([system, *(hit[k] for k in CUTS), hit[AIM] / dense if dense else None])
    columns = [Column("search"), *(Column(f"hit@{k}", "%") for k in CUTS), Column(f"of dense, @{AIM}", "", 2)]
    return Table(f"{row.queries:,} captions, {row.candidates:,} images", columns, rows)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
