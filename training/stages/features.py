"""Encode every candidate and every training and validation query once, into memory-mapped files.

    python -m training.features COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

The later stages read RUN/features/candidates, RUN/features/train and RUN/features/val.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from genius.collections.mbeir import Collection
from genius.encoding.features import (
    ARRAYS,
    WITH_INSTRUCTIONS,
    EncoderFeatureCache,
    EncoderInput,
    FeatureEncoder,
    FeatureFiles,
    Lookup,
    read_progress,
)
from genius.encoding.image_loader import enough_pixels
from genius.errors import UserError
from genius.files import link_files, link_or_copy, write_json
from genius.models.encoder import Encoder, Features
from genius.run import Run
from training.checkpoint import fingerprint
from training.command_line import Arguments
from training.data.class_pictures import ClassCollection, picture_path, training_collection
from training.data.image_augmentation import open_item_image
from training.data.pairs import CandidateTable, Pairs, draw_phrasings
from training.distributed import barrier, broadcast_object, main_process_first, rank, world_size
from training.stage import stage_command
from training.stages.tower_features import known_features, look_up


def train(arguments: Arguments) -> None:
    """Compute the shards that are missing from the feature files; every process takes its part of
    them. Raises UserError if encoder and fusion differ in dimension.
    """
    settings, seed = arguments.settings.features, arguments.settings.seed
    run = Run(arguments.run)
    collection = training_collection(arguments.collection, arguments.settings, run)
    encoder = Encoder.load(run.folder("encoder")).to(arguments.device)
    if encoder.dim != arguments.settings.quantizer.fusion.dim:
        raise UserError(
            f"the encoder's vectors have dimension {encoder.dim}, the fusion expects "
            f"{arguments.settings.quantizer.fusion.dim}; set quantizer.fusion.dim, "
            f"quantizer.quantizer.dim and decoder.decoder.dim to {encoder.dim}"
        )
    encoder.check()
    apart = encoder.config.apart
    if apart != arguments.settings.quantizer.fusion.instruction:
        raise UserError(
            f"the encoder reads instructions {'apart from' if apart else 'and'} "
            f"texts{' as one' * (not apart)}; set "
            f"quantizer.fusion.instruction to {str(apart).lower()}"
        )
    candidates = CandidateTable.read(collection)
    sets = {split: Pairs.read(collection, split, candidates) for split in ("train", "val")}
    cache = known_features(run, collection, arguments.settings.encoder, encoder, seed)
    if isinstance(collection, ClassCollection) and not cache.images([picture_path(0, 0)]):
        raise UserError(
            f"{run.path} lacks the outputs of its towers, which the pseudo-pictures of classes are "
            "made of; train its encoder again, or go without: --set encoder.locked.class_pictures=0"
        )
    encoder.for_inference()  # not before the outputs of its towers are found by its weights

    started = time.perf_counter()
    files, encoded = candidate_features(run, collection, encoder, arguments, cache)
    cache = cache.with_image_lookup(images_of_candidates(files, collection, sets.values()))
    opener = image_opener(collection, encoder)
    for split, pairs in sets.items():
        phrasings = settings.phrasings if split == "train" else 1
        inputs = draw_phrasings(pairs, phrasings, np.random.default_rng(seed), apart)
        source = facts(run, pairs.digest, seed)
        given = source, inputs, len(pairs), phrasings, encoder, opener, settings.batch
        arrays = WITH_INSTRUCTIONS if apart else ARRAYS
        folder = run.path / "features" / split
        encoded += fill_files(folder, *given, arguments.workers, cache, arrays)[1]
    print(
        f"features: encoded {encoded} of {len(candidates) + sum(map(len, sets.values()))}, "
        f"{encoded / (time.perf_counter() - started):.1f} per second"
    )


def candidate_features(
    run: Run,
    collection: Collection,
    encoder: Encoder,
    arguments: Arguments,
    cache: EncoderFeatureCache,
) -> tuple[FeatureFiles, int]:
    """The features of the candidates, and how many of them were encoded: those that the run lacks,
    as after items were removed.
    """
    candidates = CandidateTable.read(collection)
    source = facts(run, candidates.content_digest, arguments.settings.seed)
    inputs, opener = candidate_inputs(collection), image_opener(collection, encoder)
    given = source, inputs, len(candidates), 1, encoder, opener, arguments.settings.features.batch
    return fill_files(run.path / "features" / "candidates", *given, arguments.workers, cache)


def candidate_inputs(collection: Collection) -> Iterator[EncoderInput]:
    return (EncoderInput(item.image, [item.text]) for item in collection.all_candidates())


def image_opener(collection: Collection, encoder: Encoder) -> Callable[[str], Image.Image]:
    """Opens images of the collection, as large as the encoder needs them; can be pickled."""
    side = enough_pixels(encoder.config.preprocess)
    return partial(open_item_image, collection, max_side=side)


def fill_files(
    folder: Path,
    source: str,
    inputs: Iterable[EncoderInput],
    n: int,
    phrasings: int,
    encoder: FeatureEncoder,
    open_path: Callable[[str], Image.Image | None],
    batch: int,
    workers: int,
    cache: EncoderFeatureCache,
    arrays: Sequence[str] = ARRAYS,
) -> tuple[FeatureFiles, int]:
    """Compute what a folder lacks of the features of n inputs; every process takes its part of the
    shards.

    Returns the files, and how many inputs were encoded. The arguments are those of
    FeatureFiles.create and fill.
    """
    with main_process_first():
        files = FeatureFiles.create(folder, n, phrasings, encoder.dim, source, arrays)
    missing = broadcast_object(files.unfinished())
    label = (
        folder.name
        if world_size() == 1
        else f"{folder.name}, process {rank() + 1} of {world_size()}"
    )
    files.fill(
        encoder, inputs, open_path, batch, label, missing[rank() :: world_size()], workers, cache
    )
    barrier()
    return FeatureFiles.finished(folder, source), sum(map(files.size, missing))


def facts(run: Run, digest: str, seed: int) -> str:
    """Checksum of what features depend on: the encoder, its inputs (digest), the seed of the
    phrasings.
    """
    return fingerprint(run.digest("encoder"), digest, seed)


def finished_features(run: Run, name: str, digest: str, seed: int) -> FeatureFiles:
    """The complete features of the candidates or of a split, which hold inputs of this digest.

    Raises UserError if the run has no encoder, or lacks the features of its encoder and this seed.
    """
    source = facts(run, digest, seed)
    try:
        return FeatureFiles.finished(run.path / "features" / name, source)
    except UserError as error:
        raise UserError(
            f"{error} --seed {seed}, or name the seed that they were made with, if it is another"
        ) from None


def images_of_candidates(
    files: FeatureFiles, collection: Collection, splits: Iterable[Pairs]
) -> Lookup:
    """A lookup of the images of queries that candidates have, too, which are not encoded twice.

    files: of the candidates.
    """
    query_images = {image for pairs in splits for image in pairs.images if image}
    row = {
        item.image: row
        for row, item in enumerate(collection.all_candidates())
        if item.image in query_images
    }
    return partial(look_up, row, lambda rows: files.features(rows).image)


def share_features(run: Run, path: Path) -> None:
    """Give the run at `path` the features of `run`, without those of its fusion, and at last its
    encoder.

    All are linked, so they stay if those of `run` are computed again meanwhile.
    """
    for folder in feature_folders(run):
        mirrored = path / "features" / folder.name
        mirrored.mkdir(parents=True, exist_ok=True)
        for file in folder.glob("*.npy"):
            if file.name != "fused.npy":
                (mirrored / file.name).unlink(missing_ok=True)
                link_or_copy(file, mirrored / file.name)
        write_json(mirrored / "progress.json", read_progress(folder) | {"fusion": None})
    Run(path).publish("encoder", partial(link_files, run.folder("encoder")))


def feature_folders(run: Run) -> list[Path]:
    """The folders of features of a run, by name; what lies beside them, such as .DS_Store, is no
    features.
    """
    return sorted(file.parent for file in (run.path / "features").glob("*/progress.json"))


class Batch(NamedTuple):
    """b training pairs: a query, one of its phrasings, one of its positives."""

    queries: np.ndarray  # (b,)
    phrasing: np.ndarray  # (b,)
    positives: np.ndarray  # (b,) candidate rows
    modality: Tensor  # (b,) modality of the positive

    def part(self, rows: slice) -> "Batch":
        return Batch(
            self.queries[rows], self.phrasing[rows], self.positives[rows], self.modality[rows]
        )


@dataclass
class FeatureSet:
    """The pairs of one split with the features of queries and candidates, for quantizer and
    decoder.
    """

    candidates: CandidateTable
    pairs: Pairs
    query_files: FeatureFiles
    candidate_files: FeatureFiles

    @property
    def sources(self) -> list[str | int]:
        """What a training on them depends on: the encoder, its inputs, seed and phrasings, and the
        labels.
        """
        made_from = [files.facts for files in (self.query_files, self.candidate_files)]
        return [*made_from, self.query_files.phrasings, self.pairs.training_digest]

    @classmethod
    def read(
        cls, run: Run, collection: Collection, candidates: CandidateTable, split: str, seed: int
    ) -> "FeatureSet":
        """Of a split. Raises UserError if the run lacks the features of its encoder for this
        collection.
        """
        pairs = Pairs.read(collection, split, candidates)
        query_files = finished_features(run, split, pairs.digest, seed)
        candidate_files = finished_features(run, "candidates", candidates.content_digest, seed)
        return cls(candidates, pairs, query_files, candidate_files)

    def draw(self, queries: np.ndarray, rng: np.random.Generator) -> Batch:
        """A random phrasing and a random positive for each of the queries (b,)."""
        positives = self.pairs.draw_positives(queries, rng)
        phrasing = rng.integers(self.query_files.phrasings, size=len(queries))
        modality = torch.from_numpy(self.candidates.modalities[positives]).long()
        return Batch(queries, phrasing, positives, modality)

    def features(self, batch: Batch, device: str) -> tuple[Features, Features]:
        """Features of the queries, and of the positives."""
        queries = self.query_files.features(batch.queries, batch.phrasing)
        return queries.to(device), self.candidate_files.features(batch.positives).to(device)


def training_features(arguments: Arguments) -> tuple[FeatureSet, FeatureSet]:
    """The training and the validation pairs of the run's collection with their features."""
    run = Run(arguments.run)
    seed = arguments.settings.seed
    collection = training_collection(arguments.collection, arguments.settings, run)
    candidates = CandidateTable.read(collection)
    data, val = (
        FeatureSet.read(run, collection, candidates, split, seed) for split in ("train", "val")
    )
    return data, val


if __name__ == "__main__":
    stage_command("features", train, __doc__)
