"""Serve the items of a run under IDs that somebody else made: index them, and train a decoder of
them.

    python -m training.ids TABLE RUN NEW [--set decoder.epochs=3]

TABLE names items and their codes (genius/metrics/codebook.py): RQ-VAE, hierarchical k-means, any
numbers. It names them as RUN does, or by the `id` of the table that RUN was made from; a .npy file
has the rows of RUN. NEW shares encoder and items with RUN. Its IDs have no codewords, so nothing
can be scanned, added, or compared by geometry. The decoder learns from the queries of RUN that ask
for an item, if it was trained on any, or else from every item as its own query.

Shapes: n items, M levels, q queries.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from genius.collections.layout import MIN_QUERIES
from genius.commands import command_parser
from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.evaluation.arguments import add_device, add_seed
from genius.files import disk_errors_explained, link_files
from genius.index.layout import ROW_FILES
from genius.index.segments import FUSED
from genius.index.store import PART, Index, load_index
from genius.index.writing import write_rows
from genius.metrics.codebook import health, read_ids
from genius.models.absent import NoCodewords, NoCodewordsConfig
from genius.run import Run, expect_run
from genius.runtime import usable_device
from genius.schema import Modality, source_fields
from genius.trie.ids import pack
from training.checkpoint import fingerprint
from training.command_line import add_set_argument, print_done
from training.data.class_pictures import training_collection
from training.data.pairs import CandidateTable, Pairs
from training.distributed import run_alone
from training.presets import SMALL, settings_for
from training.settings import with_stage_changes, with_values
from training.stage import RESUME, only_trainer, recorded_settings
from training.stages import decoder
from training.stages.block_index import embedding_as_it_is
from training.stages.decoder import TargetIDs
from training.stages.features import FeatureSet, share_features
from training.stages.maps import draw_run

VALIDATED = 500  # items that choose the epoch, where there are no queries
SPLITS = ("train", "val")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.ids", __doc__)
    parser.add_argument(
        "table",
        type=Path,
        help="items and their codes: .csv, .tsv, .jsonl, .json, .parquet or .npy",
    )
    parser.add_argument("run", type=Path, help="a run, whose items they are")
    parser.add_argument("new", type=Path, help="the run to make")
    add_seed(parser, "all random choices")
    add_device(parser)
    add_set_argument(parser)
    options = parser.parse_args(arguments)
    expect_run(options.run)
    device = str(usable_device(options.device))
    with only_trainer(options.new), disk_errors_explained(options.new, RESUME):
        serve_ids(options.table, Run(options.run), options.new, options.set, options.seed, device)
    print_done(options.new)


def serve_ids(
    table: Path, run: Run, path: Path, changes: Sequence[str], seed: int, device: str
) -> None:
    """Raises UserError if the table does not fit the run, or another run is at `path`."""
    index = load_index(run)
    codes = codes_of_items(table, index)
    sizes = tuple((codes.max(0) + 1).tolist())
    new = Run(path)
    origin = fingerprint(checksum(codes), run.digest("encoder"), run.digest(PART))
    if new.manifest["parts"] and new.manifest.get("ids") != origin:
        raise UserError(f"{path} was made of something else; name another directory")
    if new.is_current("decoder"):
        return
    print(health(codes), flush=True)
    new.record(ids=origin, collection=run.manifest.get("collection", ""), preset="ids")
    new.publish("encoder", partial(link_files, run.folder("encoder")))
    new.publish("fusion", embedding_as_it_is(index.config.dim).save, ("encoder",))
    new.publish(
        "quantizer",
        NoCodewords(NoCodewordsConfig(index.config.dim, sizes)).save,
        ("encoder", "fusion"),
    )
    write = partial(write_index_of, run.folder(PART), index, codes, sizes)
    new.publish(PART, write, ("encoder", "fusion", "quantizer"))

    asked = query_sets(run, new, index)
    if not asked:
        print("the decoder learns from every item as its own query", flush=True)
    data, val = asked or item_sets(index, seed)
    settings = settings_for(replace(SMALL, seed=seed), index.config.dim, index.n, len(data.pairs))
    shape = {"levels": len(sizes), "sizes": sizes, "geometry": False}
    learning = {"decoder": shape, "decoder_weights": (1.0,), "self_queries": asked is not None}
    changed = with_stage_changes(with_values(settings, {"decoder": learning}), *changes).decoder
    targets = TargetIDs(codes, None, new.digest("fusion"), origin)
    model, checkpoints = decoder.fit(new, data, val, targets, changed, seed, device)
    new.publish("decoder", partial(model.save, half=changed.half), ("quantizer",))
    draw_run(path, device, lambda _: table.stem, seed)
    checkpoints.clear()


def codes_of_items(table: Path, index: Index) -> np.ndarray:
    """(n, M) the codes of the items of an index. Raises UserError if some have none, or two."""
    ids = read_ids(table)
    if ids.names is None:
        if len(ids.codes) != index.n:
            raise UserError(
                f"{table} has {len(ids.codes):,} rows, the run {index.n:,} items; "
                "expected one for each"
            )
        return ids.codes
    names = pd.Index(ids.names)
    if not names.is_unique:
        raise UserError(
            f"{table} has two rows for {names[names.duplicated()][0]!r}; leave one of them out"
        )
    items = index.items(range(index.n))
    by_id = names.get_indexer([item.id for item in items])
    by_source = names.get_indexer([str(source_fields(item.source).get("id", "")) for item in items])
    place = max(by_id, by_source, key=lambda found: int((found >= 0).sum()))
    if missing := np.flatnonzero(place < 0).tolist():
        raise UserError(
            f"{table} has no codes for {len(missing):,} of {index.n:,} items, such as "
            f"{items[missing[0]].id}; name items as the run does, or by the id of the table that "
            "it was made from"
        )
    return ids.codes[place]


def write_index_of(
    source: Path, index: Index, codes: np.ndarray, sizes: tuple[int, ...], folder: Path
) -> None:
    """Write the index in the folder `source` under other IDs (n, M); what is not about IDs is
    linked, but for the features that the run's own IDs are made from.
    """
    link_files(source, folder, left_out=(*ROW_FILES, FUSED))
    write_rows(
        folder, replace(index.config, code_sizes=sizes), pack(codes, sizes), index.modalities, None
    )


Sets = tuple[FeatureSet, FeatureSet]  # training, validation; their candidates are the items


class Vectors(FeatureFiles):
    """Embeddings in place of files."""

    def __init__(self, embeddings: np.ndarray):
        self.text = embeddings  # (n, p, d)

    @property
    def facts(self) -> str:
        return checksum(self.text)

    def fused(self, fusion_digest: str) -> np.ndarray:
        return self.text


def query_sets(run: Run, new: Run, index: Index) -> Sets | None:
    """The queries that the run was trained on, with those targets that are items; None if there are
    too few.

    Says so if items and candidates differ. Raises UserError if the features of the queries do not
    fit the collection.
    """
    if not (run.path / "features" / "train" / "progress.json").exists():
        return None
    settings = recorded_settings(run)
    collection = training_collection(Path(run.manifest["collection"]), settings, run)
    candidates = CandidateTable.read(collection)
    rows = candidates.rows([item.id for item in index.items(range(index.n))])  # (n,)
    common = np.flatnonzero(rows >= 0)
    item_of = np.full(len(candidates), -1)
    item_of[rows[common]] = common
    share_features(run, new.path)
    fusion = embedding_as_it_is(index.config.dim)
    digest = new.digest("fusion")
    items = CandidateTable(np.arange(index.n), index.modalities)
    vectors = Vectors(np.asarray(index.embeddings)[:, None])
    sets = []
    asked = 0
    for split in SPLITS:
        known = FeatureSet.read(new, collection, candidates, split, settings.seed)
        known.query_files.fuse(fusion, digest)
        pairs, kept = known.pairs.among(item_of)
        sets.append(
            FeatureSet(items, pairs, Vectors(known.query_files.fused(digest)[kept]), vectors)
        )
        asked += len(known.pairs)
    if not len(common) == len(candidates) == index.n:
        print(
            f"{run.path} was trained on {len(candidates):,} candidates and has {index.n:,} items, "
            f"{len(common):,} of them in common: {sum(len(each.pairs) for each in sets):,} of "
            f"{asked:,} queries ask for these",
            flush=True,
        )
    data, val = sets
    return None if min(len(data.pairs), len(val.pairs)) < MIN_QUERIES else (data, val)


def item_sets(index: Index, seed: int) -> Sets:
    """Every item as its own query, and some of them to choose the epoch."""
    vectors = np.asarray(index.embeddings)[:, None]
    candidates = CandidateTable(np.arange(index.n), index.modalities)

    def of(rows: np.ndarray) -> FeatureSet:
        q = len(rows)
        pairs = Pairs(
            [""] * q,
            [None] * q,
            [[""]] * q,
            np.zeros(q, dtype=np.int64),
            ["items"],
            [int(Modality.IMAGE)],
            np.arange(q + 1),
            rows,
        )
        return FeatureSet(candidates, pairs, Vectors(vectors[rows]), Vectors(vectors))

    everything = np.arange(index.n)
    return of(everything), of(np.random.default_rng(seed).permutation(everything)[:VALIDATED])


def checksum(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


if __name__ == "__main__":
    run_alone(main)
