"""Names of the files in an M-BEIR directory, as in the published download, and of the files that we
add.
"""

import os
import re
from pathlib import Path, PurePath

from genius.schema import Modality

SPLITS = ("train", "val", "test")
SPLIT_NAMES = {name: name for name in (*SPLITS, "candidates")} | {
    "validation": "val",
    "valid": "val",
    "dev": "test",
}
MIN_QUERIES = 2  # of train and of val, to train on
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
# ours, optional: used in evaluation only
HELD_OUT_INSTRUCTIONS = Path("instructions/held_out_instructions.tsv")
FILES = Path("files.tsv")  # ours, optional: what became of each file of the sources
QUERY_FILE = re.compile(
    r"mbeir_(?P<dataset>.+?)(?:_task(?P<task>\d+))?_(?P<split>train|val|test)\.jsonl"
)
POOL_FILE = re.compile(r"mbeir_(?P<pool>.+)_cand_pool\.jsonl")


def query_file(dataset: str, task: int | None, split: str) -> Path:
    """Relative path of a query file. M-BEIR's training files contain all tasks of a dataset; their
    task is None.
    """
    return Path("query", split, f"mbeir_{_row_name(dataset, task)}_{split}.jsonl")


def qrels_file(dataset: str, task: int | str | None, split: str) -> Path:
    return Path("qrels", split, f"mbeir_{_row_name(dataset, task)}_{split}_qrels.txt")


def local_pool_file(dataset: str, task: int | None) -> Path:
    return Path("cand_pool", "local", f"mbeir_{_row_name(dataset, task)}_cand_pool.jsonl")


def global_pool_file(split: str) -> Path:
    """Relative path of the pool with the candidates of all datasets for the queries of this
    split.
    """
    return named_pool_file(f"union_{split}")


def named_pool_file(pool: str) -> Path:
    """Relative path of a global pool."""
    return Path("cand_pool", "global", f"mbeir_{pool}_cand_pool.jsonl")


def leaves_folder(path: str) -> bool:
    """Whether a relative path leaves its folder, judged by its text alone; links are not
    followed.
    """
    return path.startswith("/") or "\0" in path or (".." in path and ".." in path.split("/"))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder when links are followed; a link to itself lies where it
    is.
    """
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def split_of_file(name: str) -> str | None:
    """The split that the name of a table begins or ends with: train-00000-of-00002.parquet,
    captions_val2017.json.
    """
    words = re.findall("[a-z]+", PurePath(name.lower().removesuffix(".gz")).stem) or [""]
    return SPLIT_NAMES.get(words[0]) or SPLIT_NAMES.get(words[-1])


def split_of_folder(folder: PurePath) -> str | None:
    """The split that a folder is called, or the nearest of those that it lies in."""
    return next(filter(None, map(SPLIT_NAMES.get, map(str.lower, reversed(folder.parts)))), None)


def _row_name(dataset: str, task: int | str | None) -> str:
    return dataset if task is None else f"{dataset}_task{task}"
