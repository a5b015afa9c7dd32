"""Add items to an index and remove items from it, without training: encode, quantize, insert; or
delete.

Each change writes a new version of the index to a folder of its own, which then replaces the
version before in one step (`Run.replace`). Rows stay as they are; added items get the last ones,
and the rows after a removed item move up. The segments that held a removed item are written anew
without it.

Shapes: n items of the index, c items of the source, m of these that are new, d embedding dim, M
levels.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from PIL import Image

from genius.collections.images import open_image, thumbnail
from genius.encoding.features import EncoderInput, FeatureFiles, batched
from genius.encoding.image_loader import enough_pixels
from genius.encoding.quantize import quantize_all, squared_distances
from genius.errors import UserError
from genius.files import disk_errors_explained, remove_folder
from genius.index.compaction import EMPTY, first_to_merge, merge_segments
from genius.index.duplicates import find_duplicates
from genius.index.erasing import erase, erase_mentions
from genius.index.item_source import ItemSource
from genius.index.layout import INSTRUCTIONS, MAX_SEGMENTS, segment_folder
from genius.index.segments import FILES, FUSED, LOOKUP, ConcatenatedArray, Vectors
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
# mean difference, of 255, of thumbnails of one picture that versions of Pillow may make
SAME_LEVELS = 3.0
# of a new item; content: see content_hash; row: of the indexed item that it replaces, or −1
KIND = np.dtype(
    [("modality", np.uint8), ("pictured", np.bool_), ("content", np.uint64), ("row", np.int64)]
)
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
        run = Run(path)
        chosen = usable_device(device)
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
        """Raises UserError if the run was trained again since these models were loaded, or lacks
        one of them.
        """
        expect_present(run.folder("encoder"))
        expect_present(run.folder("quantizer"))
        loaded = self.run or run
        if any(
            loaded.digest(part) != run.digest(part) for part in ("encoder", "fusion", "quantizer")
        ):
            raise UserError(
                f"{run.path} was trained again since its models were loaded; start again "
                "to load the new ones"
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
    # of some duplicates, the name of the image or text, and of whose copy
    copies: tuple[tuple[str, str], ...] = ()
    replaced: tuple[str, ...] = ()  # ids whose items gave way to others of the source

    @property
    def items(self) -> int:
        """Number of the source's items."""
        return self.new + self.skipped + self.duplicate + self.unreadable

    def __add__(self, more: "Added") -> "Added":
        both = zip(vars(self).values(), vars(more).values(), strict=True)
        total = Added(*(mine + theirs for mine, theirs in both))
        return replace(
            total, complaints=total.complaints[:MAX_EXAMPLES], copies=total.copies[:MAX_EXAMPLES]
        )

    def __str__(self) -> str:
        return (
            f"new {self.new:,}, skipped {self.skipped:,}, duplicate {self.duplicate:,}, "
            f"unreadable {self.unreadable:,}"
        )


@dataclass(frozen=True)
class Removed:
    """What happened to the ids."""

    removed: int
    unknown: tuple[str, ...]


def add(
    run: Path, read: Callable[[int], ItemSource], models: Models, replaces: bool = False
) -> Added:
    """Add the items that the index does not hold yet. If it is killed, the next call resumes the
    encoding.

    read: returns the source of items, given a dataset number that no id of the index has. replaces:
    items whose ids are known, but not their texts or pictures, take the place of the indexed ones,
    in the same step. Raises UserError if the run cannot be changed, or the source cannot be read.
    """
    with changing_index(run, models) as (opened, index):
        source = read(next_dataset(opened, index))
        new = find_new_items(index, source, replaces)
        complaints: list[str] = []
        if not len(new.kinds):
            # of a process that was killed after adding these items
            remove_folder(run / FEATURE_FOLDER)
            return Added(0, new.skipped, 0, 0, new.changed, ())
        models.encoder.check()
        files = encode(opened, source, new, models, complaints, run / FEATURE_FOLDER)
        fused = files.fused(opened.digest("fusion"))[:, 0]
        codes = quantize_all(fused, new.kinds["modality"], models.quantizer)
        readable = files.arrays["masks"][:, 0] | ~new.kinds["pictured"]
        embedding = files.arrays["embedding"]
        stays = np.ones(index.n, dtype=bool)
        stays[new.kinds["row"][readable & (new.kinds["row"] >= 0)]] = False
        # (m,) the row of the index, then of the new items, of which each is a copy
        copied = np.full(len(codes), -1)
        copied[readable] = find_copies(
            index,
            np.flatnonzero(stays),
            codes[readable],
            ConcatenatedArray([embedding], np.flatnonzero(readable)),
            new.kinds["content"][readable],
        )
        copies = copied >= 0
        examples = copy_examples(
            index, np.flatnonzero(stays), new.items(source), copied, np.flatnonzero(readable)
        )
        kept = np.flatnonzero(readable & ~copies)
        replaced = [item.id for item in index.items(np.flatnonzero(~stays))]
        if len(kept):
            distances = squared_distances(fused, codes, models.quantizer)
            append(
                opened,
                index,
                compress(new.items(source), readable & ~copies),
                codes[kept],
                distances[kept],
                ConcatenatedArray([embedding], kept),
                fused[kept],
                source.image_path,
                stays=stays,
            )
        elif replaced:
            write_snapshot(opened, index, stays)
        remove_folder(files.folder)
        return Added(
            len(kept),
            new.skipped,
            int(copies.sum()),
            int((~readable).sum()),
            new.changed,
            tuple(complaints[:MAX_EXAMPLES]),
            examples,
            tuple(replaced),
        )


def remove(run: Path, ids: Iterable[str]) -> Removed:
    """Remove the items with these ids, from all files of the run (see erasing.py).

    Raises UserError if none would be left, or the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        asked = list(dict.fromkeys(ids))
        rows = index.rows_of(asked)
        unknown = tuple(compress(asked, rows < 0))
        stays = np.ones(index.n, dtype=bool)
        stays[rows[rows >= 0]] = False
        if not stays.any():
            raise UserError("no item would be left; an index needs at least one")
        if not stays.all():
            write_snapshot(opened, index, stays)
        return Removed(int((~stays).sum()), unknown)


def describe(run: Path, items: Iterable[Item]) -> int:
    """Give items of the index the sources and the names of images of those with their ids; returns
    how many differed.

    Raises UserError if the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        told = dict[int, Item]()
        for chunk in batched(items, LOOKUP):
            rows = index.rows_of(item.id for item in chunk)
            known = index.items(rows[rows >= 0])
            here = compress(zip(chunk, rows.tolist(), strict=True), rows >= 0)
            for (item, row), indexed in zip(here, known, strict=True):
                if (item.source, item.image) != (indexed.source, indexed.image):
                    told[row] = item
        if told:
            write_snapshot(opened, index, np.ones(index.n, dtype=bool), told=told)
        return len(told)


def compact(run: Path) -> bool:
    """Merge all segments into one; False if there is nothing to do.

    Rows stay as they are. Raises UserError if the run cannot be changed.
    """
    with changing_index(run) as (opened, index):
        if index.config.segments == (index.n,):
            return False
        write_snapshot(opened, index, np.ones(index.n, dtype=bool), merged=0)
        return True


def next_dataset(run: Run, index: Index) -> int:
    """A dataset number that no id has: neither of the index nor of the run's sources, which may not
    be indexed yet.
    """
    return max(index.last_dataset() + 1, len(run.manifest.get("sources", ())))


@contextmanager
def changing_index(run: Path, models: Models | None = None) -> Iterator[tuple[Run, Index]]:
    """A run and its index, which no one else changes inside the block.

    What killed processes have left is deleted first. Raises UserError if the run is being changed
    already, or if these models are not those of the run.
    """
    with write_lock(run), disk_errors_explained(run):
        opened = Run(run)
        if models is not None:
            models.check(opened)
        opened.sweep(PART)
        erase(opened)
        index = Index.load(opened.folder(PART))
        index.lease.release()  # its folder goes as soon as there is a newer one
        yield opened, index


def append(
    run: Run,
    index: Index,
    items: Iterable[Item],
    codes: np.ndarray,
    distances: np.ndarray,
    embeddings: Vectors,
    fused: Vectors,
    image_path: Callable[[str], Path],
    trained: bool = False,
    stays: np.ndarray | None = None,
) -> None:
    """Publish a version with one more segment; the caller holds the run's write lock.

    Of the new items: codes (m, M), distances (m, 2), embeddings (m, d), fused features (m, d).
    trained: they are of the collection that the run was made from, as all before them. stays (n,)
    bool: the rows that remain; None: all.
    """

    def write(segment: Path) -> StoredRows:
        features = None if index.fused is None else fused
        added, _ = write_segment(
            segment, items, embeddings, features, image_path, run.settings.index.thumbnail_side
        )
        return StoredRows(pack(codes, index.code_sizes), added, distances)

    extend(run, index, write, trained, stays)


def extend(
    run: Run,
    index: Index,
    write: Callable[[Path], "StoredRows"],
    trained: bool = False,
    stays: np.ndarray | None = None,
) -> None:
    """As `append`, with a segment that `write` fills. stays (n,) bool."""
    segments = write_snapshot(
        run, index, np.ones(index.n, dtype=bool) if stays is None else stays, write, trained
    )
    if len(segments) > MERGE_AT:  # to keep their number, and so that of open files, small
        try:
            grown = Index.load(run.folder(PART))
            grown.lease.release()
            write_snapshot(
                run, grown, np.ones(grown.n, dtype=bool), merged=first_to_merge(segments)
            )
        except UserError as error:  # the added items stay
            logging.getLogger(__name__).warning("the segments were not merged: %s", error)


class StoredRows(NamedTuple):
    """What is stored by row; B bytes of a packed ID."""

    packed: np.ndarray  # (m, B) uint8
    modalities: np.ndarray  # (m,)
    distances: np.ndarray  # (m, 2), see store.py


def write_snapshot(
    run: Run,
    index: Index,
    stays: np.ndarray,
    added: Callable[[Path], StoredRows] | None = None,
    trained: bool = False,
    merged: int = MAX_SEGMENTS,
    told: Mapping[int, Item] = EMPTY,
) -> tuple[int, ...]:
    """Publish a version with the rows that stay (n,) bool, and erase the others; returns the sizes
    of its segments.

    Segments that stay whole are shared; the others are written anew, or left out if nothing of them
    stays. added: writes one more segment into a folder. merged: the segments from this number on
    become one. told: items by row, whose sources and names of images theirs get.
    """
    config = index.config
    kept = np.flatnonzero(stays)
    parts = [
        (number, kept[chosen])
        for number, chosen, _ in index.places.split(index.places.positions(kept))
    ]
    if rest := [rows for number, rows in parts if number >= merged]:
        parts = [*parts[: -len(rest)], (merged, np.concatenate(rest))]
    shared = {INSTRUCTIONS: INSTRUCTIONS}
    files = FILES if index.fused is None else (*FILES, FUSED)
    # segments to write, as paths below the new version, with their rows
    anew: list[tuple[Path, np.ndarray]] = []
    for place, (number, rows) in enumerate(parts):
        folder = segment_folder(Path(), place)
        whole = number < merged and len(rows) == config.segments[number]
        if whole and (not told or told.keys().isdisjoint(rows.tolist())):
            before = segment_folder(Path(), number)
            shared |= {(folder / name).as_posix(): (before / name).as_posix() for name in files}
        else:
            anew.append((folder, rows))
    sizes = [len(rows) for _, rows in parts]

    def write(folder: Path) -> None:
        for segment, rows in anew:
            (folder / segment).mkdir(exist_ok=True)
            merge_segments(folder / segment, index, rows, told)
        more = StoredRows(index.packed[:0], index.modalities[:0], np.empty((0, 2), np.float32))
        if added is not None:
            segment = segment_folder(folder, len(parts))
            segment.mkdir(exist_ok=True)
            more = added(segment)
            sizes.append(len(more.packed))
        distances = None
        if index.distances is not None or added is not None:
            known = (
                np.full((index.n, 2), np.nan, np.float32)
                if index.distances is None
                else index.distances
            )
            distances = np.concatenate([known[kept], more.distances])
        n = sum(sizes)
        changed = replace(
            config,
            n=n,
            segments=tuple(sizes),
            trained=n if trained else int((kept < config.trained).sum()),
            last_dataset=config.last_dataset if stays.all() else index.last_dataset(),
        )
        packed, modalities = (
            np.concatenate([all_[kept], new])
            for all_, new in ((index.packed, more.packed), (index.modalities, more.modalities))
        )
        write_rows(folder, changed, packed, modalities, distances)

    gone = np.flatnonzero(~stays)
    if len(gone):
        erase_mentions(run, index, gone)
    erasing = {"erasing": [item.id for item in index.items(gone)]} if len(gone) else {}
    run.replace(PART, write, shared, **erasing)
    erase(run)
    return tuple(sizes)


@dataclass(frozen=True)
class NewItems:
    """The items of a source whose ids the index does not hold."""

    fresh: Sequence[bool]  # (c,) which of the items these are
    kinds: np.ndarray  # (m,) of KIND
    skipped: int
    # of the skipped ids, those whose text or picture differs from the indexed one
    changed: tuple[str, ...]
    digest: str  # of the new items

    def items(self, source: ItemSource) -> Iterator[Item]:
        """Read them from the source again."""
        return compress(source.items(), self.fresh)


def find_new_items(index: Index, source: ItemSource, replaces: bool) -> NewItems:
    """replaces: what has changed counts as new."""
    fresh: list[bool] = []
    kinds: list[tuple[Modality, bool, int, int]] = []
    changed: list[str] = []
    digest = hashlib.sha256()
    for chunk in batched(source.items(), LOOKUP):
        rows = index.rows_of(item.id for item in chunk)
        is_new = rows < 0
        indexed = index.items(rows[rows >= 0])
        known = list(
            zip(compress(chunk, rows >= 0), rows[rows >= 0].tolist(), indexed, strict=True)
        )
        with ThreadPoolExecutor() as readers:
            same = readers.map(lambda entry: _is_same(index, source, *entry), known)
            differs = ~np.fromiter(same, dtype=bool, count=len(known))
        if replaces:
            is_new[np.flatnonzero(rows >= 0)[differs]] = True
        else:
            changed += [item.id for item, _, _ in compress(known, differs)]
        fresh += is_new.tolist()
        for item, row in compress(zip(chunk, rows.tolist(), strict=True), is_new):
            kinds.append((item.modality, item.image is not None, content_hash(item), row))
            digest.update(
                f"{item.id} {_image_state(source, item.image)} {content_hash(item)}\n".encode()
            )
    skipped = len(fresh) - len(kinds)
    return NewItems(fresh, np.array(kinds, dtype=KIND), skipped, tuple(changed), digest.hexdigest())


def _is_same(index: Index, source: ItemSource, item: Item, row: int, indexed: Item) -> bool:
    """Whether an item has the text and the picture of the indexed one, as its thumbnail shows
    it.
    """
    if content_hash(item) != content_hash(indexed):
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
    return (
        float(np.abs(np.asarray(new, np.float32) - np.asarray(shown, np.float32)).mean())
        <= SAME_LEVELS
    )


def _image_state(source: ItemSource, image: str | None) -> str:
    """The name, size and time of change of an image file: another picture of the same name is
    another item.
    """
    if image is None:
        return ""
    try:
        state = source.image_path(image).stat()
    except (UserError, OSError):  # unreadable: said when the image is opened
        return image
    return f"{image} {state.st_size} {state.st_mtime_ns}"


def content_hash(item: Item) -> int:
    """Equal for equal modality and text."""
    return int.from_bytes(
        hashlib.blake2b(f"{item.modality:d} {item.text}".encode(), digest_size=8).digest()
    )


def encode(
    run: Run, source: ItemSource, new: NewItems, models: Models, complaints: list[str], folder: Path
) -> FeatureFiles:
    """Features of the m new items, also fused; kept in the folder until they are added.

    complaints: gets a sentence for each unreadable image.
    """
    files = FeatureFiles.create(
        folder, len(new.kinds), 1, models.encoder.dim, f"{run.digest('encoder')} {new.digest}"
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


def _open_image(
    source: ItemSource, complaints: list[str], max_side: int, path: str
) -> Image.Image | None:
    """None for an image that cannot be read, after noting it in `complaints`."""
    try:
        return open_image(source.image_path(path), max_side=max_side)
    except UserError as error:
        complaints.append(str(error))
        return None


def find_copies(
    index: Index,
    kept: np.ndarray,
    codes: np.ndarray,
    embeddings: ConcatenatedArray,
    contents: np.ndarray,
) -> np.ndarray:
    """(m,) int64: the place of the same item among the kept rows (k,) of the index and then the new
    items, or −1.

    Of m new items that can be read: codes (m, M), embeddings (m, d), contents (m,).
    """
    packed = np.concatenate([index.packed[kept], pack(codes, index.code_sizes)])

    def content(rows: np.ndarray) -> np.ndarray:
        indexed = rows < len(kept)
        hashes = np.empty(len(rows), dtype=np.uint64)
        hashes[~indexed] = contents[rows[~indexed] - len(kept)]
        hashes[indexed] = [content_hash(item) for item in index.items(kept[rows[indexed]])]
        return hashes

    rows = np.concatenate([kept, np.arange(index.n, index.n + len(codes))])
    vectors = ConcatenatedArray([index.embeddings, embeddings], rows)
    return find_duplicates(
        IDTable.from_packed(packed, index.code_sizes), len(kept), vectors.__getitem__, content
    )


def copy_examples(
    index: Index, kept: np.ndarray, new: Iterable[Item], copied: np.ndarray, readable: np.ndarray
) -> tuple[tuple[str, str], ...]:
    """Names of the first copies, and of the items whose copies they are: of the index by their ids,
    too.

    kept (k,): rows of the index. copied (m,): of each new item what `find_copies` says, or −1.
    readable (≤ m,): numbers of the new items that it was asked about.
    """
    chosen = np.flatnonzero(copied >= 0)[:MAX_EXAMPLES]
    if not len(chosen):
        return ()
    places = {int(row): int(copied[row]) for row in chosen}
    twins = {int(readable[place - len(kept)]) for place in places.values() if place >= len(kept)}
    named = {row: _name(item) for row, item in enumerate(new) if row in places or row in twins}

    def twin(name: str, place: int) -> str:
        if place >= len(kept):
            return named[int(readable[place - len(kept)])]
        (item,) = index.items(kept[[place]])
        return f"item {item.id}" if _name(item) == name else f"item {item.id}, {_name(item)}"

    return tuple((named[row], twin(named[row], place)) for row, place in places.items())


def _name(item: Item) -> str:
    return Path(item.image).name if item.image else item.text
