"""Check a directory in M-BEIR format and report every problem with its file and line.

Files are streamed; only bitmaps of ids are in memory, a few megabytes for 5.6 million candidates.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from genius.collections import layout
from genius.collections.instructions import Instructions
from genius.collections.keys import KeySet, id_key, key_dataset, key_id
from genius.collections.lines import BYTE_ORDER_MARK, LineError, text_lines
from genius.collections.mbeir import Collection
from genius.collections.records import parse_item, parse_judgment, parse_query
from genius.errors import UserError
from genius.schema import Modality

T = TypeVar("T")


class ModalityTable:
    """id key -> modality, stored as one bitmap per modality."""

    def __init__(self) -> None:
        self._keys = {modality: KeySet() for modality in Modality}

    def __len__(self) -> int:
        return sum(map(len, self._keys.values()))

    def __setitem__(self, key: int, modality: Modality) -> None:
        self._keys[modality].add(key)

    def get(self, key: int) -> Modality | None:
        return next((modality for modality, keys in self._keys.items() if key in keys), None)


class Checker:
    """Checks the pools, then the queries and their qrels."""

    def __init__(self, root: Path | str):
        """Raises UserError if the directory has no candidate pool."""
        self._collection = Collection(root)
        self._candidates = ModalityTable()  # of all pools
        self._queries = 0
        self._instructions: Instructions | None = None  # None: unreadable, reported once
        self._uninstructed: set[tuple[int, Modality, Modality]] = set()  # already reported

    def problems(self) -> Iterator[LineError]:
        """Yield every problem, file by file."""
        yield from self._ignored_files()
        try:
            self._instructions = self._collection.instructions()
        except LineError as error:
            yield error
        for file in self._collection.pool_files().values():
            yield from self._pool(file)
        groups: dict[tuple[str, str], list[Path]] = defaultdict(list)  # query files that may share qrels files
        for file, dataset, _, split in self._collection.query_files():
            groups[dataset, split].append(file)
        read: set[Path] = set()
        for files in groups.values():
            qrels = sorted({path for file in files for path in self._collection.qrels_files(file)})
            read.update(qrels)
            yield from self._query_files(files, qrels)
        for file in sorted((self._collection.root / "qrels").glob("*/*.txt")):
            if file not in read:
                yield LineError(file, 0, "belongs to no query file; rename it to match one or remove it")

    def summary(self) -> str:
        return f"{len(self._candidates):,} candidates, {self._queries:,} queries"

    def _ignored_files(self) -> Iterator[LineError]:
        """Files that the reader ignores because of their names."""
        folders = {
            "cand_pool/global": layout.POOL_FILE,
            "cand_pool/local": layout.POOL_FILE,
            **{f"query/{split}": layout.QUERY_FILE for split in layout.SPLITS},
        }
        for folder, pattern in folders.items():
            for file in sorted((self._collection.root / folder).glob("*")):
                if not pattern.fullmatch(file.name):
                    message = "the name does not follow M-BEIR's scheme, so the file is ignored; rename it or remove it"
                    yield LineError(file, 0, message)

    def _pool(self, file: Path) -> Iterator[LineError]:
        own = KeySet()
        for number, item in _records(file, parse_item):
            if isinstance(item, LineError):
                yield item
                continue
            key = id_key(item.id)
            if not own.add(key):
                yield LineError(file, number, f"the candidate {item.id} is repeated")
            known = self._candidates.get(key)
            if known is None:
                self._candidates[key] = item.modality
                yield from self._image(file, number, item.image)
            elif known != item.modality:
                yield LineError(
                    file,
                    number,
                    f"the candidate {item.id} is {item.modality.mbeir!r} here, but {known.mbeir!r} in an earlier line",
                )

    def _query_files(self, files: list[Path], qrels: list[Path]) -> Iterator[LineError]:
        """The query files of one dataset and split, and their qrels."""
        modalities, answered = ModalityTable(), KeySet()
        unanswered: list[tuple[Path, array, array]] = []  # lines and keys of queries without positives
        for file in files:
            own, lines, keys = KeySet(), array("q"), array("q")
            unanswered.append((file, lines, keys))
            for number, query in _records(file, parse_query):
                if isinstance(query, LineError):
                    yield query
                    continue
                key = id_key(query.id)
                if not own.add(key):
                    yield LineError(file, number, f"the query {query.id} is repeated")
                modalities[key] = query.modality
                self._queries += 1
                if not query.positives:
                    lines.append(number)
                    keys.append(key)
                yield from self._image(file, number, query.image)
                for candidate in query.positives:
                    yield from self._positive(file, number, key, query.modality, id_key(candidate))
        for file in qrels:
            for number, judgment in _records(file, parse_judgment):
                if isinstance(judgment, LineError):
                    yield judgment
                    continue
                modality = modalities.get(judgment.query)
                if modality is None:
                    yield LineError(
                        file,
                        number,
                        f"the query {key_id(judgment.query)} is in no query file of this dataset and split",
                    )
                elif judgment.relevant:
                    answered.add(judgment.query)
                    yield from self._positive(file, number, judgment.query, modality, judgment.candidate)
        for file, lines, keys in unanswered:
            for number, key in zip(lines, keys, strict=True):
                if key not in answered:
                    yield LineError(
                        file, number, f"the query {key_id(key)} has no positive, neither here nor in the qrels"
                    )

    def _positive(
        self, file: Path, number: int, query: int, query_modality: Modality, candidate: int
    ) -> Iterator[LineError]:
        """A positive must be in some pool, and an instruction must exist for its modality."""
        modality = self._candidates.get(candidate)
        if modality is None:
            yield LineError(file, number, f"the candidate {key_id(candidate)} is in no pool")
            return
        used = (key_dataset(query), query_modality, modality)
        if self._instructions is None or used in self._instructions or used in self._uninstructed:
            return
        self._uninstructed.add(used)
        yield LineError(
            file,
            number,
            f"dataset {used[0]} has no instruction for {query_modality.mbeir!r} queries with "
            f"{modality.mbeir!r} candidates; add a line to {layout.INSTRUCTIONS}",
        )

    def _image(self, file: Path, number: int, image: str | None) -> Iterator[LineError]:
        if image is not None:
            try:
                if not self._collection.image_path(image).is_file():
                    yield LineError(file, number, f"the image {image!r} is missing")
            except UserError as error:
                yield LineError(file, number, str(error))
            except OSError as error:  # such as a name that is too long
                yield LineError(file, number, f"the image {image[:80]!r} cannot be read ({error.strerror})")


def _records(file: Path, parse: Callable[[Path, int, Any], T]) -> Iterator[tuple[int, T | LineError]]:
    """Yield (line number, the parsed record or its error) for each line of a file."""
    try:
        empty = True
        for number, text in text_lines(file):
            if empty and _has_byte_order_mark(file):
                yield 1, LineError(file, 1, "the file starts with a byte order mark; save it as UTF-8 without one")
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
