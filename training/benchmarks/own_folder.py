"""Measure text search in a folder of photographs without texts, compared with dense search by the same encoder.

    python -m training.benchmarks.own_folder $GENIUS_DATA/flickr8k WORK

An encoder is trained on half of Flickr8k's training images with their captions. The folder has the other half and the
development images, all without texts; `python -m training.folder` makes it searchable by that encoder, whose weights
stay unchanged. The queries are captions of the development images; the only target of each is its own image. No
caption of an image in the folder is read before. --recipe changes how pseudo-queries are generated. All files are
written to WORK, and steps that are done are skipped.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from safetensors.torch import save_file

from genius.collections.from_folders import build
from genius.collections.mbeir import Collection
from genius.collections.sources import Record, read_source
from genius.collections.writer import further_queries
from genius.errors import exit_on_user_error
from genius.evaluation.__main__ import main as evaluate
from genius.files import write_json
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import LabelledQuery, Modality
from training import encoder, folder
from training.pseudo_queries import RECIPE, Recipe
from training.settings import SMALL, Arguments
from training.stage import is_done, run_stage

RECIPES = {
    "default": RECIPE,
    "images-only": Recipe(texts=0),
    "words-only": Recipe(images=False),
    "own-image": Recipe(targets=0),
}
SYSTEMS = ("dense", "quantized", "geometry", "geometry + re-rank", "beam", "beam + re-rank", "fast + re-rank")
ENCODER = replace(
    SMALL.encoder,
    epochs=4,
    batch=256,
    group=64,
    upsample_to=0,
    image_cache=56,
    architecture={
        "embed_dim": 192,
        "custom_text": True,
        "vision_cfg": {"timm_model_name": "resnet10t", "timm_pool": "avg", "timm_proj": "linear", "image_size": 48},
        "text_cfg": {"context_length": 32, "vocab_size": 16384, "width": 192, "heads": 4, "layers": 2},
    },
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flickr8k", type=Path, help="the folder of Flickr8k, with manifest.jsonl")
    parser.add_argument("work", type=Path, metavar="WORK", help="where everything is written")
    parser.add_argument("--recipe", choices=RECIPES, default="default", help="which pseudo-queries to generate")
    parser.add_argument("--limit", type=int, default=2000, help="captions to search for (default: %(default)s)")
    given = parser.parse_args(argv)
    run = given.work / f"run-{given.recipe}"
    records = read_source(given.flickr8k).records
    captioned, others = halves([record for record in records if record.split == "train"])
    test = [record for record in records if record.split == "test"]
    photographs = given.work / "photographs"
    copy(given.flickr8k, [*others, *test], photographs)
    model = f"local-dir:{train_encoder(given.flickr8k, captioned, given.work)}"
    arguments = folder.adopting([str(photographs)], run, model)
    folder.make_searchable([str(photographs)], arguments, recipe=RECIPES[given.recipe])
    add_queries(Collection(arguments.collection), test)
    evaluate([str(run), "--limit", str(given.limit)])
    print(table(json.loads((run / "reports" / "retrieval.json").read_text())))


def halves(records: list[Record]) -> tuple[list[Record], list[Record]]:
    shuffled = list(records)
    random.Random(0).shuffle(shuffled)
    return shuffled[: len(records) // 2], shuffled[len(records) // 2 :]


def copy(source: Path, records: Sequence[Record], destination: Path) -> None:
    """Copy the images without their captions."""
    destination.mkdir(parents=True, exist_ok=True)
    for record in records:
        if not (file := destination / Path(record.image).name).exists():
            shutil.copyfile(source / record.image, file)


def train_encoder(source: Path, records: Sequence[Record], work: Path) -> Path:
    """Train an encoder on these images and captions; -> its folder in open_clip's format."""
    destination, collection, run = work / "encoder", work / "taught", work / "taught-run"
    if not collection.exists():
        copy(source, records, work / "captioned" / "images")
        (work / "captioned" / "manifest.jsonl").write_text(
            "".join(
                json.dumps(
                    {"img_path": f"images/{Path(record.image).name}", "captions": record.captions, "split": "train"}
                )
                + "\n"
                for record in records
            )
        )
        build([f"flickr8k={work / 'captioned'}"], collection)
    arguments = Arguments(collection, run, "small", replace(SMALL, encoder=ENCODER), "cpu")
    if not is_done("encoder", arguments):
        run_stage("encoder", encoder.train, arguments)
    save_for_open_clip(Encoder.load(Run(run).folder("encoder")), destination)
    return destination


def save_for_open_clip(model: Encoder, destination: Path) -> None:
    """Save a model so that open_clip loads it as local-dir:DESTINATION."""
    destination.mkdir(parents=True, exist_ok=True)
    write_json(
        destination / "open_clip_config.json",
        {"model_cfg": model.config.model, "preprocess_cfg": model.config.preprocess},
    )
    save_file(
        {name: weight.contiguous() for name, weight in model.clip.state_dict().items()},
        destination / "open_clip_model.safetensors",
    )


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
                    LabelledQuery(f"0:{number}", Modality.TEXT, 0, caption, positives=(ids[Path(record.image).name],)),
                    "photographs",
                    "test",
                )


def table(report: dict) -> str:
    """Markdown table of hit@5, 10 and 50 of each system."""
    (row,) = report["pools"][0]["rows"]
    lines = [
        f"| {row['queries']} captions, {row['candidates']} images | hit@5 | hit@10 | hit@50 | of dense, @50 |",
        "|---|---:|---:|---:|---:|",
    ]
    dense = row["systems"]["dense"]["hit"]["50"]
    for system in SYSTEMS:
        hit = row["systems"][system]["hit"]
        lines.append(f"| {system} | {hit['5']:.1%} | {hit['10']:.1%} | {hit['50']:.1%} | {hit['50'] / dense:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    with exit_on_user_error():
        main()
