"""Folders that are read, or built into a collection and read back."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from genius.collections.building import build
from genius.collections.checker import Checker
from genius.collections.layout import SPLITS
from genius.collections.mbeir import Collection
from genius.collections.sources import Source, read_source
from tests.collections.samples import json_lines, photos, write_source, written


def read(
    folder: Path, pictures: Iterable[str], files: Mapping[str, str | bytes] | None = None
) -> Source:
    """The source of a new folder of these pictures, which differ, and other files."""
    return read_source(written(photos(folder, *pictures), files or {}))


def captions_of(source: Source) -> dict[str, list[str]]:
    return {record.image: record.captions for record in source.records}


class Built:
    """A built collection, read back into plain sets."""

    def __init__(self, root: Path):
        self.collection = Collection(root)
        self.items = {item.id: item for item in self.collection.all_candidates()}
        self.pools = {
            split: {item.id for item in self.collection.candidates(f"union_{split}")}
            for split in SPLITS
            if f"union_{split}" in self.collection.pools()
        }
        self.tasks = [row.task for row in self.collection.rows()]

    def asked(self, task: int, split: str) -> dict:
        """(text, image) of each query -> what answers it, as (text, image)."""
        return {
            (query.text, self._name(query.image)): {
                (self.items[did].text, self._name(self.items[did].image)) for did in query.positives
            }
            for query in self.collection.queries(split)
            if query.task == task
        }

    @staticmethod
    def _name(image: str | None) -> str | None:
        return image and image.rpartition("/")[2]


def built(
    tmp_path: Path,
    records: Iterable[dict],
    pairs: Iterable[dict] = (),
    shades: dict[str, int] | None = None,
) -> Built:
    """Write a source of these records, build it by the rules of M-BEIR, check it."""
    source = write_source(tmp_path / "zoo", records, shades)
    if pairs:
        written(source, {"cir_pairs.jsonl": json_lines(pairs)})
    build([str(source)], tmp_path / "built", benchmark=True)
    assert list(Checker(tmp_path / "built").problems()) == []
    return Built(tmp_path / "built")
