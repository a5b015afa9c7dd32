"""Draw the maps of a trained run: its features, its IDs at several depths, and IDs trained without contrastive loss.

    python -m training.maps COLLECTION RUN [--device cpu]

The settings are those of RUN. For the last map, fusion and quantizer are trained again without the contrastive loss of
Eq. 8 (supplement, C.1), in a folder of RUN that is removed at the end; if it is killed, this training resumes after its
last epoch, and a finished one is not repeated. The maps also show queries of the test split.

A UMAP layout is determined only up to chance, rotation and scale. So every layout starts from the first one and is
then rotated, scaled and moved onto it (Procrustes): a point stays near its place unless its neighbors changed.
AlignedUMAP uses a penalty instead, but expects distinct vectors in every set; quantized vectors repeat, and repeated
vectors distort the neighbor graph (5,000 vectors with 40 distinct values got 4,512 different places). So each distinct
vector is laid out once.

Shapes: m items drawn, q queries drawn, p points, g distinct vectors, d dim, M levels, v views.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from scipy.linalg import orthogonal_procrustes
from tqdm import tqdm

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation.queries import QuerySet, read_queries
from genius.explore.map_data import PART, MappedQuery, Maps, View
from genius.files import remove_folder
from genius.index.store import Index, load_index
from genius.models.absent import NoCodewords, load_quantizer
from genius.models.encoder import Encoder, Features
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run, expect_run
from training import quantizer
from training.class_pictures import training_collection
from training.command_line import Arguments, parse_run
from training.curves import read_health
from training.distributed import run_alone
from training.features import finished_features, share_features
from training.pairs import CandidateTable
from training.settings import Settings, with_values
from training.stage import is_done, only_trainer, recorded_settings, run_stage

MAX_ITEMS, MAX_QUERIES = 100_000, 2_000  # on a map
MAX_VECTORS = 20_000  # on a map that is drawn when vectors are indexed, in about a minute
DEPTHS = (2, 3, 4)  # numbers of codes, modality included; and all of them
SPLITS = ("test", "val", "train")  # the first split that has queries is drawn
BATCH, BLOCK = 256, 8192  # queries encoded, and features fused, at a time
NEIGHBORS, MIN_VECTORS = 15, 20  # of UMAP; fewer vectors have no neighborhoods
EPOCHS = 200  # of a layout that starts from another
SIDE = "without-contrast"  # the folder of the second training
REPORTED = {  # figure of the maps -> its name in the report of the codes
    "ids": "ids",
    "largest_bucket": "largest bucket",
    "items_alone": "items alone",
    "val_hit_at_5": "validation hit@5",
    "val_hit_at_5_quantized": "validation hit@5 quantized",
}


def main(arguments: Sequence[str] | None = None) -> None:
    draw(*parse_run("training.maps", __doc__, arguments))


def draw(root: Path, path: Path, device: str) -> None:
    """Make the maps and publish them as a part of the run.

    They depend on fusion and quantizer only, so items may be added and removed at the same time. Added items are not
    drawn, because their features are not stored. Raises UserError if the run was not trained on this collection or
    cannot be written, or if another process is drawing its maps.
    """
    expect_run(path)
    started = time.perf_counter()
    with only_trainer(path / SIDE):
        run, collection = Run(path), Collection(root)
        if run.manifest.get("preset") == "folder" and "quantizer" not in run.manifest["stages"]:
            raise UserError(
                f"the codes of {path} were not trained on its pictures, and maps compare ways to train; train some, by "
                "the command that made it and --train"
            )
        settings, health_with_contrast = recorded_settings(run), compared_health(run)
        index = load_index(run)
        candidates = CandidateTable.read(training_collection(root, settings, run))
        files = finished_features(run, "candidates", candidates.content_digest, settings.seed)
        keys, index_rows, candidate_rows = items_to_draw(index, candidates, root, path)
        split, query_sets = sample_queries(collection, index, settings.seed)
        encoder = Encoder.load(run.folder("encoder")).for_inference().to(device)
        blocks = np.array_split(candidate_rows, -(-len(candidate_rows) // BLOCK))
        features = [*map(files.features, blocks), *encode_queries(encoder, collection, query_sets)]

        side = train_without_contrast(run, collection, settings, device)
        views, layouts = lay_out_views(run, side, features, index.modalities[index_rows], settings.seed, device)
        queries = tuple(mapped_queries(query_sets, index))
        names = {number: collection.dataset_name(number) for number in map(int, np.unique(key_dataset(keys)))}
        health = {"with": health_with_contrast, "without": compared_health(side)}
        maps = Maps(views, layouts, keys, queries, names, split, health)
        run.publish(PART, maps.save, ("fusion", "quantizer"))
        remove_folder(side.path)
        print(
            f"maps: {len(keys)} of {index.n} items and {len(queries)} {split} queries in {len(views)} views, "
            f"{time.perf_counter() - started:.0f} s"
        )


def draw_vectors(run: Run, name: str, seed: int) -> None:
    """The maps of a run that was made of vectors, or of IDs without codewords: no queries and no other training.

    name: of the dataset.
    """
    index, quantizer = load_index(run), load_quantizer(run.folder("quantizer"))
    rows = sample_items(index, MAX_VECTORS)
    keys = np.array([id_key(item.id) for item in index.items(rows)], dtype=np.int64)
    order = np.argsort(keys)
    keys, rows = keys[order], rows[order]
    quantizers = [] if isinstance(quantizer, NoCodewords) else [quantizer]
    views = views_of(*quantizers) if quantizers else (View(),)
    features = np.asarray(index.embeddings[rows], dtype=np.float32)
    layouts = lay_out(views, features, [index.codes(rows)], quantizers, seed)
    run.publish(PART, Maps(views, layouts, keys, (), {0: name}, "", {}).save, ("fusion", "quantizer"))


def items_to_draw(
    index: Index, candidates: CandidateTable, root: Path, path: Path
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sample of the indexed items, without those that were added after training: their features are not stored.

    Returns the keys (m,) of their ids, ascending, and their rows of the index and of the features (m,). Raises
    UserError if the collection at `root` lacks one that the run at `path` was trained with, or none is left.
    """
    rows = sample_items(index, MAX_ITEMS)
    ids = [item.id for item in index.items(rows)]
    candidate_rows = candidates.rows(ids)  # −1: added to the index later, from elsewhere
    missing = np.flatnonzero((candidate_rows < 0) & (rows < index.config.trained))
    if len(missing):
        raise UserError(
            f"{root} has no candidate {ids[missing[0]]}, which {path} has indexed; "
            "name the collection that the run was trained on"
        )
    if left_out := int((candidate_rows < 0).sum()):
        print(f"maps: {left_out} items that were added after training are not drawn")
    keys = np.array([id_key(id) for id in ids], dtype=np.int64)
    order = np.argsort(keys)
    order = order[candidate_rows[order] >= 0]
    if not len(order):
        raise UserError(f"{path} holds no item any more that it was trained with, so its maps would be empty")
    return keys[order], rows[order], candidate_rows[order]


def sample_items(index: Index, most: int) -> np.ndarray:
    """(m,) rows of the items to draw: all, or a sample that is spread evenly over the sorted IDs."""
    rows = np.arange(index.n)
    if index.n <= most:
        return rows
    by_id = np.lexsort(index.codes(rows).T[::-1])
    return by_id[np.linspace(0, index.n - 1, most).astype(np.int64)]


def sample_queries(collection: Collection, index: Index, seed: int) -> tuple[str, list[QuerySet]]:
    """A split and a sample of its queries, about equally many of each (task, dataset) row."""
    splits_of_rows = [row.splits for row in collection.rows()]
    split = next(split for split in SPLITS if any(split in splits for splits in splits_of_rows))
    limit = -(-MAX_QUERIES // sum(split in splits for splits in splits_of_rows))
    return split, read_queries(collection, index, split, limit=limit, seed=seed, answerable=True)


def encode_queries(encoder: Encoder, collection: Collection, query_sets: Sequence[QuerySet]) -> Iterator[Features]:
    """Features of all queries, in batches."""
    for query_set in query_sets:
        for batch in query_set.opened(collection, BATCH):
            images, texts = [query.image for query in batch], [query.text for query in batch]
            yield encoder.encode(images, texts, [query.instruction for query in batch])


def mapped_queries(query_sets: Sequence[QuerySet], index: Index) -> Iterator[MappedQuery]:
    """The queries with what the page shows of them."""
    for query_set in query_sets:
        qrels, answers = query_set.qrels, iter(index.items(query_set.qrels.rows))
        counts = np.diff(qrels.offsets).tolist()
        for query, instruction, count in zip(query_set.queries, query_set.instructions, counts, strict=True):
            answer_ids = tuple(item.id for item in islice(answers, count))
            yield MappedQuery(query.id, query.modality, query.text, instruction, answer_ids)


def train_without_contrast(run: Run, collection: Collection, settings: Settings, device: str) -> Run:
    """Train fusion and quantizer in a second run that shares encoder and features, without any contrastive loss.

    The last epoch is kept: validation would prefer the one nearest to the start. A finished training is not repeated.
    """
    without_contrast = {"contrastive_weight": 0.0, "keep_best": False, "patience": 0}
    settings = with_values(settings, {"quantizer": without_contrast})
    arguments = Arguments(collection.root, run.path / SIDE, "", settings, device)
    try:
        done = is_done("quantizer", arguments) and Run(arguments.run).digest("encoder") == run.digest("encoder")
    except UserError:  # of other settings or records
        done = False
    if not done:
        share_features(run, arguments.run)
        run_stage("quantizer", quantizer.train, arguments)
    return Run(arguments.run)


@torch.inference_mode()
def lay_out_views(
    run: Run, side: Run, parts: Sequence[Features], modalities: np.ndarray, seed: int, device: str
) -> tuple[tuple[View, ...], np.ndarray]:
    """Features of the m items, then of the q queries -> the views and their layouts (v, m + q, 2)."""
    fused, quantizers = [], []
    for trained in (run, side):
        fusion = Fusion.load(trained.folder("fusion")).to(device)
        fused.append(torch.cat([fusion(part.to(device)) for part in parts]))
        quantizers.append(ResidualQuantizer.load(trained.folder("quantizer")).to(device))
    codes = [_codes(model, z, modalities) for model, z in zip(quantizers, fused, strict=True)]
    views = (*views_of(quantizers[0]), View(quantizers[0].config.levels, contrastive=False))
    return views, lay_out(views, fused[0].cpu().numpy(), codes, quantizers, seed)


def views_of(quantizer: ResidualQuantizer) -> tuple[View, ...]:
    """The features, some depths, and all codes."""
    levels = quantizer.config.levels
    return (View(), *(View(depth) for depth in DEPTHS if depth < levels), View(levels))


def lay_out(
    views: Sequence[View],
    features: np.ndarray,
    codes: Sequence[np.ndarray],
    quantizers: Sequence[ResidualQuantizer],
    seed: int,
) -> np.ndarray:
    """Features (p, d) and codes (p, M) of p points -> the layout of each view (v, p, 2).

    codes, quantizers: of the run and, if a view is not contrastive, of the training without contrast.
    """
    layouts = []
    for view in tqdm(views, desc="maps", unit="map"):
        if not view.depth:
            layouts.append(first_layout(features, seed))
            continue
        training = 0 if view.contrastive else 1
        distinct, group = np.unique(codes[training][:, : view.depth], axis=0, return_inverse=True)
        model = quantizers[training]
        vectors = model.decode(torch.from_numpy(distinct.astype(np.int64)).to(model.codebook_0.device)).cpu().numpy()
        layouts.append(next_layout(vectors, group.reshape(-1), layouts[0], seed))
    return fill_square(np.stack(layouts))


def first_layout(vectors: np.ndarray, seed: int) -> np.ndarray:
    """(p, d) -> places (p, 2); of few vectors, their first two principal components."""
    if len(vectors) < MIN_VECTORS:
        centered = vectors - vectors.mean(0)
        _, _, axes = np.linalg.svd(centered, full_matrices=False)
        flat = centered @ axes[:2].T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    return _umap(vectors, "spectral", None, seed)


def next_layout(vectors: np.ndarray, group: np.ndarray, first: np.ndarray, seed: int) -> np.ndarray:
    """Distinct vectors (g, d), the number of each point's vector (p,), the first layout (p, 2) -> places (p, 2)."""
    counts = np.bincount(group, minlength=len(vectors))
    start = np.stack([np.bincount(group, axis, len(vectors)) for axis in first.T], axis=1) / counts[:, None]
    if len(vectors) < MIN_VECTORS:
        return start[group]
    return procrustes(_umap(vectors, start.astype(np.float32), EPOCHS, seed)[group], first)


def procrustes(places: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Places (p, 2) rotated or reflected, scaled and moved to be nearest to the target (p, 2)."""
    center, target_center = places.mean(0), target.mean(0)
    rotation, stretch = orthogonal_procrustes(places - center, target - target_center)
    spread = np.square(places - center).sum()
    scale = stretch / spread if spread else 1.0
    return (places - center) @ rotation * scale + target_center


def fill_square(layouts: np.ndarray) -> np.ndarray:
    """Move and scale all layouts (v, p, 2) alike, so that together they fill −1 to 1."""
    low, high = layouts.min((0, 1)), layouts.max((0, 1))
    return ((layouts - (low + high) / 2) / (max((high - low).max() / 2, 1e-9))).astype(np.float32)


def _umap(vectors: np.ndarray, start: str | np.ndarray, epochs: int | None, seed: int) -> np.ndarray:
    from umap import UMAP  # here: it compiles itself with numba, which takes seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed implies one thread
        return UMAP(
            n_neighbors=min(NEIGHBORS, len(vectors) - 1), init=start, n_epochs=epochs, random_state=seed, n_jobs=1
        ).fit_transform(vectors)


def compared_health(run: Run) -> dict[str, float]:
    """The figures by which the IDs of the two trainings are compared."""
    health = read_health(run)
    return {figure: health[name] for figure, name in REPORTED.items()}


def _codes(model: ResidualQuantizer, z: torch.Tensor, modalities: np.ndarray) -> np.ndarray:
    """Codes (m + q, M): items with their own modality as first code, queries with the nearest one."""
    items = torch.from_numpy(modalities.astype(np.int64)).to(z.device)
    return torch.cat([model.encode(z[: len(items)], items), model.encode(z[len(items) :])]).cpu().numpy()


if __name__ == "__main__":
    run_alone(main)
