"""Build the index that a run is served from: IDs, embeddings, item records and thumbnails.

    python -m training.index COLLECTION RUN [--preset small|toy|photos|shipped|paper|paper-text]

What is written of it before it is published lies in RUN/indexing: a killed command resumes there
when you run it again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from genius.collections.keys import key_dataset
from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.encoding.quantize import quantize_all, squared_distances
from genius.errors import UserError
from genius.files import remove_folder
from genius.index.layout import Instruction
from genius.index.segments import ConcatenatedArray, Vectors
from genius.index.store import PART
from genius.index.writing import UnreadableImages, write_index
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.schema import Item
from training.checkpoint import fingerprint
from training.command_line import Arguments
from training.data.class_pictures import training_collection
from training.data.pairs import CandidateTable
from training.distributed import is_main
from training.stage import forget_stage, records_stamp, stage_command
from training.stages.features import finished_features

BLOCK = 10_000  # ids looked up at a time
SAMPLE = 64  # items whose fused features are compared with their embeddings


def train(arguments: Arguments) -> None:
    """Quantize every candidate, or those of one pool, and publish the index; the main process does
    all of it.
    """
    if not is_main():
        return
    settings = arguments.settings.index
    run = Run(arguments.run)
    collection = Collection(arguments.collection)
    trained = training_collection(arguments.collection, arguments.settings, run)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(arguments.device)
    candidates = CandidateTable.read(trained)
    files = finished_features(run, "candidates", candidates.content_digest, arguments.settings.seed)
    fusion = run.digest("fusion")
    if files.progress["fusion"] != fusion:  # of a run whose fusion was not trained here
        files.fuse(Fusion.load(run.folder("fusion")).to(arguments.device), fusion)
    fused: Vectors = files.fused(fusion)[:, 0]
    embeddings: Vectors = files.embedding
    keys, modalities = candidates.keys, candidates.modalities
    if settings.pool or trained != collection:
        rows = pool_rows(collection, settings.pool, candidates)
        fused = ConcatenatedArray([fused], rows)
        embeddings = ConcatenatedArray([embeddings], rows)
        keys, modalities = keys[rows], modalities[rows]
    parts = {part: run.digest(part) for part in ("encoder", "fusion", "quantizer")}
    # the digest leaves out the sources of items, and pools of their own
    records = records_stamp(collection.root)
    facts = fingerprint(parts, candidates.content_digest, records, settings)
    resume_folder = run.path / "indexing" / facts
    # left by killed commands, for other facts
    for outdated in set(resume_folder.parent.glob("*")) - {resume_folder}:
        remove_folder(outdated)
    resume_folder.mkdir(parents=True, exist_ok=True)
    forget_stage(run, "index")
    write = partial(
        write_index,
        items=pool_items(collection, settings.pool),
        image_path=collection.image_path,
        instructions=instructions_for(keys, collection),
        thumbnail_side=settings.thumbnail_side,
        resume_folder=resume_folder,
    )
    publish_index(run, write, quantizer, fused, embeddings, modalities, settings.fused)
    remove_folder(resume_folder.parent)
    print(f"index: {len(modalities)} items")


def publish_index(
    run: Run,
    write: Callable[..., UnreadableImages],
    quantizer: ResidualQuantizer,
    fused: Vectors,
    embeddings: Vectors,
    modalities: np.ndarray,
    keep_fused: bool,
) -> None:
    """Publish an index of n items by their fused features (n, d), embeddings (n, d) and modalities
    (n,).

    write: `write_index`, given what does not follow from these. keep_fused: the index has the fused
    features, unless they are the embeddings, as of a fusion that was not trained.
    """
    keep_fused = keep_fused and not np.allclose(fused[:SAMPLE], embeddings[:SAMPLE], atol=1e-2)
    codes = quantize_all(fused, modalities, quantizer)
    sizes = quantizer.config.code_sizes
    distances = squared_distances(fused, codes, quantizer)

    def write_folder(folder: Path) -> None:
        vectors = {"embeddings": embeddings, "fused": fused if keep_fused else None}
        unreadable = write(folder, codes=codes, code_sizes=sizes, distances=distances, **vectors)
        if unreadable.count:
            print(
                f"index: {unreadable.count:,} images cannot be read, so their items have "
                "no thumbnail, e.g."
            )
            print(*unreadable.examples, sep="\n")

    run.publish(PART, write_folder, ("encoder", "fusion", "quantizer"))


def instructions_for(keys: np.ndarray, collection: Collection) -> list[Instruction]:
    """The instructions of the datasets that these candidates (n,) are of: others would ask for what
    is not there.
    """
    datasets = set(np.unique(key_dataset(keys)).tolist())
    return [
        Instruction(query, candidate, text)
        for (dataset, query, candidate), texts in collection.instructions().items()
        if dataset in datasets
        for text in texts
    ]


def pool_items(collection: Collection, pool: str) -> Iterator[Item]:
    """The items of a pool in its order; of all pools if none is named. Raises UserError for an
    unknown one.
    """
    return collection.candidates(pool) if pool else collection.all_candidates()


def check_pool(collection: Collection, pool: str) -> None:
    """Raises UserError for a pool that is unknown or has no items."""
    if next(pool_items(collection, pool), None) is None:
        raise UserError(
            f"pool {pool} of {collection.root} has no items; add some, or set index.pool to "
            "another one, or to nothing to index every candidate"
        )


def pool_rows(collection: Collection, pool: str, candidates: CandidateTable) -> np.ndarray:
    """(m,) the numbers of a pool's items among all candidates. Raises UserError if one was not
    encoded, or none is.
    """
    check_pool(collection, pool)
    blocks = batched(pool_items(collection, pool), BLOCK)
    rows = np.concatenate([candidates.rows([item.id for item in block]) for block in blocks])
    if (rows < 0).any():
        unknown = next(islice(pool_items(collection, pool), int(rows.argmin()), None))
        raise UserError(
            f"{unknown.id} of pool {pool} is in no global pool of {collection.root}, so it was "
            "not encoded; set index.pool to a global pool"
        )
    return rows


if __name__ == "__main__":
    stage_command("index", train, __doc__)
