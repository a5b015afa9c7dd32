"""Run 100 steps of every stage of preset `paper` at full size; print the time of a step and the peak memory.

    python -m training.benchmarks.paper_steps WORK [--steps 100] [--device cuda] [--set encoder.grad_checkpointing=true]

ViT-L/14 with random weights, the published fusion, K = 4096, M = 9, T5-small. Two collections are written to WORK: one
of random images for encoder and features, one of texts with random features for quantizer and decoder. On a GPU the
batches are those of the preset; on a CPU they are small, in full precision, and k-means runs two iterations instead of
1000. Each stage is run by its own command; stages that are done are skipped.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from genius.collections.mbeir import Collection
from genius.collections.writer import new_collection
from genius.encoding.features import FeatureFiles
from genius.errors import exit_on_user_error
from genius.evaluation.arguments import add_device, command_parser, parse_positive
from genius.run import Run
from genius.runtime import usable_device
from genius.schema import Item, LabeledQuery, Modality
from training.command_line import add_set_argument
from training.distributed import expect_one_process
from training.features import facts
from training.pairs import CandidateTable, Pairs

DIM = 768
VAL = 8  # validation queries, each with its own item
DATASETS = ("steps", "further")
ON_CPU = ("encoder.bf16=false", "quantizer.kmeans_iterations=2", "decoder.bf16=false")
BATCHES = {"cpu": (2, 128, 128), "cuda": (420, 8000, 1024)}  # of encoder, quantizer and decoder


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.benchmarks.paper_steps", __doc__)
    parser.add_argument("work", type=Path, metavar="WORK", help="where everything is written")
    parser.add_argument(
        "--steps", type=partial(parse_positive, "--steps"), default=100, help="of each stage (default: %(default)s)"
    )
    add_device(parser)
    add_set_argument(parser)
    options = parser.parse_args(arguments)
    device, run = usable_device(options.device), options.work / "run"
    small, large, many = BATCHES[device.type]
    pictures, texts = options.work / "pictures", options.work / "texts"
    if not pictures.exists():
        write(pictures, options.steps * small, options.steps * small, drawn=True)
    if not texts.exists():
        write(texts, options.steps * large, options.steps * many, drawn=False)

    def stage(name: str, collection: Path, *settings: str) -> None:
        if name not in Run(run).manifest.get("stages", {}):
            changes = ("encoder.pretrained=", *(ON_CPU if device.type == "cpu" else ()), *settings, *options.set)
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    f"training.{name}",
                    str(collection),
                    str(run),
                    "--preset",
                    "paper",
                    "--device",
                    str(device),
                    *(part for change in changes for part in ("--set", change)),
                ],
                check=True,
            )

    stage("encoder", pictures, "encoder.epochs=1", f"encoder.batch={small}")
    stage("features", pictures, f"features.batch={min(small, 256)}")
    random_features(Run(run), Collection(texts))
    stage("quantizer", texts, "quantizer.epochs=1", f"quantizer.batch={large}")
    stage("decoder", texts, "decoder.epochs=1", f"decoder.batch={many}", f'decoder.rows=["{DATASETS[0]}"]')


def write(root: Path, queries: int, few: int, drawn: bool) -> None:
    """Write training queries, each with its own target: a random image or, if not drawn, a text.

    few: of the first dataset, which a stage with smaller batches is trained on alone.
    """
    rng, target = np.random.default_rng(0), Modality.IMAGE if drawn else Modality.TEXT
    with new_collection(root) as writer:
        for number in range(queries + VAL):
            split, path, stream = "train" if number < queries else "val", f"images/{number}.jpg", io.BytesIO()
            dataset = 1 if number < few or split == "val" else 2
            name, item_id = DATASETS[dataset - 1], f"{dataset}:{number}"
            if drawn:
                pixels = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
                Image.fromarray(pixels).resize((320, 240)).save(stream, "JPEG")
                writer.image(path, stream.getvalue())
            writer.candidate(
                Item(item_id, target, "" if drawn else f"Text {number}.", path if drawn else None),
                name,
                [int(target)],
                [split],
            )
            writer.query(
                LabeledQuery(item_id, Modality.TEXT, int(target), f"Thing {number}.", positives=(item_id,)), name, split
            )
        for dataset, name in enumerate(DATASETS, start=1):
            writer.instructions(dataset, name, Modality.TEXT, target, ["Find it."])


def random_features(run: Run, collection: Collection) -> None:
    """Write random vectors of norm 1 in place of text features, the same for a query and its target."""
    candidates = CandidateTable.read(collection)
    rng = np.random.default_rng(0)
    known = rng.normal(size=(len(candidates), DIM)).astype(np.float16) / np.float16(DIM**0.5)
    sets = {"candidates": (candidates.content_digest, known)}
    for split in ("train", "val"):
        pairs = Pairs.read(collection, split, candidates)
        sets[split] = pairs.digest, known[pairs.positives[pairs.offsets[:-1]]]
    for name, (digest, vectors) in sets.items():
        files = FeatureFiles.create(run.path / "features" / name, len(vectors), 1, DIM, facts(run, digest, 0))
        for array, values in (("image", 0), ("text", vectors[:, None]), ("embedding", vectors), ("masks", [0, 1])):
            np.load(files.folder / f"{array}.npy", mmap_mode="r+")[:] = values
        files.update_progress(done=len(vectors))


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
