"""Check a directory in M-BEIR format and report everything that a later stage would refuse, with
file and line.

Files are streamed; in memory are bitmaps of ids and checksums of candidates: 16 bytes per candidate
whose id follows another one, 90 MB for 5.6 million, and up to 1 KB per candidate whose id is far
from all others, as random numbers are. With `images`, also some 60 bytes per image.
"""

import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from genius.collections import layout
from genius.collections.images import check_image
from genius.collections.keys import KeySet, id_key, key_dataset, key_id
from genius.collections.lines import BYTE_ORDER_MARK, LineError, text_lines
from genius.collections.listing import TEXT, TEXTS, USED, read_reports
from genius.collections.mbeir import Collection, local_pool_names
from genius.collections.records import (
    Instructions,
    parse_item,
    parse_judgment,
    parse_query,
    read_instructions,
)
from genius.errors import UserError
from genius.schema import LabeledQuery, Modality

T = TypeVar("T")
Problem = Callable[[str], LineError]  # of one line
MOST_OPENED = 64  # images together
# a page holds the checksums of 32 consecutive ids: 14 bytes for each of them, 460 for one alone
PAGE_BITS = 5
PAGE_MASK = 2**PAGE_BITS - 1
FOLDERS = {  # of the records -> the names that their files have
    "cand_pool/global": layout.POOL_FILE,
    "cand_pool/local": layout.POOL_FILE,
    **{f"query/{split}": layout.QUERY_FILE for split in layout.SPLITS},
}


class LineWarning(LineError):
    """What may be a mistake, though no stage refuses it, or names a stage that the collection is
    too small for.
    """

    def __str__(self) -> str:
        return f"warning: {super().__str__()}"


class ItemTable:
    """id key -> modality and a checksum of the content, 64 bits together, in pages of consecutive
    ids.
    """

    def __init__(self) -> None:
        self._pages: dict[int, array] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: int) -> Modality | None:
        """The modality that was added first."""
        page = self._pages.get(key >> PAGE_BITS)
        entry = 0 if page is None else page[key & PAGE_MASK]
        return Modality(entry % 4 - 1) if entry else None

    def add(self, key: int, modality: Modality, content: str = "") -> bool:
        """Add an item. Returns False if it has the same content as the item that was added before
        with this key.
        """
        page = self._pages.get(key >> PAGE_BITS)
        if page is None:
            page = self._pages[key >> PAGE_BITS] = array("Q", bytes(8 << PAGE_BITS))
        known = page[key & PAGE_MASK]
        checksum = _checksum(content) // 4 * 4
        self._count += not known
        page[key & PAGE_MASK] = checksum + (known % 4 or modality + 1)
        return not known or checksum != known // 4 * 4


class Checker:
    """Checks the side files and the pools, then the queries and their qrels."""

    def __init__(self, root: Path | str, images: bool = False):
        """images: also open every image. Raises UserError if the directory has no candidate
        pool.
        """
        self._collection = Collection(root)
        self._main = self._collection.main_pool_files()
        self._candidates = ItemTable()  # of all pools
        self._pools: dict[str, KeySet] = {}  # of the pools that evaluation intersects
        self._queries = dict.fromkeys(layout.SPLITS, 0)
        # by file: the usual ones, and held-out ones if there are any
        self._instructions: dict[Path, Instructions] = {}
        # already reported
        self._uninstructed: set[tuple[Path, tuple[int, Modality, Modality]]] = set()
        self._dataset_ids: dict[str, int] = {}
        # dataset, task and split of evaluation -> a query file
        self._rows: dict[tuple[str, int, str], Path] = {}
        built = (self._collection.root / layout.FILES).is_file()
        # checksums of texts and paths, to compare with folders
        self._held: set[int] | None = set() if built else None
        # checksums of the paths of images
        self._opened: set[int] | None = set() if images else None
        self._unopened: list[tuple[Problem, str]] = []  # images that wait to be opened

    def problems(self) -> Iterator[LineError]:
        """Yield every problem, file by file; none of them is a warning."""
        return (finding for finding in self.findings() if not isinstance(finding, LineWarning))

    def findings(self) -> Iterator[LineError]:
        """Yield every problem and every warning, file by file."""
        yield from self._ignored_files()
        yield from self._side_files()
        # the main pools first
        for name, file in (self._main | self._collection.pool_files()).items():
            yield from self._pool(name, file)
        # query files that may share qrels files
        groups: dict[tuple[str, str], list[Path]] = defaultdict(list)
        for file, dataset, _, split in self._collection.query_files():
            groups[dataset, split].append(file)
        read: set[Path] = set()
        for (dataset, split), files in groups.items():
            qrels = sorted({path for file in files for path in self._collection.qrels_files(file)})
            read.update(qrels)
            yield from self._query_files(dataset, split, files, qrels)
        for file in sorted((self._collection.root / "qrels").glob("*/*.txt")):
            if file not in read:
                message = "belongs to no query file; rename it to match one or remove it"
                yield LineError(
                    file, 0, message if file.is_file() else "is not a file; replace or remove it"
                )
        yield from self._sources()
        yield from self._evaluation_pools()
        yield from self._stages()

    def summary(self) -> str:
        return f"{len(self._candidates):,} candidates, {sum(self._queries.values()):,} queries"

    def _ignored_files(self) -> Iterator[LineError]:
        """Files that the reader ignores because of their names or because they are not files."""
        pools = self._collection.pool_files()
        for folder, pattern in FOLDERS.items():
            place = self._collection.root / folder
            if os.path.lexists(place) and not place.is_dir():
                yield LineError(place, 0, "is not a folder; replace or remove it")
            for file in sorted(place.glob("*")):
                match = pattern.fullmatch(file.name)
                if not match or (pattern is layout.QUERY_FILE and match["split"] != place.name):
                    problem = "the name does not follow M-BEIR's scheme"
                    message = f"{problem}, so the file is ignored; rename it or remove it"
                    yield LineError(file, 0, message)
                elif pattern is layout.POOL_FILE and pools[match["pool"]] != file:
                    message = "a global pool has the same name, so the file is ignored; rename it"
                    yield LineError(file, 0, message)

    def _side_files(self) -> Iterator[LineError]:
        """The instructions, and the files that a collection may have or not."""
        collection = self._collection
        for table in (layout.INSTRUCTIONS, layout.HELD_OUT_INSTRUCTIONS):
            if table == layout.INSTRUCTIONS or os.path.lexists(collection.root / table):
                try:
                    self._instructions[table] = read_instructions(collection.root / table)
                except LineError as error:
                    yield error

    def _pool(self, name: str, file: Path) -> Iterator[LineError]:
        pool = self._pools[name] = KeySet()
        for number, item in _records(file, parse_item):
            if isinstance(item, LineError):
                yield item
                continue
            key = id_key(item.id)
            problem = partial(LineError, file, number)
            if not pool.add(key):
                yield problem(f"the candidate {item.id} is repeated")
            known = self._candidates.get(key)
            if known is None and name not in self._main:
                yield problem(
                    f"the candidate {item.id} is in no global pool, so training leaves it out"
                )
            if known not in (None, item.modality):
                kinds = f"{item.modality.mbeir!r} here, but {known.mbeir!r} in an earlier line"
                yield problem(f"the candidate {item.id} is {kinds}")
            if self._held is not None:
                self._held.update(map(_checksum, filter(None, (item.text, item.image))))
            if self._candidates.add(key, item.modality, f"{item.image}\0{item.text}"):
                if known == item.modality:
                    message = (
                        f"the candidate {item.id} has another text or image than in an earlier line"
                    )
                    yield LineWarning(file, number, message)
                yield from self._image(problem, item.image)
        yield from self._unreadable_images()

    def _query_files(
        self, dataset: str, split: str, files: list[Path], qrels: list[Path]
    ) -> Iterator[LineError]:
        """The query files of one dataset and split, and their qrels."""
        modalities = ItemTable()
        answered = KeySet()
        unanswered = {file: array("q") for file in files}
        for file in files:
            yield from self._queries_of(file, dataset, split, modalities, unanswered[file])
        for file in qrels:
            yield from self._judgments_of(file, split, modalities, answered)
        for file, queries in unanswered.items():
            for number, key in zip(queries[::2], queries[1::2], strict=True):
                if key not in answered:
                    where = "neither here nor in the qrels"
                    missing = f"the query {key_id(key)} has no positive, {where}"
                    yield LineError(file, number, missing)

    def _queries_of(
        self, file: Path, dataset: str, split: str, modalities: ItemTable, unanswered: array
    ) -> Iterator[LineError]:
        """One query file. modalities: gets those of its queries; unanswered: gets line and key of
        each query without positives.
        """
        queries = KeySet()
        for number, query in _records(file, parse_query):
            if isinstance(query, LineError):
                yield query
                continue
            key = id_key(query.id)
            problem = partial(LineError, file, number)
            if not queries.add(key):
                yield problem(f"the query {query.id} is repeated")
            yield from self._row(file, problem, dataset, split, query)
            modalities.add(key, query.modality)
            self._queries[split] += 1
            if not query.positives:
                unanswered.extend((number, key))
            yield from self._image(problem, query.image)
            row = key_dataset(key), query.modality
            for positive in map(id_key, query.positives):
                yield from self._positive(problem, split, row, positive)
            known = self._candidates.get
            unknown = (name for name in query.negatives if known(id_key(name)) is None)
            if name := next(unknown, None):
                yield LineWarning(file, number, f"the negative {name} is in no pool")
        yield from self._unreadable_images()

    def _judgments_of(
        self, file: Path, split: str, modalities: ItemTable, answered: KeySet
    ) -> Iterator[LineError]:
        """One file of qrels; queries with a positive go into answered."""
        judgments = positives = 0
        for number, judgment in _records(file, parse_judgment):
            if isinstance(judgment, LineError):
                yield judgment
                continue
            judgments += 1
            positives += judgment.relevant
            query, candidate = judgment.query, judgment.candidate
            modality = modalities.get(query)
            problem = partial(LineError, file, number)
            if modality is None:
                where = "is in no query file of this dataset and split"
                yield problem(f"the query {key_id(query)} {where}")
            elif judgment.relevant:
                answered.add(query)
                row = key_dataset(query), modality
                yield from self._positive(problem, split, row, candidate)
        if judgments and not positives:
            judged = "judges no candidate relevant; the positives are those of the query lines"
            yield LineWarning(file, 0, judged)

    def _row(
        self, file: Path, problem: Problem, dataset: str, split: str, query: LabeledQuery
    ) -> Iterator[LineError]:
        """A query must belong to the task and the dataset of its file, as the first query does."""
        match = layout.QUERY_FILE.fullmatch(file.name)
        assert match, file
        task = match["task"]
        if task is not None and query.task != int(task):
            yield problem(f"the query's task_id is {query.task}, but the file is of task {task}")
        elif split != "train":
            self._rows.setdefault((dataset, query.task, split), file)
        number = key_dataset(id_key(query.id))
        expected = self._dataset_ids.setdefault(dataset, number)
        if number != expected:
            earlier = f"but earlier queries of {dataset} are of {expected}"
            yield problem(f"the query {query.id} is of dataset {number}, {earlier}")

    def _positive(
        self, problem: Problem, split: str, row: tuple[int, Modality], candidate: int
    ) -> Iterator[LineError]:
        """A positive must be in some pool, and instructions must exist for its modality. row: the
        dataset and the modality of the query.
        """
        modality = self._candidates.get(candidate)
        if modality is None:
            yield problem(f"the candidate {key_id(candidate)} is in no pool")
            return
        key = (*row, modality)
        for table, instructions in self._instructions.items():
            if key in instructions or (table, key) in self._uninstructed:
                continue
            # held-out ones are for evaluation only
            if table == layout.INSTRUCTIONS or split != "train":
                self._uninstructed.add((table, key))
                kinds = f"{row[1].mbeir!r} queries with {modality.mbeir!r} candidates"
                lacks = f"dataset {row[0]} has no instruction for {kinds}"
                yield problem(f"{lacks}; add a line to {table}")

    def _image(self, problem: Problem, image: str | None) -> Iterator[LineError]:
        if image is None:
            return
        try:
            is_file = self._collection.image_path(image).is_file()
        except UserError as error:
            yield problem(str(error))
            return
        except OSError as error:  # such as a name that is too long
            yield problem(f"the image {image[:80]!r} cannot be read ({error.strerror})")
            return
        if not is_file:
            yield problem(f"the image {image!r:.100} is missing")
        elif self._opened is not None and (path := _checksum(image)) not in self._opened:
            self._opened.add(path)
            self._unopened.append((problem, image))
            if len(self._unopened) == MOST_OPENED:
                yield from self._unreadable_images()

    def _unreadable_images(self) -> Iterator[LineError]:
        """Open the images that wait for it, several at a time."""
        waiting, self._unopened = self._unopened, []
        paths = (self._collection.image_path(image) for _, image in waiting)
        with ThreadPoolExecutor() as readers:
            errors = readers.map(_image_error, paths)
            for (problem, image), error in zip(waiting, errors, strict=True):
                if error is not None:
                    yield problem(f"the image {image!r:.100} cannot be used: {error}")

    def _sources(self) -> Iterator[LineWarning]:
        """What was read from folders, but is in no pool: nobody can find it."""
        table = self._collection.root / layout.FILES
        lost = {"pictures": 0, "texts": 0}
        held = self._held or set()
        for dataset, report in read_reports(table):
            if report.outcome == TEXT:
                lost["texts"] += _checksum(report.detail) not in held
            elif report.outcome == USED and report.detail != TEXTS:
                names = (report.file, report.file.removeprefix("images/"))
                paths = (_checksum(f"images/{dataset}/{name}") for name in names)
                lost["pictures"] += held.isdisjoint(paths)
        for kind, count in lost.items():
            if count:
                message = f"{count:,} {kind} that were read are in no pool; build it again"
                yield LineWarning(table, 0, message)

    def _evaluation_pools(self) -> Iterator[LineError]:
        """Evaluation searches the global pool of the split, the local pool of the row, and what
        both share.
        """
        for (dataset, task, split), file in self._rows.items():
            union = f"union_{split}"
            local = next(
                (name for name in local_pool_names(dataset, task) if name in self._pools), None
            )
            if union not in self._pools:
                missing = f"the pool {layout.global_pool_file(split)}"
            elif local is None:
                missing = f"the pool {layout.local_pool_file(dataset, task)}"
            elif self._pools[local].isdisjoint(self._pools[union]):
                missing = f"a candidate that is in both pools, {local} and {union}"
            else:
                continue
            needs = f"evaluation of the queries of task {task} needs {missing}"
            yield LineError(file, 0, f"{needs}; add it")

    def _stages(self) -> Iterator[LineWarning]:
        """Stages that the collection is too small for."""
        folder = self._collection.root / "query"
        for split in ("train", "val"):
            if (queries := self._queries[split]) < layout.MIN_QUERIES:
                message = f"has {queries} queries; training needs at least {layout.MIN_QUERIES}"
                yield LineWarning(folder / split, 0, message)
        if not self._queries["test"]:
            yield LineWarning(
                folder / "test", 0, "has no queries; evaluation needs some, or --split val"
            )


def _records(
    file: Path, parse: Callable[[Path, int, Any], T]
) -> Iterator[tuple[int, T | LineError]]:
    """Yield (line number, the parsed record or its error) for each line of a file."""
    try:
        empty = True
        for number, text in text_lines(file):
            if empty and _has_byte_order_mark(file):
                message = "the file starts with a byte order mark; save it as UTF-8 without one"
                yield 1, LineError(file, 1, message)
            empty = False
            try:
                yield number, parse(file, number, text)
            except LineError as error:
                yield number, error
        if empty:
            yield 0, LineError(file, 0, "the file is empty; remove it or fill it")
    except LineError as error:  # an encoding error: the rest of the file is unreadable
        yield error.line, error


def _has_byte_order_mark(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK


def _image_error(path: Path) -> UserError | None:
    try:
        check_image(path)
    except UserError as error:
        return error
    return None


def _checksum(text: str) -> int:
    """64 bits, as of an array's element."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
