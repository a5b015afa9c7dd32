"""The test queries of an ablation's columns, encoded once by the run's encoder under each condition.

Shapes: q queries of a column, d embedding dim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.mbeir import Collection
from genius.encoding.features import batched
from genius.errors import UserError
from genius.evaluation.instructions import swap_instructions
from genius.evaluation.queries import QuerySet, read_queries, stable_hash
from genius.metrics.hit_rate import headline_cut
from genius.models.encoder import Encoder, Features
from genius.run import Run
from genius.texts import normalize_text, query_text
from training.checkpoint import fingerprint
from training.pairs import CandidateTable

SPLIT = "test"
BATCH = 64
DROPPED = 0.3  # share of the words of a text that the condition "dropped words" leaves out


@dataclass(frozen=True)
class Column:
    """The queries of one (task, dataset) row, where the paper has a column."""

    paper: tuple[int, str]  # M-BEIR task and dataset of the paper's column
    queries: dict[str, QuerySet]  # condition -> queries; "swapped instruction" lacks positives
    features: dict[str, Features]
    pools: dict[str, np.ndarray]  # "global", "local" -> sorted candidate rows

    @property
    def task(self) -> int:
        return self.queries["asked"].row.task

    @property
    def dataset(self) -> str:
        return self.queries["asked"].row.dataset

    @property
    def cut(self) -> int:
        return headline_cut(self.dataset)


@dataclass(frozen=True)
class CandidateRows:
    """What `read_queries` needs of an index, for all candidates of a collection: their rows and modalities."""

    table: CandidateTable

    @property
    def n(self) -> int:
        return len(self.table)

    @property
    def modalities(self) -> np.ndarray:
        return self.table.modalities

    def rows_of(self, ids: Iterable[str]) -> np.ndarray:
        return self.table.rows(list(ids))


def counterparts(sets: list[QuerySet], wanted: Iterable[tuple[int, str]]) -> dict[tuple[int, str], QuerySet]:
    """The paper's column -> the row that stands for it: the same dataset, else the most queries of the same task.

    A dataset is the same if its name ends with the paper's. Columns of a task without queries are left out; no row
    stands for two columns.
    """
    chosen: dict[tuple[int, str], QuerySet] = {}
    for task, dataset in wanted:
        taken = [id(queries) for queries in chosen.values()]
        of_task = [queries for queries in sets if queries.row.task == task and id(queries) not in taken]
        if of_task:
            same = [queries for queries in of_task if queries.row.dataset.endswith(dataset)]
            chosen[task, dataset] = max(same or of_task, key=len)
    return chosen


def read_columns(
    run: Run,
    collection: Collection,
    candidates: CandidateTable,
    wanted: Iterable[tuple[int, str]],
    conditions: Iterable[str],
    limit: int,
    seed: int,
    cache: Path,
    device: str,
) -> list[Column]:
    """The columns with their features, which are kept in `cache`; limit: queries of each.

    Raises UserError if no row of the collection has a task of the paper's columns.
    """
    index = CandidateRows(candidates)
    options = {"limit": limit, "seed": seed}
    asked = read_queries(collection, index, SPLIT, phrasing="seeded", **options)
    held_out = {}
    if collection.has_held_out_instructions():
        for queries in read_queries(collection, index, SPLIT, phrasing="held-out", **options):
            held_out[queries.row] = queries
    chosen = counterparts(asked, wanted)
    if not chosen:
        raise UserError(f"{collection.root} has no {SPLIT} queries of the tasks in the paper's tables")
    reader = FeatureCache(run, collection, cache, device)
    columns = []
    pools = searched_pools(collection, index, list(chosen.values()))
    for number, (paper, queries) in enumerate(tqdm(chosen.items(), desc="test queries", unit="column")):
        sets = {"asked": queries, "dropped words": dropped_words(queries, seed)}
        if queries.row in held_out:
            sets["held-out phrasing"] = held_out[queries.row]
        swapped = swap_instructions(queries, collection.instructions(), seed)
        if len(swapped):
            sets["swapped instruction"] = swapped
        sets = {name: sets[name] for name in conditions if name in sets}
        features = {name: reader.features(phrased) for name, phrased in sets.items()}
        columns.append(Column(paper, sets, features, pools[number]))
    return columns


def searched_pools(
    collection: Collection, index: CandidateRows, sets: Sequence[QuerySet]
) -> list[dict[str, np.ndarray]]:
    """The "global" and the "local" pool of each row in the test split: sorted candidate rows."""
    everything = np.unique(index.rows_of(item.id for item in collection.candidates(f"union_{SPLIT}")))
    pools = []
    for queries in sets:
        local = np.unique(index.rows_of(item.id for item in collection.local_pool(queries.row)))
        pools.append({"global": everything, "local": np.intersect1d(local, everything, assume_unique=True)})
    return pools


def search_facts(queries: QuerySet, pools: Mapping[str, np.ndarray]) -> list[Any]:
    """All that a search of these queries among these pools depends on, beside the candidates: for a fingerprint."""
    return [
        queries.instructions,
        [[query.id, query.text, query.image] for query in queries.queries],
        [array.tolist() for array in (queries.qrels.offsets, queries.qrels.rows, queries.targets)],
        {scope: hashlib.sha256(rows.astype(np.int64).tobytes()).hexdigest() for scope, rows in pools.items()},
    ]


def dropped_words(queries: QuerySet, seed: int) -> QuerySet:
    """The queries with each word of their texts left out with probability DROPPED, at least one kept."""

    def shortened(name: str, text: str) -> str:
        words = text.split()
        kept = [word for at, word in enumerate(words) if stable_hash(seed, f"word {at}", name) / 2**64 >= DROPPED]
        return " ".join(kept or words[:1])

    return replace(queries, queries=[replace(query, text=shortened(query.id, query.text)) for query in queries.queries])


class FeatureCache:
    """Features of queries, from files of an earlier start if there are."""

    def __init__(self, run: Run, collection: Collection, folder: Path, device: str):
        self._run, self._collection, self._folder, self._device = run, collection, folder, device
        self._encoder: Encoder | None = None
        self._images: dict[str, torch.Tensor] = {}  # path -> (d,)

    def features(self, queries: QuerySet) -> Features:
        """Of q queries, in fp32."""
        texts = [
            query_text(instruction, query.text)
            for query, instruction in zip(queries.queries, queries.instructions, strict=True)
        ]
        paths = [query.image for query in queries.queries]
        file = self._folder / f"{fingerprint(self._run.digest('encoder'), texts, paths)}.safetensors"
        if not file.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            aside = file.with_suffix(".partial")
            save_file(self._encoded(texts, paths), aside)
            aside.rename(file)
        stored = load_file(file)
        return Features(stored["image"], stored["text"], stored["image_mask"], stored["text_mask"])

    @torch.inference_mode()
    def _encoded(self, texts: list[str], paths: list[str | None]) -> dict[str, torch.Tensor]:
        if self._encoder is None:
            self._encoder = Encoder.load(self._run.folder("encoder")).to(self._device)
        encoder = self._encoder
        for batch in batched([path for path in dict.fromkeys(paths) if path and path not in self._images], BATCH):
            pictures = [open_image(self._collection.image_path(path)) for path in batch]
            self._images |= zip(batch, encoder.encode(pictures, [""] * len(batch)).image.cpu(), strict=True)
        image, text = torch.zeros(len(texts), encoder.dim), torch.zeros(len(texts), encoder.dim)
        for row, path in enumerate(paths):
            if path:
                image[row] = self._images[path]
        normal = [normalize_text(wording) for wording in texts]
        written = [row for row, wording in enumerate(normal) if wording]
        for rows in batched(written, BATCH):
            text[rows] = encoder.encode([None] * len(rows), [normal[row] for row in rows]).text.cpu()
        return {
            "image": image,
            "text": text,
            "image_mask": torch.tensor([bool(path) for path in paths]),
            "text_mask": torch.tensor([bool(wording) for wording in normal]),
        }
