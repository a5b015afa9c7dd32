"""Baselines without learning: shared words and shared colors. Rows where they do well are easy.

    python -m genius.evaluation.baselines COLLECTION [--split test] [--limit N]

TF-IDF: cosine of word weights (scikit-learn) of the query's text, without its instruction, and each candidate's, in
rows whose queries and candidates have texts. Colors: L1 distance of histograms of 4 × 4 × 4 RGB
cells (Swain & Ballard 1991, "Color indexing") between the query's picture and each candidate's, in rows whose queries
and candidates have pictures. The pool is the global one of the split.

Shapes: q queries, n candidates that have a text or a picture, w words, h cells of a histogram.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import pairwise_distances_chunked
from tqdm import tqdm

from genius.collections.images import open_image
from genius.collections.layout import TASKS
from genius.collections.mbeir import Collection
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import add_limit, add_seed, add_split, command_parser
from genius.evaluation.queries import stable_hash
from genius.evaluation.tables import dataset_name, percent, table, task_name
from genius.metrics.hit_rate import CUTS, Qrels, first_hits, headline_cut, hit_rate, mean_known
from genius.schema import Item, LabeledQuery, Modality

K, BATCH = max(CUTS), 256
MEMORY = 256  # MiB of distances at a time
SIDE, LEVELS = 64, 4  # pictures are shrunk to this side; cells along each of red, green and blue


class WordSearch:
    """Ranks candidates by the words of their texts."""

    def __init__(self, items: list[Item]):
        self.rows = np.array([row for row, item in enumerate(items) if item.text], dtype=np.int64)
        self.vectorizer = TfidfVectorizer()  # whose words have at least two characters
        texts = [items[row].text for row in self.rows]
        self.has_words = any(map(self.vectorizer.build_analyzer(), texts))
        if self.has_words:
            self.candidates = self.vectorizer.fit_transform(texts)  # (n, w) sparse

    def search(self, queries: list[LabeledQuery]) -> np.ndarray:
        """Rows (q, K) of the candidates, best first; −1 after the last that shares a word."""
        found = np.full((len(queries), K), -1)
        if not self.has_words:
            return found
        cosines = (self.vectorizer.transform([query.text for query in queries]) @ self.candidates.T).tocsr()
        for number, (first, end) in enumerate(pairwise(cosines.indptr)):  # (q, n), of which few share a word
            places = cosines.indices[first:end]
            best = places[np.lexsort((places, -cosines.data[first:end]))[:K]]
            found[number, : len(best)] = self.rows[best]
        return found


class ColorSearch:
    """Ranks candidates by the colors of their pictures."""

    def __init__(self, collection: Collection, items: list[Item]):
        self.collection = collection
        self.rows = np.array([row for row, item in enumerate(items) if item.image], dtype=np.int64)
        self.candidates = self._histograms([items[row].image for row in self.rows])  # (n, h)

    def search(self, queries: list[LabeledQuery]) -> np.ndarray:
        """Rows (q, ≤ K) of the candidates, best first."""
        parts = pairwise_distances_chunked(
            self._histograms([query.image for query in queries]),
            self.candidates,
            reduce_func=lambda distances, _: np.argsort(distances, axis=1, kind="stable")[:, :K].copy(),
            metric="manhattan",
            working_memory=MEMORY,
        )
        return self.rows[np.concatenate(list(parts))]

    def _histograms(self, paths: list[str]) -> np.ndarray:
        """(·, h); a picture that several items share is opened once."""
        distinct = list(dict.fromkeys(paths))
        with ThreadPoolExecutor() as threads:
            histograms = dict(zip(distinct, threads.map(self._histogram, distinct), strict=True))
        return np.array([histograms[path] for path in paths], dtype=np.float32)

    def _histogram(self, path: str) -> np.ndarray:
        return histogram(np.asarray(open_image(self.collection.image_path(path), max_side=SIDE)))


def histogram(pixels: np.ndarray) -> np.ndarray:
    """(height, width, 3) uint8 -> the share of pixels in each cell of RGB space (h,)."""
    cells = (pixels.astype(np.int64) * LEVELS // 256) @ [LEVELS**2, LEVELS, 1]
    return np.bincount(cells.ravel(), minlength=LEVELS**3) / cells.size


def measure_baselines(
    collection: Collection, split: str, limit: int | None = None, seed: int = 0
) -> list[dict[str, Any]]:
    """One entry per (task, dataset) row, ordered by task and dataset: the hit rate of each baseline at the row's cut.

    None where a baseline does not apply. limit: queries per row, a sample fixed by the seed.
    Raises UserError if the split has no queries or no global pool.
    """
    items = list(collection.candidates(f"union_{split}"))
    row_of, entries = {item.id: row for row, item in enumerate(items)}, []
    systems = {  # built when the first row needs them: a collection may lack texts or pictures
        "words": (cache(lambda: WordSearch(items)), Modality.IMAGE),  # and the modality that a system cannot search
        "colors": (cache(lambda: ColorSearch(collection, items)), Modality.TEXT),
    }
    for row in tqdm(sorted(collection.rows(), key=lambda row: (row.task, row.dataset_id)), unit="row"):
        queries = sorted(collection.queries(split, row), key=lambda query: stable_hash(seed, "sample", query.id))[
            :limit
        ]
        if not queries:
            continue
        qrels = Qrels.from_lists([[row_of[did] for did in query.positives if did in row_of] for query in queries])
        cut = headline_cut(row.dataset)
        entries.append(
            {"task": row.task, "dataset": row.dataset, "cut": cut, "queries": len(queries)}
            | {
                name: None if excluded in TASKS[row.task] else hit_rate(_ranks(build(), queries, qrels), cut)
                for name, (build, excluded) in systems.items()
            }
        )
    if not entries:
        raise UserError(f"{collection.root} has no {split} queries; name another split or add queries")
    return entries


def _ranks(system: WordSearch | ColorSearch, queries: list[LabeledQuery], qrels: Qrels) -> np.ndarray:
    return np.concatenate(
        [
            first_hits(system.search(queries[start : start + BATCH]), qrels, start)
            for start in range(0, len(queries), BATCH)
        ]
    )


def markdown(entries: list[dict[str, Any]]) -> str:
    """A line per row; averages are over the rows to which a baseline applies."""
    average = {name: mean_known([entry[name] for entry in entries]) for name in ("words", "colors")}
    columns = {
        "task": [*(task_name(entry["task"]) for entry in entries), "**average**"],
        "dataset": [*map(dataset_name, entries), ""],
        "queries": [*(f"{entry['queries']:,}" for entry in entries), ""],
        "TF-IDF": [percent(entry["words"]) for entry in (*entries, average)],
        "colors": [percent(entry["colors"]) for entry in (*entries, average)],
    }
    return table(columns, text_columns=2)


def main(arguments: list[str]) -> None:
    parser = command_parser("genius.evaluation.baselines", __doc__)
    parser.add_argument("collection", type=Path, help="an M-BEIR-format directory")
    add_split(parser)
    add_limit(parser)
    add_seed(parser, "the sample")
    options = parser.parse_args(arguments)
    collection = Collection(options.collection)
    print(markdown(measure_baselines(collection, options.split, options.limit, options.seed)))


if __name__ == "__main__":
    with exit_on_user_error():
        main(sys.argv[1:])
