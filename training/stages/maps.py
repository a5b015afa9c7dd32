"""Draw the map of a run: its items by meaning, and with only so many of their codes kept.

    python -m training.maps COLLECTION RUN [--device cpu]

COLLECTION gives the names of the datasets. Nothing is trained, no picture is encoded: 15,000 items
take three minutes on a thread, most of them for UMAP. Names of regions are words of the codes'
names, which `python -m training.names RUN` stores.

From every vector the mean of its kind is taken, so that a region holds pictures, texts and pairs of
one meaning. A UMAP layout is determined only up to chance, rotation and scale. So each one starts
from the one before and is then rotated, scaled and moved onto it (Procrustes): a point stays near
its place unless its neighbours changed. AlignedUMAP uses a penalty instead, but expects distinct
vectors; with some codes kept vectors repeat, and repeated vectors distort the neighbour graph
(5,000 vectors with 40 distinct values got 4,512 different places). So each distinct vector is laid
out once.

Shapes: m items drawn, g distinct vectors, d dim, M levels, v views.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.linalg import orthogonal_procrustes
from tqdm import tqdm

from genius.collections.keys import id_key, key_dataset
from genius.collections.mbeir import Collection
from genius.explore.code_names import code_names, read_names
from genius.explore.code_profile import Profiles
from genius.explore.map_data import PART, SCALE, Maps, View
from genius.index.store import Index
from genius.models.quantizer import ResidualQuantizer
from genius.run import expect_run
from genius.schema import Modality
from genius.search.engine import Engine
from training.command_line import parse_run
from training.distributed import run_alone
from training.stages.map_regions import moved_regions, named_regions

MAX_ITEMS = 100_000  # on a map
DEPTHS = (4, 3, 2, 1)  # numbers of codes, after all of them
NEIGHBORS, MIN_VECTORS = 15, 20  # of UMAP; fewer vectors have no neighborhoods
EPOCHS = 100  # of a layout that starts from another
# of the items fill the map; the others lie on its edge, because they would make all others small
SPAN = 0.998


def main(arguments: Sequence[str] | None = None) -> None:
    draw(*parse_run("training.maps", __doc__, arguments))


def draw(root: Path, path: Path, device: str) -> None:
    """Make the map and publish it as a part of the run. Raises UserError for a run that cannot be
    read or written.
    """
    expect_run(path)
    collection = Collection(root)
    draw_run(path, device, collection.dataset_name)


def draw_run(path: Path, device: str, name_of: Callable[[int], str], seed: int = 0) -> None:
    """The map of a run. name_of: dataset number -> name."""
    started = time.perf_counter()
    engine = Engine.load(path, device)
    index, run = engine.index, engine.run
    assert run
    rows = sample_items(index, MAX_ITEMS)
    keys = np.array([id_key(item.id) for item in index.items(rows)], dtype=np.int64)
    order = np.argsort(keys)
    keys, rows = keys[order], rows[order]
    quantizer = engine.quantizer if isinstance(engine.quantizer, ResidualQuantizer) else None
    # what is kept of an item if everything is
    features = (index.embeddings if index.fused is None else index.fused)[rows]
    depths, distinct, places = lay_out(
        features, index.codes(rows), index.modalities[rows], quantizer, seed
    )
    profiles = Profiles(engine, index)
    names = read_names(path) or code_names(profiles, engine.first_code_is_modality)
    words = {word for name in names.values() for word in name.words}
    regions, region_of = named_regions(profiles, rows, places[0], words, seed)
    views = [
        View(
            depth,
            different,
            moved_regions(regions, region_of, places, at) if different >= MIN_VECTORS else (),
        )
        for at, (depth, different) in enumerate(zip(depths, distinct, strict=True))
    ]
    datasets = {number: name_of(number) for number in map(int, np.unique(key_dataset(keys)))}
    maps = Maps(tuple(views), places, keys, regions, region_of, datasets)
    run.publish(PART, maps.save, ("fusion", "quantizer"))
    print(
        f"map: {len(keys):,} of {index.n:,} items, {len(views)} views, {len(regions)} regions, "
        f"{time.perf_counter() - started:.0f} s"
    )


def sample_items(index: Index, most: int) -> np.ndarray:
    """(m,) rows of the items to draw: all, or a sample that is spread evenly over the sorted
    IDs.
    """
    rows = np.arange(index.n)
    if index.n <= most:
        return rows
    by_id = np.lexsort(index.codes(rows).T[::-1])
    return by_id[np.linspace(0, index.n - 1, most).astype(np.int64)]


def lay_out(
    features: np.ndarray,
    codes: np.ndarray,
    kinds: np.ndarray,
    quantizer: ResidualQuantizer | None,
    seed: int,
) -> tuple[list[int], list[int], np.ndarray]:
    """Features (m, d), codes (m, M) and kinds (m,) -> the number of codes that each view keeps, its
    number of different places, places (v, m, 2).
    """
    levels = codes.shape[1]
    layout = first_layout(centered(features, kinds), seed)
    filled = [fill_square(layout)]
    depths, distinct = [0], [len(np.unique(np.rint(filled[0] * SCALE), axis=0))]
    if quantizer is None:
        return depths, distinct, np.stack(filled)
    depths += [levels, *(depth for depth in DEPTHS if depth < levels)]
    for depth in tqdm(depths[1:], desc="map", unit="view"):
        different, first, group = np.unique(
            codes[:, :depth], axis=0, return_index=True, return_inverse=True
        )
        distinct.append(len(different))
        group = group.reshape(-1)
        if len(different) < MIN_VECTORS:
            filled.append(in_a_row(means(layout, group))[group])
            continue
        with torch.inference_mode():
            device = quantizer.codebooks[0].device
            decoded = quantizer.decode(torch.from_numpy(different.astype(np.int64)).to(device))
        vectors = centered(decoded.cpu().numpy()[group], kinds)
        layout = next_layout(vectors[first], group, layout, seed)
        filled.append(fill_square(layout))
    return depths, distinct, np.stack(filled)


def centered(vectors: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Vectors (m, d), kinds (m,) -> (m, d), each from the mean of its kind."""
    vectors = vectors.astype(np.float32)
    for kind in Modality:
        if (kinds == kind).any():
            vectors[kinds == kind] -= vectors[kinds == kind].mean(0)
    return vectors


def first_layout(vectors: np.ndarray, seed: int) -> np.ndarray:
    """(m, d) -> places (m, 2); of few vectors, their first two principal components."""
    if len(vectors) < MIN_VECTORS:
        flat = vectors - vectors.mean(0)
        _, _, axes = np.linalg.svd(flat, full_matrices=False)
        flat = flat @ axes[:2].T
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    return _umap(vectors, "pca", None, seed)


def next_layout(
    vectors: np.ndarray, group: np.ndarray, before: np.ndarray, seed: int
) -> np.ndarray:
    """Distinct vectors (g, d), each item's vector (m,), the layout before (m, 2) -> places
    (m, 2).
    """
    start = means(before, group).astype(np.float32)
    return procrustes(_umap(vectors, start, EPOCHS, seed)[group], before)


def means(places: np.ndarray, group: np.ndarray) -> np.ndarray:
    """(g, 2) the mean place, of places (m, 2), of each group (m,)."""
    counts = np.bincount(group)
    return np.stack([np.bincount(group, axis) for axis in places.T], axis=1) / counts[:, None]


def in_a_row(start: np.ndarray) -> np.ndarray:
    """Places (g, 2) -> (g, 2) side by side, in their order from left to right."""
    across = (2 * np.argsort(np.argsort(start[:, 0])) + 1) / len(start) - 1
    return np.stack([across, np.zeros(len(start))], axis=1).astype(np.float32)


def procrustes(places: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Places (m, 2) rotated or reflected, scaled and moved to be nearest to the target (m, 2)."""
    center = places.mean(0)
    target_center = target.mean(0)
    rotation, stretch = orthogonal_procrustes(places - center, target - target_center)
    spread = np.square(places - center).sum()
    scale = stretch / spread if spread else 1.0
    return (places - center) @ rotation * scale + target_center


def fill_square(layout: np.ndarray) -> np.ndarray:
    """Move and scale a layout (m, 2) so that nearly all of it fills −1 to 1 in both directions."""
    low, high = np.quantile(layout, [(1 - SPAN) / 2, (1 + SPAN) / 2], axis=0)
    half = np.maximum((high - low) / 2, 1e-9)
    return ((layout - (low + high) / 2) / half).clip(-1, 1).astype(np.float32)


def _umap(
    vectors: np.ndarray, start: str | np.ndarray, epochs: int | None, seed: int
) -> np.ndarray:
    from umap import UMAP  # here: it compiles itself with numba, which takes seconds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a seed implies one thread
        return UMAP(
            n_neighbors=min(NEIGHBORS, len(vectors) - 1),
            init=start,
            n_epochs=epochs,
            random_state=seed,
            n_jobs=1,
        ).fit_transform(vectors)


if __name__ == "__main__":
    run_alone(main)
