"""Write a directory in M-BEIR format: records are streamed, the directory appears in one step."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Self

from genius.collections import layout
from genius.collections.records import COLUMNS
from genius.errors import UserError
from genius.files import fsync, written_aside
from genius.schema import Item, LabeledQuery, Modality


@contextmanager
def new_collection(destination: Path | str) -> Iterator["CollectionWriter"]:
    """A writer for a directory that is created, complete, when the block succeeds.

    Files are written to a temporary directory next to the destination, which is renamed at the end:
    after a failure or a kill the destination is unchanged. Raises UserError if the destination is
    not empty or cannot be written.
    """
    destination = Path(os.path.abspath(destination))  # "." has no name to write next to
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        message = f"{destination} exists and is not empty; give a new directory or remove it first"
        raise UserError(message)
    try:
        with written_aside(destination, folder=True) as aside:
            with CollectionWriter(aside) as writer:
                yield writer
            for file in aside.rglob("*"):
                if file.is_file():
                    fsync(file)
            aside.rename(destination)
    except OSError as error:
        raise UserError(f"{destination} cannot be written ({error.strerror or error})") from None


@contextmanager
def further_queries(root: Path) -> Iterator["CollectionWriter"]:
    """A writer whose queries are added to a collection when the block succeeds; its other files do
    not change.

    Each file is written to a temporary directory and renamed; after a kill between two files it can
    be repeated. Raises UserError if the collection has a file of the same name with different
    content.
    """
    with written_aside(root / "query", folder=True) as aside:
        with CollectionWriter(aside) as writer:
            yield writer
        files = [
            file.relative_to(aside)
            # qrels first: no query file without its judgments
            for pattern in ("qrels/*/*", "query/*/*")
            for file in sorted(aside.glob(pattern))
        ]
        for file in files:
            if (root / file).exists() and (root / file).read_bytes() != (aside / file).read_bytes():
                raise UserError(
                    f"{root / file} exists and contains other queries; remove it or build "
                    "a new collection"
                )
        for file in files:
            fsync(aside / file)
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (aside / file).rename(root / file)


class CollectionWriter:
    """Appends candidates, queries and instructions to the files of one directory; keeps no records
    in memory.
    """

    def __init__(self, root: Path):
        self.root = root
        self._open = ExitStack()
        self._files: dict[Path, IO[str]] = {}

    def __enter__(self) -> Self:
        self._file(layout.INSTRUCTIONS).write("\t".join(COLUMNS) + "\n")
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        self._open.close()

    def image(self, relative: str, data: bytes) -> None:
        """Write the encoded bytes of an image to a path relative to the root."""
        assert not layout.leaves_folder(relative), relative
        file = self.root / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def drop_image(self, relative: str) -> None:
        """Delete an image that was written."""
        (self.root / relative).unlink()

    def files(self, rows: Iterable[tuple[str, ...]]) -> None:
        """Add lines to the table of the sources' files: dataset, file, what became of it, and a
        detail.
        """
        for row in rows:
            cells = (json.dumps(cell, ensure_ascii=True)[1:-1].replace('\\"', '"') for cell in row)
            self._file(layout.FILES).write("\t".join(cells) + "\n")

    def candidate(
        self, item: Item, dataset: str, tasks: Iterable[int | None], splits: Iterable[str]
    ) -> None:
        """Add an item to the local pools of these tasks and to the global pools of these splits.

        A task of None means the pool of a dataset without queries.
        """
        line = candidate_line(item)
        for task in tasks:
            self._file(layout.local_pool_file(dataset, task)).write(line)
        for split in splits:
            self._file(layout.global_pool_file(split)).write(line)

    def query(self, query: LabeledQuery, dataset: str, split: str) -> None:
        """Add a query to the query file of its row, and its positives to the qrels."""
        self._file(layout.query_file(dataset, query.task, split)).write(
            _json(
                {
                    "qid": query.id,
                    "query_txt": query.text or None,
                    "query_img_path": query.image,
                    "query_modality": query.modality.mbeir,
                    "query_src_content": query.source or None,
                    "task_id": query.task,
                    "pos_cand_list": list(query.positives),
                    "neg_cand_list": list(query.negatives),
                }
            )
        )
        self._file(layout.qrels_file(dataset, query.task, split)).writelines(
            f"{query.id} 0 {did} 1 {query.task}\n" for did in query.positives
        )

    def instructions(
        self,
        dataset_id: int,
        dataset: str,
        query: Modality,
        candidate: Modality,
        prompts: Sequence[str],
        held_out: bool = False,
    ) -> None:
        """Add instructions for a dataset and a pair of modalities. held_out: for evaluation
        only.
        """
        assert not any("\t" in text or "\n" in text for text in prompts)
        self._file(layout.HELD_OUT_INSTRUCTIONS if held_out else layout.INSTRUCTIONS).write(
            "\t".join((query.mbeir, candidate.mbeir, dataset, str(dataset_id), *prompts)) + "\n"
        )

    def _file(self, relative: Path) -> IO[str]:
        if relative not in self._files:
            file = self.root / relative
            file.parent.mkdir(parents=True, exist_ok=True)
            self._files[relative] = self._open.enter_context(
                file.open("x", encoding="utf-8", newline="\n")
            )
        return self._files[relative]


def candidate_line(item: Item) -> str:
    """The line of an item in a pool file."""
    return _json(
        {
            "did": item.id,
            "txt": item.text or None,
            "img_path": item.image,
            "modality": item.modality.mbeir,
            "src_content": item.source or None,
        }
    )


def _json(record: dict[str, object]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
