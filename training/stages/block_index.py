"""Encode a collection and index it shard by shard, by models that exist already: no training.

An encoder that no shipped part fits gets a fusion, a quantizer and a decoder that are made in
seconds: the fused feature is the embedding itself, the codebooks are those of k-means on it, level
by level, and the decoder adds nothing to their geometry, so IDs are searched by the distance of
their codewords alone.

Features stay in RUN/features/candidates, for training on them later. They are made in shards; one
or more of these become a segment of the index: a server that has opened the run picks it up, and a
killed process loses the shard that it was encoding.
"""

import shlex
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.encoding.features import FeatureFiles
from genius.encoding.quantize import quantize_all, squared_distances
from genius.index.segments import Vectors
from genius.index.store import PART, Index
from genius.index.update import append
from genius.index.writing import write_index
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion, FusionConfig
from genius.models.quantizer import ResidualQuantizer
from genius.models.saving import round_to_half
from genius.run import Run
from genius.schema import Item
from training.command_line import Arguments
from training.data.pairs import CandidateTable
from training.settings import Settings
from training.stages import features
from training.stages.index import instructions_for, publish_index

# in a manifest: [digest of candidates, how many of them, the first ones, were indexed]; True: all
INDEXED = "indexed"
SAMPLE, ITERATIONS = 16_000, 25  # of k-means
BLOCK = 1000  # candidates of a shard of features
SHARE = 8  # candidates become searchable together when they are one to so many before them


class Addition(NamedTuple):
    """Candidates of one or more shards, which become searchable together: a segment."""

    items: list[Item]  # b
    fused: np.ndarray  # (b, d)
    embeddings: np.ndarray  # (b, d)
    modalities: np.ndarray  # (b,)


def index_in_blocks(arguments: Arguments) -> None:
    """Index what the index lacks of the collection, by the run's encoder, fusion and quantizer.

    A run without fusion and quantizer gets parts without training once all candidates are encoded.
    """
    run = Run(arguments.run)
    collection = Collection(arguments.collection)
    if run.manifest.get(INDEXED) is True:
        return
    candidates = CandidateTable.read(collection)
    encoder = Encoder.load(run.folder("encoder")).for_inference().to(arguments.device)
    source = features.facts(run, candidates.content_digest, arguments.settings.seed)
    folder = run.path / "features" / "candidates"
    files = FeatureFiles.create(folder, len(candidates), 1, encoder.dim, source, shard=BLOCK)
    indexing = index_shards(arguments, collection, candidates, files)

    def index_until(last: int) -> None:
        for shard in indexing:
            if shard == last:
                break

    label, written = (
        ("encode and index", index_until)
        if run.has("quantizer")
        else ("encode", lambda shard: None)
    )
    batch, workers = arguments.settings.features.batch, arguments.workers
    inputs = features.candidate_inputs(collection)
    opener = features.image_opener(collection, encoder)
    files.fill(encoder, inputs, opener, batch, label, workers=workers, written=written)
    if not run.has("decoder"):
        publish_codes(run, files.embedding, candidates.modalities, arguments.settings)
    index_until(len(candidates))
    run.record(**{INDEXED: True})


def index_shards(
    arguments: Arguments, collection: Collection, candidates: CandidateTable, files: FeatureFiles
) -> Iterator[int]:
    """Index what is encoded, shard by shard; yields the number of each.

    Every change reads the whole index, so the larger it is, the more shards wait to be added
    together.
    """
    run = Run(arguments.run)
    fusion = Fusion.load(run.folder("fusion")).to(arguments.device)
    quantizer = ResidualQuantizer.load(run.folder("quantizer")).to(arguments.device)
    digest, done = run.manifest.get(INDEXED) or ["", 0]
    done = done if digest == candidates.content_digest else 0
    items = collection.all_candidates()
    fused = list[np.ndarray]()
    next(islice(items, done, done), None)  # without those that are indexed
    for shard in range(-(-len(candidates) // files.shard_size)):
        end = shard * files.shard_size + files.size(shard)
        if end > done:
            encoded = files.features(slice(end - files.size(shard), end)).to(arguments.device)
            with torch.inference_mode():
                fused.append(fusion(encoded).half().cpu().numpy())
            if end - done >= done // SHARE or end == len(candidates):
                rows = slice(done, end)
                vectors = np.concatenate(fused), files.embedding[rows], candidates.modalities[rows]
                addition = Addition(list(islice(items, end - done)), *vectors)
                add_to_index(arguments, collection, candidates, addition, quantizer)
                run.record(**{INDEXED: [candidates.content_digest, end]})
                done = end
                fused = []
        yield shard


def add_to_index(
    arguments: Arguments,
    collection: Collection,
    candidates: CandidateTable,
    addition: Addition,
    quantizer: ResidualQuantizer,
) -> None:
    """Add them to the index, or make the index of them; without what a process that was killed then
    has added.
    """
    run, (items, fused, embeddings, modalities) = Run(arguments.run), addition
    if run.has(PART):
        index = Index.load(run.folder(PART))
        new = np.flatnonzero(index.rows_of(item.id for item in items) < 0)
        if len(new):
            codes = quantize_all(fused[new], modalities[new], quantizer)
            distances = squared_distances(fused[new], codes, quantizer)
            trained = index.config.trained == index.n  # else somebody has added others meanwhile
            added = [items[row] for row in new], codes, distances, embeddings[new], fused[new]
            append(run, index, *added, collection.image_path, trained)
        return
    texts = instructions_for(candidates.keys, collection)
    settings = arguments.settings.index
    write = partial(
        write_index,
        items=items,
        image_path=collection.image_path,
        instructions=texts,
        thumbnail_side=settings.thumbnail_side,
    )
    # among items of one modality cosines find 4 points more (LOG.md)
    keeps_fused = settings.fused and len(np.unique(candidates.modalities)) > 1
    publish_index(run, write, quantizer, fused, embeddings, modalities, keeps_fused)
    if len(items) < len(candidates):
        page = shlex.join(["python", "app.py", "--run", str(run.path)])
        tqdm.write(f"the first {len(items):,} of {len(candidates):,} items can be searched: {page}")


@torch.no_grad()
def publish_codes(
    run: Run, embeddings: Vectors, modalities: np.ndarray, settings: Settings
) -> None:
    """Publish fusion, quantizer and decoder for these candidates: embeddings (n, d), modalities
    (n,).
    """
    config = settings.quantizer.quantizer
    rows = np.sort(np.random.default_rng(settings.seed).permutation(len(modalities))[:SAMPLE])
    quantizer = ResidualQuantizer(config)
    z = torch.from_numpy(embeddings[rows].astype(np.float32))
    quantizer.initialize(z, torch.from_numpy(modalities[rows]).long(), settings.seed, ITERATIONS)
    round_to_half(quantizer)  # as its readers will load it
    run.publish("fusion", embedding_as_it_is(config.dim).save, ("encoder",))
    run.publish("quantizer", partial(quantizer.save, half=True), ("encoder", "fusion"))
    run.publish("decoder", partial(geometry_alone(quantizer).save, half=True), ("quantizer",))


@torch.no_grad()
def embedding_as_it_is(dim: int) -> Fusion:
    """A fusion that gives (x + y) / ‖x + y‖, as the embedding."""
    fusion = Fusion(FusionConfig(dim, branch=0, hidden=1))
    for weight in fusion.parameters():
        weight.zero_()
    return fusion


@torch.no_grad()
def geometry_alone(quantizer: ResidualQuantizer) -> IDDecoder:
    """A decoder whose logits are the distances to the codewords, and which a search does not
    ask.
    """
    config = quantizer.config
    decoder = IDDecoder(
        DecoderConfig(
            config.dim,
            config.levels,
            config.codebook_size,
            width=1,
            layers=1,
            heads=1,
            head_width=1,
            ff_width=1,
            prefix=1,
            dropout=0.0,
            geometry=True,
            decoder_weight=0.0,
        )
    )
    decoder.initialize(quantizer)
    for weight in decoder.t5.parameters():
        weight.zero_()
    return decoder
