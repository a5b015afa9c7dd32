"""Add items to an index and remove items from it, without training: encode, quantize, insert; or delete.

Each change writes a new version of the index to a folder of its own, which then replaces the version before in one
step (`Run.replace`). Rows stay as they are; added items get the last ones, and the rows after a removed item move up.

Axes: n items of the index, c items of the source, m of these that are new, d embedding dim, M levels.
"""

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import Self

import numpy as np
from PIL import Image

from genius.collections.images import open_image, thumbnail
from genius.encoding.features import EncoderInput, FeatureFiles, batched
from genius.encoding.image_loader import enough_pixels
from genius.encoding.quantize import quantize_all, squared_distances
from genius.errors import UserError
from genius.files import disk_errors_explained, remove_folder
from genius.index.compaction import first_to_merge, merge_segments
from genius.index.duplicates import find_duplicates
from genius.index.item_source import ItemSource
from genius.index.layout import CONFIG, DISTANCES, ERRORS, ROWS, segment_folder, write_config
from genius.index.segments import FILES, LOOKUP, ConcatenatedArray, Vectors
from genius.index.store import PART, Index
from genius.index.writing import MAX_EXAMPLES, THUMBNAIL_QUALITY, write_rows, write_segment
from genius.locks import write_lock
from genius.models.absent import expect_present
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.runtime import usable_device
from genius.schema import Item, Modality
from genius.trie.ids import IDTable, pack

BATCH = 64  # items encoded together
FEATURE_FOLDER = "adding"  # folder in the run: of the items that are being added
SAME_LEVELS = 3.0  # mean difference, of 255, of thumbnails of one picture that versions of Pillow may make
ROW_FILES = (CONFIG, "ids.npy", "modalities.npy", DISTANCES, ERRORS, ROWS)  # a new version has its own
SEGMENT = re.compile(r"segment-(\d+)/.+")
KIND = np.dtype([("modality", np.uint8), ("pictured", np.bool_), ("content", np.uint64)])  # of an item: see _content
MERGE_AT = 8  # segments; with so many, adding merges small ones


@dataclass(frozen=True)
class Models:
    """The models that compute an item's embedding and its ID."""

    encoder: Encoder
    fusion: Fusion
    quantizer: ResidualQuantizer
    batch: int = BATCH  # items encoded together
    run: Run | None = None  # as it was read when they were loaded

    @classmethod
    def load(cls, path: Path, device: str | None = None) -> Self:
        """Raises UserError if a part is missing or damaged."""
        run, chosen = Run(path), usable_device(device)
        folder = run.folder
        expect_present(folder("encoder"))
        expect_present(folder("quantizer"))
        return cls(
            Encoder.load(folder("encoder")).for_inference().to(chosen),
            Fusion.load(folder("fusion")).to(chosen),
            ResidualQuantizer.load(folder("quantizer")).to(chosen),
            run=run,
        )

    def check(self, run: Run) -> None:
        """Raises UserError if the run was trained again since these models were loaded, or lacks one of them."""
        expect_present(run.folder("encoder"))
        expect_present(run.folder("quantizer"))
        loaded = self.run or run
        if any(loaded.digest(part) != run.digest(part) for part in ("encoder", "fusion", "quantizer")):
            raise UserError(
                f"{run.path} was trained again since its models were loaded; start again to load the new ones"
            )


@dataclass(frozen=True)
class Added:
    """What happened to the items of a source."""

    new: int  # added
    skipped: int  # their ids are in the index already
    duplicate: int  # the index holds the same under another id
    unreadable: int  # their images cannot be read
    changed: tuple[str, ...]  # the skipped ids whose texts or pictures differ from the indexed ones
    complaints: tuple[str, ...]  # sentences about some unreadable images
    copies: tuple[str, ...] = ()  # names of the images, or texts, of some duplicates

    @property
    def items(self) -> int:
        """Number of the source's items."""
        return self.new + self.skipped + self.duplicate + self.unreadable

    def __add__(self, more: "Added") -> "Added":
        both = zip(vars(self).values(), vars(more).values(), strict=True)
        total = Added(*(mine + theirs for mine, theirs in both))
        return replace(total, complaints=total.complaints[:MAX_EXAMPLES], copies=total.copies[:MAX_EXAMPLES])

    def __str__(self) -> str:
        return (
            f"new {self.new:,}, skipped {self.skipped:,}, duplicate {self.duplicate:,}, unreadable {self.unreadable:,}"
        )


@dataclass(frozen=True)
class Removed:
    """What happened to the ids."""

    removed: int
    unknown: tuple[str, ...]


def add(run: Path, read: Callable[[int], ItemSource], models: Models) -> Added:
    """Add the items that the index does not hold yet. If it is killed, the next call resumes the encoding.

    read: returns the source of items, given a dataset number that no id of the index has.
    Raises UserError if the run cannot be changed, or the source cannot be read.
    """
    with write_lock(run), disk_errors_explained(run):
        opened = Run(run)
        models.check(opened)
        index = Index.load(opened.folder(PART))
        sources = opened.manifest.get("sources", ())  # datasets of the run, which may not be indexed yet
        source = read(max(index.records.last_dataset() + 1, len(sources)))
        new = _find_new_items(index, source)
        complaints: list[str] = []
        if not len(new.kinds):
            remove_folder(run / FEATURE_FOLDER)  # of a process that was killed after adding these items
            return Added(0, new.skipped, 0, 0, new.changed, ())
        models.encoder.check()
        files = _encode(opened, source, new, models, complaints)
        fused = files.fused(opened.digest("fusion"))[:, 0]
        codes = quantize_all(fused, new.kinds["modality"], models.quantizer)
        readable, embedding = files.arrays["masks"][:, 0] | ~new.kinds["pictured"], files.arrays["embedding"]
        copies = np.zeros(len(codes), dtype=bool)
        copies[readable] = _find_copies(
            index,
            codes[readable],
            ConcatenatedArray([embedding], np.flatnonzero(readable)),
            new.kinds["content"][readable],
        )
        kept = np.flatnonzero(readable & ~copies)
        if len(kept):
            distances = squared_distances(fused, codes, models.quantizer)
            append(
                opened,
                index,
                compress(new.items(source), readable & ~copies),
                codes[kept],
                distances[kept],
                ConcatenatedArray([embedding], kept),
                source.image_path,
            )
        remove_folder(files.folder)
        copied = islice(compress(new.items(source), copies), MAX_EXAMPLES)
        return Added(
            len(kept),
            new.skipped,
            int(copies.sum()),
            int((~readable).sum()),
            new.changed,
            tuple(complaints[:MAX_EXAMPLES]),
            tuple(Path(item.image).name if item.image else item.text for item in copied),
        )


def remove(run: Path, ids: Iterable[str]) -> Removed:
    """Remove the items with these ids. Raises UserError if none would be left, or the run cannot be changed."""
    with write_lock(run), disk_errors_explained(run):
        opened, asked = Run(run), list(dict.fromkeys(ids))
        index = Index.load(opened.folder(PART))
        rows = index.rows_of(asked)
        unknown = tuple(compress(asked, rows < 0))
        gone = np.zeros(index.n, dtype=bool)
        gone[rows[rows >= 0]] = True
        if gone.all():
            raise UserError("no item would be left; an index needs at least one")
        if gone.any():
            _publish_without(opened, index, gone)
        return Removed(int(gone.sum()), unknown)


def compact(run: Path) -> bool:
    """Merge all segments into one, without removed items; False if there is nothing to do.

    Rows stay as they are. Raises UserError if the run cannot be changed.
    """
    with write_lock(run), disk_errors_explained(run):
        opened = Run(run)
        index = Index.load(opened.folder(PART))
        if index.config.segments == (index.n,):
            return False
        _publish_merged(opened, index, 0)
        return True


def append(
    run: Run,
    index: Index,
    items: Iterable[Item],
    codes: np.ndarray,
    distances: np.ndarray,
    embeddings: Vectors,
    image_path: Callable[[str], Path],
    trained: bool = False,
) -> None:
    """Publish a version with one more segment; the caller holds the run's write lock.

    codes (m, M), distances (m, 2), embeddings (m, d): of the new items. trained: they are of the collection that the
    run was made from, as all before them.
    """
    config, end = index.config, sum(index.config.segments)

    def write(folder: Path) -> None:
        segment = segment_folder(folder, len(config.segments))
        segment.mkdir()
        added, _ = write_segment(segment, items, embeddings, image_path, run.settings.index.thumbnail_side)
        known = np.full((index.n, 2), np.nan, np.float32) if index.distances is None else index.distances
        kept = index.places.kept
        if kept is not None:
            kept = np.concatenate([kept, np.arange(end, end + len(codes))])
        n = index.n + len(codes)
        write_rows(
            folder,
            replace(config, n=n, segments=(*config.segments, len(codes)), trained=n if trained else config.trained),
            np.concatenate([index.packed, pack(codes, config.code_sizes)]),
            np.concatenate([index.modalities, added]),
            np.concatenate([known, distances]),
            kept,
        )

    _publish_rows(run, write)
    if len(config.segments) >= MERGE_AT:  # to keep their number, and so that of open files, small
        try:
            grown = Index.load(run.folder(PART))
            _publish_merged(run, grown, first_to_merge(grown.config.segments))
        except UserError as error:  # the added items stay
            logging.getLogger(__name__).warning("the segments were not merged: %s", error)


def _publish_rows(run: Run, write: Callable[[Path], None]) -> None:
    """Publish a version with other files about rows, and maybe one more segment."""
    run.replace(PART, write, [name for name in _files(run) if name not in ROW_FILES])


def _publish_without(run: Run, index: Index, gone: np.ndarray) -> None:
    """gone (n,) bool: the rows to remove."""
    config, kept = index.config, np.flatnonzero(~gone)
    positions = kept if index.places.kept is None else index.places.kept[kept]

    def write(folder: Path) -> None:
        write_rows(
            folder,
            replace(config, n=len(kept), trained=int((kept < config.trained).sum())),
            index.packed[kept],
            index.modalities[kept],
            None if index.distances is None else index.distances[kept],
            positions,
        )

    _publish_rows(run, write)


def _publish_merged(run: Run, index: Index, first: int) -> None:
    """Merge the segments from number `first` on, without their removed items."""
    config, places, row = index.config, index.places, index.places.first_row(first)
    segments = (*config.segments[:first], index.n - row)
    before = np.arange(row) if places.kept is None else places.kept[:row]
    kept = np.concatenate([before, places.starts[first] + np.arange(index.n - row)])

    def write(folder: Path) -> None:
        segment = segment_folder(folder, first)
        segment.mkdir(exist_ok=True)
        merge_segments(segment, index, first)
        write_config(folder / CONFIG, replace(config, segments=segments))
        if sum(segments) > index.n:
            np.save(folder / ROWS, kept.astype(np.int32))

    def stays(name: str) -> bool:
        match = SEGMENT.fullmatch(name)
        number = int(match[1]) if match else 0 if name in FILES else -1
        return number < first and name not in (CONFIG, ROWS)

    run.replace(PART, write, filter(stays, _files(run)))


def _files(run: Run) -> list[str]:
    return list(run.manifest["parts"][PART]["files"])


@dataclass(frozen=True)
class NewItems:
    """The items of a source whose ids the index does not hold."""

    fresh: Sequence[bool]  # (c,) which of the items these are
    kinds: np.ndarray  # (m,) of KIND
    skipped: int
    changed: tuple[str, ...]  # skipped ids whose text or picture differs from the indexed one
    digest: str  # of the new items

    def items(self, source: ItemSource) -> Iterator[Item]:
        """Read them from the source again."""
        return compress(source.items(), self.fresh)


def _find_new_items(index: Index, source: ItemSource) -> NewItems:
    fresh: list[bool] = []
    kinds: list[tuple[Modality, bool, int]] = []
    changed: list[str] = []
    digest = hashlib.sha256()
    for chunk in batched(source.items(), LOOKUP):
        rows = index.rows_of(item.id for item in chunk)
        fresh += (rows < 0).tolist()
        indexed = index.items(rows[rows >= 0])
        known = list(zip(compress(chunk, rows >= 0), rows[rows >= 0].tolist(), indexed, strict=True))
        with ThreadPoolExecutor() as readers:
            same = readers.map(lambda entry: _is_same(index, source, *entry), known)
            changed += [entry[0].id for entry, is_same in zip(known, same, strict=True) if not is_same]
        for item in compress(chunk, rows < 0):
            kinds.append((item.modality, item.image is not None, _content(item)))
            digest.update(f"{item.id} {_image_state(source, item.image)} {_content(item)}\n".encode())
    skipped = len(fresh) - len(kinds)
    return NewItems(fresh, np.array(kinds, dtype=KIND), skipped, tuple(changed), digest.hexdigest())


def _is_same(index: Index, source: ItemSource, item: Item, row: int, indexed: Item) -> bool:
    """Whether an item has the text and the picture of the indexed one, as its thumbnail shows it."""
    if _content(item) != _content(indexed):
        return False
    known = index.thumbnail(row) if item.image is not None else None
    if known is None:
        return True
    try:
        shown = open_image(known)
        now = thumbnail(source.image_path(item.image or ""), max(shown.size), THUMBNAIL_QUALITY)
    except UserError:  # a picture that cannot be read replaces none
        return True
    if now == known:
        return True
    new = open_image(now)
    if new.size != shown.size:
        return False
    return float(np.abs(np.asarray(new, np.float32) - np.asarray(shown, np.float32)).mean()) <= SAME_LEVELS


def _image_state(source: ItemSource, image: str | None) -> str:
    """The name, size and time of change of an image file: another picture of the same name is another item."""
    if image is None:
        return ""
    try:
        state = source.image_path(image).stat()
    except (UserError, OSError):  # unreadable: said when the image is opened
        return image
    return f"{image} {state.st_size} {state.st_mtime_ns}"


def _content(item: Item) -> int:
    """Equal for equal modality and text."""
    return int.from_bytes(hashlib.blake2b(f"{item.modality:d} {item.text}".encode(), digest_size=8).digest())


def _encode(run: Run, source: ItemSource, new: NewItems, models: Models, complaints: list[str]) -> FeatureFiles:
    """Features of the m new items, also fused; kept in the run until they are added.

    complaints: gets a sentence for each unreadable image.
    """
    files = FeatureFiles.create(
        run.path / FEATURE_FOLDER, len(new.kinds), 1, models.encoder.dim, f"{run.digest('encoder')} {new.digest}"
    )
    files.fill(
        models.encoder,
        (EncoderInput(item.image, [item.text]) for item in new.items(source)),
        partial(_open_image, source, complaints, enough_pixels(models.encoder.config.preprocess)),
        models.batch,
        "encode",
    )
    files.fuse(models.fusion, run.digest("fusion"))
    return files


def _open_image(source: ItemSource, complaints: list[str], max_side: int, path: str) -> Image.Image | None:
    """None for an image that cannot be read, after noting it in `complaints`."""
    try:
        return open_image(source.image_path(path), max_side=max_side)
    except UserError as error:
        complaints.append(str(error))
        return None


def _find_copies(index: Index, codes: np.ndarray, embeddings: ConcatenatedArray, contents: np.ndarray) -> np.ndarray:
    """(m,) bool: whether the index or an earlier new item is the same; codes (m, M), embeddings (m, d)."""
    table = IDTable.from_packed(np.concatenate([index.packed, pack(codes, index.code_sizes)]), index.code_sizes)

    def content(rows: np.ndarray) -> np.ndarray:
        indexed, hashes = rows < index.n, np.empty(len(rows), dtype=np.uint64)
        hashes[~indexed] = contents[rows[~indexed] - index.n]
        hashes[indexed] = [_content(item) for item in index.items(rows[indexed])]
        return hashes

    return find_duplicates(table, index.n, ConcatenatedArray([index.embeddings, embeddings]).__getitem__, content)
