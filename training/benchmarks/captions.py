"""Measure a run's encoder alone: dense search from captions to their images and back.

    python -m training.benchmarks.captions RUN $GENIUS_DATA/flickr8k

The images of one split and all their captions are the two pools. Writes RUN/reports/encoder_captions.json and .md.

Shapes: i images, c captions, q queries, p candidates, d embedding dim.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.sources import read_source
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_device, command_line, command_parser
from genius.metrics.hit_rate import hit_rate
from genius.models.encoder import Encoder
from genius.reports import Cell, Column, Report, Table, version
from genius.run import Run
from genius.runtime import keep_freed_memory, usable_device
from genius.texts import query_text
from training.distributed import expect_one_process

CUTS = (1, 5, 10)
BATCH = 16  # inputs per forward pass
TO_IMAGE, TO_TEXT = "Find a photo of what is described.", "Find a sentence that describes this photo."


def main(argv: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.captions", __doc__)
    parser.add_argument("run", type=Path, help="a run that has at least an encoder")
    parser.add_argument("folder", type=Path, help="images with captions: a folder with manifest.jsonl")
    parser.add_argument("--split", default="test", help="the images to measure (default: %(default)s, their dev)")
    parser.add_argument("--to-image", default=TO_IMAGE, metavar="INSTRUCTION", help="default: %(default)s")
    parser.add_argument("--to-text", default=TO_TEXT, metavar="INSTRUCTION", help="default: %(default)s")
    add_device(parser)
    arguments = sys.argv[1:] if argv is None else argv
    options = parser.parse_args(arguments)
    keep_freed_memory()
    records = [record for record in read_source(options.folder).records if record.split == options.split]
    owners = np.array([number for number, record in enumerate(records) for _ in record.captions])  # (c,)
    if not len(owners):
        raise UserError(f"{options.folder} has no image of split {options.split} with captions; name another split")
    encoder = Encoder.load(Run(options.run).folder("encoder")).to(usable_device(options.device))
    paths = [options.folder / record.image for record in records]
    captions = [caption for record in records for caption in record.captions]
    images, texts = embed(encoder, paths, [""] * len(paths)), embed(encoder, [None] * len(captions), captions)
    asking = embed(encoder, [None] * len(captions), [query_text(options.to_image, caption) for caption in captions])
    pictured = embed(encoder, paths, [query_text(options.to_text, "")] * len(paths))
    relevant = owners[:, None] == np.arange(len(records))  # (c, i)
    to_image, to_text = f"caption → {len(paths):,} images", f"image → {len(captions):,} captions"
    measured = [
        (to_image, "none", first_ranks(texts, images, relevant)),
        (to_image, options.to_image, first_ranks(asking, images, relevant)),
        (to_text, "none", first_ranks(images, texts, relevant.T)),
        (to_text, options.to_text, first_ranks(pictured, texts, relevant.T)),
    ]
    rows: list[list[Cell]] = [[*about, *(hit_rate(ranks, k) for k in CUTS)] for *about, ranks in measured]
    columns = [Column("search"), Column("instruction"), *(Column(f"hit@{k}", "%") for k in CUTS)]
    Report(
        "The encoder alone: captions and their images",
        f"Dense search of split {options.split} of {options.folder.resolve().name}, without an index.",
        command_line("training.benchmarks.captions", arguments),
        version(options.run),
        [Table("Captions and images", columns, rows)],
    ).save(options.run / "reports" / "encoder_captions.json")


@torch.inference_mode()
def embed(encoder: Encoder, paths: Sequence[Path | None], texts: Sequence[str]) -> Tensor:
    """(q, d) embeddings of images, texts or both. Raises UserError for an image that cannot be opened."""
    parts = []
    for start in tqdm(range(0, len(texts), BATCH), unit="batch"):
        part = slice(start, start + BATCH)
        images = [path and open_image(path) for path in paths[part]]
        parts.append(encoder.encode(images, texts[part]).embedding().cpu())
    return torch.cat(parts)


def first_ranks(queries: Tensor, candidates: Tensor, relevant: np.ndarray) -> np.ndarray:
    """(q,) rank of the first relevant candidate, from 1. queries (q, d); candidates (p, d); relevant (q, p) bool."""
    scores = (queries @ candidates.T).numpy()
    best = np.where(relevant, scores, -np.inf).max(1, keepdims=True)
    return 1 + ((scores > best) & ~relevant).sum(1)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
