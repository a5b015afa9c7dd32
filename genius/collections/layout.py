"""Names of the files in an M-BEIR directory, as the benchmark's own download has them."""

from __future__ import annotations

import re
from pathlib import Path

from genius.schema import Modality

SPLITS = ("train", "val", "test")
TASKS = {  # M-BEIR task id -> (query modality, candidate modality); 5 is unused
    0: (Modality.TEXT, Modality.IMAGE),
    1: (Modality.TEXT, Modality.TEXT),
    2: (Modality.TEXT, Modality.PAIR),
    3: (Modality.IMAGE, Modality.TEXT),
    4: (Modality.IMAGE, Modality.IMAGE),
    6: (Modality.PAIR, Modality.TEXT),
    7: (Modality.PAIR, Modality.IMAGE),
    8: (Modality.PAIR, Modality.PAIR),
}
INSTRUCTIONS = Path("instructions/query_instructions.tsv")
HELD_OUT_INSTRUCTIONS = Path("instructions/held_out_instructions.tsv")  # ours: phrasings to test with alone
PROVENANCE = Path("world.json")  # ours, optional: the seed and sizes that a procedural dataset was generated from
SYNONYMS = Path("synonyms.json")  # ours, optional: a word of the texts -> words that people may use instead
QUERY_FILE = re.compile(r"mbeir_(?P<dataset>.+?)(?:_task(?P<task>\d+))?_(?P<split>train|val|test)\.jsonl")
POOL_FILE = re.compile(r"mbeir_(?P<pool>.+)_cand_pool\.jsonl")


def query_file(dataset: str, task: int | None, split: str) -> Path:
    """M-BEIR's training files hold all tasks of a dataset: their name has no task."""
    return Path("query", split, f"mbeir_{_row(dataset, task)}_{split}.jsonl")


def qrels_file(dataset: str, task: int | None, split: str) -> Path:
    return Path("qrels", split, f"mbeir_{_row(dataset, task)}_{split}_qrels.txt")


def local_pool_file(dataset: str, task: int | None) -> Path:
    return Path("cand_pool", "local", f"mbeir_{_row(dataset, task)}_cand_pool.jsonl")


def global_pool_file(split: str) -> Path:
    """What is a candidate for the queries of this split, of all datasets."""
    return Path("cand_pool", "global", f"mbeir_union_{split}_cand_pool.jsonl")


def leaves_folder(path: str) -> bool:
    """Whether a relative path, by its words alone, leads out of the folder it starts in."""
    return path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/"))


def _row(dataset: str, task: int | None) -> str:
    return dataset if task is None else f"{dataset}_task{task}"
