"""Read a directory in M-BEIR format: the published download, or one that `CollectionWriter` wrote;
README.md shows it.

Records are streamed. At most a bitmap of ids and one file's relevance judgments, as integers, are
in memory.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from genius.collections import layout
from genius.collections.keys import KeySet, id_key, key_dataset, key_id
from genius.collections.records import (
    Instructions,
    parse_item,
    parse_judgment,
    parse_query,
    read_instructions,
    read_lines,
)
from genius.errors import UserError
from genius.schema import Item, LabeledQuery

GLOBAL_POOLS = tuple(f"union_{split}" for split in layout.SPLITS)


@dataclass(frozen=True, order=True)
class BenchmarkRow:
    """One (task, dataset) pair of a benchmark table."""

    dataset_id: int
    task: int
    dataset: str
    splits: tuple[str, ...] = ()  # splits that have queries


class Collection:
    """A directory in M-BEIR format. Creating one is cheap; every method reads the files again."""

    def __init__(self, root: Path | str):
        """Raises UserError if the directory has no candidate pool."""
        self.root = Path(root)
        if not self.pools():
            raise UserError(
                f"{self.root} is not a collection: it has no candidate pool in cand_pool; build "
                "one with: python -m genius.collections SOURCE... DEST"
            )
        self._resolved_root = self.root.resolve()

    def __eq__(self, value: object) -> bool:
        return type(self) is type(value) and vars(self) == vars(value)

    def __hash__(self) -> int:
        return hash(self.root)

    def rows(self) -> list[BenchmarkRow]:
        """Every (task, dataset) pair that has queries, ordered by dataset and task.

        For a file named after a task only the first line is read; other files (M-BEIR's training
        files) are scanned for their tasks.
        """
        splits_of: dict[tuple[int, int, str], set[str]] = {}
        for file, dataset, task, split in self.query_files():
            pairs = (
                (key_dataset(id_key(query.id)), query.task)
                for query in read_lines(file, parse_query)
            )
            for dataset_id, query_task in set(pairs if task is None else islice(pairs, 1)):
                splits_of.setdefault((dataset_id, query_task, dataset), set()).add(split)
        return [
            BenchmarkRow(*key, tuple(split for split in layout.SPLITS if split in splits))
            for key, splits in sorted(splits_of.items())
        ]

    def queries(self, split: str, row: BenchmarkRow | None = None) -> Iterator[LabeledQuery]:
        """The queries of a split, or of one benchmark row in it.

        The positives are the relevant candidates in the qrels; if the qrels have none, the list in
        the query line.
        """
        for file, dataset, _, file_split in self.query_files():
            if file_split != split or (row is not None and row.dataset != dataset):
                continue
            relevant = None
            for query in read_lines(file, parse_query):
                if row is not None and query.task != row.task:
                    continue
                if relevant is None:  # read only for a file that has a query of this row
                    relevant = _relevant_candidates(self.qrels_files(file))
                positives = tuple(dict.fromkeys(map(key_id, relevant.get(id_key(query.id), ()))))
                yield replace(query, positives=positives) if positives else query

    def pools(self) -> list[str]:
        """Names of the candidate pools, global ones first: union_test, …, flickr8k_task0, …"""
        return list(self.pool_files())

    def candidates(self, pool: str) -> Iterator[Item]:
        """The items of one pool. Raises UserError that lists the pools if the name is unknown."""
        files = self.pool_files()
        if pool not in files:
            raise UserError(f"{self.root} has no pool {pool!r}; it has {', '.join(files)}")
        yield from read_lines(files[pool], parse_item)

    def local_pool(self, row: BenchmarkRow) -> Iterator[Item]:
        """The candidates of a row's local pool.

        The name of MSCOCO's pool in M-BEIR contains a split; that of a dataset whose queries were
        added later has no task.
        """
        names = local_pool_names(row.dataset, row.task)
        there = (name for name in names if name in self.pool_files())
        yield from self.candidates(next(there, names[0]))

    def all_candidates(self) -> Iterator[Item]:
        """Every candidate of the main pools, once."""
        seen = KeySet()
        for file in self.main_pool_files().values():
            for item in read_lines(file, parse_item):
                if seen.add(id_key(item.id)):
                    yield item

    def instructions(self) -> Instructions:
        """(dataset id, query modality, candidate modality) -> instructions."""
        return read_instructions(self.root / layout.INSTRUCTIONS)

    def held_out_instructions(self) -> Instructions:
        """Like `instructions`, for evaluation only. Raises UserError if the collection has none."""
        return read_instructions(self.root / layout.HELD_OUT_INSTRUCTIONS)

    def has_held_out_instructions(self) -> bool:
        return (self.root / layout.HELD_OUT_INSTRUCTIONS).is_file()

    def image_path(self, relative: str) -> Path:
        """The file of an image. Raises UserError for a path or a link that leaves the
        collection.
        """
        if layout.leaves_folder(relative):
            leaves = f"the image path {relative!r:.100} leaves the collection"
            raise UserError(f"{leaves}; give it relative to its root")
        file = self.root / relative
        if not layout.is_inside(file, self._resolved_root):
            leads = f"the image {relative!r:.100} is a link out of the collection"
            raise UserError(f"{leads}; replace it by the file")
        return file

    def dataset_name(self, dataset_id: int) -> str:
        """The dataset's name as used in its query files or local pools. Raises UserError for an
        unknown dataset.
        """
        for file, dataset, _, _ in self.query_files():
            first = next(read_lines(file, parse_query), None)
            if first is not None and key_dataset(id_key(first.id)) == dataset_id:
                return dataset
        for pool, file in self.pool_files().items():
            item = None if pool in GLOBAL_POOLS else next(read_lines(file, parse_item), None)
            if item is not None and key_dataset(id_key(item.id)) == dataset_id:
                return pool.partition("_task")[0]
        raise UserError(f"{self.root} has no dataset {dataset_id}")

    def pool_files(self) -> dict[str, Path]:
        """Pool name -> file, global pools first."""
        files: dict[str, Path] = {}
        for folder in ("global", "local"):
            for file in sorted((self.root / "cand_pool" / folder).glob("*.jsonl")):
                if match := layout.POOL_FILE.fullmatch(file.name):
                    files.setdefault(match["pool"], file)
        return files

    def main_pool_files(self) -> dict[str, Path]:
        """The pools that make up the collection: M-BEIR's global ones; without them, all pools."""
        files = self.pool_files()
        return {name: files[name] for name in GLOBAL_POOLS if name in files} or files

    def query_files(self) -> Iterator[tuple[Path, str, int | None, str]]:
        """Yield (file, dataset, task, split). The union files, which repeat the same queries, are
        skipped.
        """
        for split in layout.SPLITS:
            for file in sorted((self.root / "query" / split).glob("*.jsonl")):
                match = layout.QUERY_FILE.fullmatch(file.name)
                if match and match["split"] == split:
                    task = int(match["task"]) if match["task"] else None
                    yield file, match["dataset"], task, split

    def qrels_files(self, query_file: Path) -> list[Path]:
        """The existing qrels files of a query file: of the same name, or for all tasks of the
        dataset.
        """
        match = layout.QUERY_FILE.fullmatch(query_file.name)
        assert match, query_file
        names = {
            self.root / layout.qrels_file(match["dataset"], task, match["split"])
            for task in (match["task"], None)
        }
        return sorted(file for file in names if file.is_file())


def _relevant_candidates(files: list[Path]) -> dict[int, list[int]]:
    """Keys of queries -> keys of their relevant candidates, in file order."""
    relevant: dict[int, list[int]] = defaultdict(list)
    for file in files:
        for judgment in read_lines(file, parse_judgment):
            if judgment.relevant:
                relevant[judgment.query].append(judgment.candidate)
    return relevant


def local_pool_names(dataset: str, task: int) -> list[str]:
    """The names that the local pool of a (task, dataset) row may have, the usual one first."""
    name = f"{dataset}_task{task}"
    return [name, *(f"{name}_{split}" for split in reversed(layout.SPLITS)), dataset]
