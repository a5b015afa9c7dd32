"""Build the index that a run is served from: IDs, embeddings, item records and thumbnails.

    python -m training.index COLLECTION RUN [--preset small|paper|paper-text]
"""

from __future__ import annotations

from pathlib import Path

from genius.artifacts import Run
from genius.collections.mbeir import Collection
from genius.errors import reported
from genius.index.features import FeatureFiles
from genius.index.quantize import quantize_all
from genius.index.store import write_index
from genius.models.quantizer import ResidualQuantizer
from training.features import facts
from training.pairs import Candidates
from training.settings import Arguments, parse_arguments
from training.stage import run_stage


def train(arguments: Arguments) -> None:
    """Quantize every candidate and publish the index."""
    run, collection = Run(arguments.run), Collection(arguments.collection)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(arguments.device)
    candidates = Candidates.read(collection)
    files = FeatureFiles.finished(run.path / "features" / "candidates",
                                  facts(run, candidates.digest, arguments.settings.seed))
    codes = quantize_all(files.fused(run.digest("fusion"))[:, 0], candidates.modalities, quantizer)
    instructions = [(query, candidate, text)
                    for (_, query, candidate), texts in collection.instructions().items() for text in texts]

    def write(folder: Path) -> None:
        write_index(folder, collection.all_candidates(), codes, files.embedding, quantizer.config.code_sizes,
                    image_path=collection.image_path, instructions=instructions)

    run.publish("index", write, ("encoder", "fusion", "quantizer"))
    print(f"index: {len(codes)} items")


if __name__ == "__main__":
    with reported():
        run_stage("index", train, parse_arguments(__doc__))
