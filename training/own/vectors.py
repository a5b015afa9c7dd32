"""Index vectors that somebody else made: `python -m training.folder [TABLE] RUN --vectors FILE`.

Nothing is trained: the embedding of an item is its vector, its codes are k-means codes of it
(block_index.py), and IDs are searched by the distance of their codewords. Without an encoder
(`--model`) items are found by items alone.

Shapes: n vectors, d dim.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from genius.collections.arrow import MANIFEST, dataset_batches, unpack
from genius.collections.removal import remembered
from genius.collections.table_files import SUFFIXES as TABLES
from genius.collections.vectors import open_vectors, vector_items
from genius.errors import UserError
from genius.files import remove_folder, write_array
from genius.index.erasing import COLLECTIONS, VECTORS, vector_content
from genius.index.segments import ConcatenatedArray, Vectors
from genius.index.writing import write_index
from genius.models.absent import NoEncoder, NoEncoderConfig
from genius.models.encoder import Encoder
from genius.models.pretrained import open_clip_encoder
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from training.checkpoint import files_stamp
from training.presets import SMALL, settings_for
from training.stages.block_index import publish_codes
from training.stages.index import publish_index
from training.stages.maps import draw_run

READ = "read"  # in a manifest: the state of the sources when they were read last
WORK = "vectors"  # in the run, until they are indexed


def index_vectors(
    path: Path, file: Path, sources: Sequence[str], model: str, weights: str, seed: int, device: str
) -> None:
    """Make a run of a file of vectors and, if there is one, a table of their items; again if they
    have changed.

    model, weights: of open_clip, or empty. Raises UserError for what cannot be read.
    """
    run = Run(path)
    work = path / WORK
    now = files_stamp((str(each.resolve()), each) for each in (file, *map(Path, sources)))
    if run.manifest.get(READ) == now:
        return
    vectors = open_vectors(file)
    n, dim = vectors.shape
    encoder = encoder_for(model, weights, file, dim)
    settings = settings_for(replace(SMALL, seed=seed), dim, n, 0)
    work.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="genius-") as unpacked:
        table = table_of(file, sources, Path(unpacked))
        notes: list[str] = []
        modalities = np.fromiter(
            (item.modality for item in vector_items(table, n, notes)), np.uint8
        )
        print(
            *notes, f"{n:,} vectors of {dim} numbers, each scaled to length 1", sep="\n", flush=True
        )
        write_array(work / "embedding.npy", (n, dim), np.float16, vectors.normalized())
        stored = np.load(work / "embedding.npy", mmap_mode="r")
        embeddings: Vectors = stored
        stays = np.full(n, True)
        if known := remembered(path / COLLECTIONS):
            content = map(vector_content, stored, vector_items(table, n, []))
            stays = np.fromiter((each not in known for each in content), dtype=bool, count=n)
            embeddings = ConcatenatedArray([stored], np.flatnonzero(stays))
            modalities = modalities[stays]
            print(f"{n - stays.sum():,} removed from the run before, so left out", flush=True)
        run.publish("encoder", encoder.save)
        publish_codes(run, embeddings, modalities, settings)
        quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(device)
        items = compress(vector_items(table, n, []), stays)
        image_path = table.parent.joinpath if table else None
        write = partial(write_index, items=items, image_path=image_path, instructions=[])
        publish_index(run, write, quantizer, embeddings, embeddings, modalities, keep_fused=False)
    remove_folder(work)
    draw_run(path, device, lambda _: file.stem, seed)
    run.record(**{READ: now}, collection=str(file.resolve()), preset=VECTORS)


def encoder_for(model: str, weights: str, file: Path, dim: int) -> Encoder | NoEncoder:
    """The open_clip model that made the vectors, or what stands for it. Raises UserError if it made
    others.
    """
    if not model:
        return NoEncoder(NoEncoderConfig(dim))
    encoder = open_clip_encoder(model, weights)
    if encoder.dim != dim:
        raise UserError(
            f"{file} has vectors of {dim} numbers, {model} makes {encoder.dim}; name the "
            "model that made them, or none"
        )
    return encoder


def table_of(file: Path, sources: Sequence[str], unpacked: Path) -> Path | None:
    """The table of the items; one with the bytes of pictures is written into a folder. None: items
    have only numbers.

    Raises UserError if there are several, or it is none.
    """
    if len(sources) > 1:
        raise UserError(
            f"--vectors takes one table of all items, not {len(sources)}: {', '.join(sources)}"
        )
    table = Path(sources[0]) if sources else file if file.suffix.lower() == ".parquet" else None
    if table and (batches := dataset_batches(table)):
        unpack(batches, unpacked)
        return unpacked / MANIFEST
    if table and (not table.name.lower().endswith(TABLES) or not table.is_file()):
        raise UserError(
            f"{table} is no table; --vectors takes one ({', '.join(TABLES)}) with a row "
            "for each vector"
        )
    return table
