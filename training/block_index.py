"""Encode a collection and index it block by block, by models that exist already: no training.

Features stay in RUN/features/candidates, for training on them later. Each block that is encoded becomes a segment of
the index: a server that has opened the run picks it up, and a killed process loses the block that it was encoding.
"""

import shlex
from functools import partial
from itertools import islice

import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles
from genius.encoding.image_loader import enough_pixels
from genius.encoding.quantize import quantize_all, squared_distances
from genius.index.store import Index
from genius.index.update import append
from genius.index.versions import PART
from genius.index.writing import write_index
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from training import features
from training.command_line import Arguments
from training.image_augmentation import open_item_image
from training.index import instructions_for
from training.pairs import CandidateTable
from training.untrained import publish_codes

INDEXED = "indexed"  # in a manifest: all candidates are in the index
BLOCK = 1000  # candidates that become searchable together


def index_in_blocks(arguments: Arguments) -> None:
    """Index what the index lacks of the collection, by the run's encoder, fusion and quantizer.

    A run without fusion and quantizer gets those of `training.untrained` once all candidates are encoded.
    """
    run, collection = Run(arguments.run), Collection(arguments.collection)
    if run.manifest.get(INDEXED):
        return
    candidates = CandidateTable.read(collection)
    encoder = Encoder.load(run.folder("encoder")).for_inference().to(arguments.device)
    source = features.facts(run, candidates.content_digest, arguments.settings.seed)
    files = FeatureFiles.create(
        run.path / "features" / "candidates", len(candidates), 1, encoder.dim, source, shard=BLOCK
    )

    blocks = iter(range(-(-len(candidates) // files.shard_size)))

    def index_until(last: int) -> None:
        for block in blocks:
            index_block(arguments, collection, candidates, files, block)
            if block == last:
                break

    files.fill(
        encoder,
        ((item.image, [item.text]) for item in collection.all_candidates()),
        partial(open_item_image, collection, max_side=enough_pixels(encoder.config.preprocess)),
        arguments.settings.features.batch,
        "encode and index" if run.has("quantizer") else "encode",
        workers=arguments.workers,
        written=index_until if run.has("quantizer") else lambda block: None,
    )
    if not run.has("decoder"):
        publish_codes(run, files, candidates.modalities, arguments.settings)
    index_until(len(candidates))
    run.record(**{INDEXED: True})


def index_block(
    arguments: Arguments, collection: Collection, candidates: CandidateTable, files: FeatureFiles, block: int
) -> None:
    """Quantize the candidates of a shard of features and add them to the index, unless a killed process has done so."""
    run, start = Run(arguments.run), block * files.shard_size
    rows = slice(start, start + files.size(block))
    items = list(islice(collection.all_candidates(), rows.start, rows.stop))
    index = Index.load(run.folder(PART)) if run.has(PART) else None
    if index and (index.rows_of(item.id for item in items) >= 0).any():
        return
    fusion = Fusion.load(run.folder("fusion")).to(arguments.device)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(arguments.device)
    with torch.inference_mode():
        fused = fusion(files.features(rows).to(arguments.device)).half().cpu().numpy()
    codes = quantize_all(fused, candidates.modalities[rows], quantizer)
    distances, embeddings = squared_distances(fused, codes, quantizer), files.embedding[rows]
    if index:
        trained = index.config.trained == index.n  # else somebody has added others meanwhile
        append(run, index, items, codes, distances, embeddings, collection.image_path, trained)
        return

    def write(folder) -> None:
        write_index(
            folder,
            items,
            codes,
            embeddings,
            quantizer.config.code_sizes,
            image_path=collection.image_path,
            instructions=instructions_for(candidates.keys, collection),
            thumbnail_side=arguments.settings.index.thumbnail_side,
            distances=distances,
        )

    run.publish(PART, write, ("encoder", "fusion", "quantizer"))
    if len(items) < len(candidates):
        page = shlex.join(["python", "app.py", "--run", str(run.path)])
        tqdm.write(f"the first {len(items):,} of {len(candidates):,} items can be searched: {page}")
