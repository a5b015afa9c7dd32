"""The new items of a source: which they are, and what the models make of them.

Shapes: c items of the source, m of these that are new, r of these that can be read, d embedding
dim, M levels.
"""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Self

import numpy as np
from PIL import Image

from genius.collections.images import open_image, thumbnail
from genius.encoding.features import EncoderInput, FeatureFiles, batched
from genius.encoding.image_loader import enough_pixels
from genius.encoding.quantize import quantize_all, squared_distances
from genius.errors import UserError
from genius.index.duplicates import content_hash
from genius.index.item_source import ItemSource
from genius.index.segments import LOOKUP, ConcatenatedArray
from genius.index.store import Index
from genius.index.writing import MAX_EXAMPLES, THUMBNAIL_QUALITY
from genius.models.absent import expect_present
from genius.models.encoder import Encoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from genius.runtime import usable_device
from genius.schema import Item, Modality

BATCH = 64  # items encoded together
# mean difference, of 255, of thumbnails of one picture that versions of Pillow may make
SAME_LEVELS = 3.0
# of a new item; content: see content_hash; row: of the indexed item that it replaces, or −1
KIND = np.dtype(
    [("modality", np.uint8), ("pictured", np.bool_), ("content", np.uint64), ("row", np.int64)]
)


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
        _expect_models(run)
        return cls(
            Encoder.load(run.folder("encoder")).for_inference().to(chosen),
            Fusion.load(run.folder("fusion")).to(chosen),
            ResidualQuantizer.load(run.folder("quantizer")).to(chosen),
            run=run,
        )

    def check(self, run: Run) -> None:
        """Raises UserError if the run was trained again since these models were loaded, or lacks
        one of them.
        """
        _expect_models(run)
        loaded = self.run or run
        if any(
            loaded.digest(part) != run.digest(part) for part in ("encoder", "fusion", "quantizer")
        ):
            raise UserError(
                f"{run.path} was trained again since its models were loaded; start again "
                "to load the new ones"
            )


def _expect_models(run: Run) -> None:
    for part in ("encoder", "quantizer"):
        expect_present(run.folder(part))


@dataclass(frozen=True)
class NewItems:
    """The items of a source whose ids the index does not hold."""

    source: ItemSource
    fresh: Sequence[bool]  # (c,) which of the items these are
    kinds: np.ndarray  # (m,) of KIND
    skipped: int
    # of the skipped ids, those whose text or picture differs from the indexed one
    changed: tuple[str, ...]
    digest: str  # of the new items

    def items(self) -> Iterator[Item]:
        """Read them from the source again."""
        return compress(self.source.items(), self.fresh)


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
                f"{item.id} {_picture_state(source, item.image)} {content_hash(item)}\n".encode()
            )
    new = np.array(kinds, dtype=KIND)
    skipped = len(fresh) - len(new)
    return NewItems(source, fresh, new, skipped, tuple(changed), digest.hexdigest())


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


def _picture_state(source: ItemSource, image: str | None) -> str:
    """The name, size and time of change of an image file: another picture of the same name is
    another item.
    """
    stat = source.picture_stat(image)
    return f"{image} {stat.st_size} {stat.st_mtime_ns}" if stat else image or ""


@dataclass(frozen=True)
class EncodedItems:
    """What the models make of the new items that can be read."""

    new: NewItems
    readable: np.ndarray  # (m,) bool: which these are
    embeddings: ConcatenatedArray  # (r, d)
    fused: ConcatenatedArray  # (r, d)
    codes: np.ndarray  # (r, M)
    distances: np.ndarray  # (r, 2), see store.py
    complaints: tuple[str, ...]  # sentences about some unreadable images

    def items(self) -> Iterator[Item]:
        """Read them from the source again."""
        return compress(self.new.items(), self.readable)


def encode(run: Run, new: NewItems, models: Models, folder: Path) -> EncodedItems:
    """Encode new items. The features stay in the folder, to go on after a kill."""
    encoder, quantizer, complaints = models.encoder, models.quantizer, list[str]()
    encoder.check()
    made_of = f"{run.digest('encoder')} {new.digest}"
    files = FeatureFiles.create(folder, len(new.kinds), 1, encoder.dim, made_of)
    inputs = (EncoderInput(item.image, [item.text]) for item in new.items())
    max_side = enough_pixels(encoder.config.preprocess)
    opener = partial(_open_image, new.source, complaints, max_side)
    files.fill(encoder, inputs, opener, models.batch, "encode")
    files.fuse(models.fusion, run.digest("fusion"))
    fused = files.fused(run.digest("fusion"))[:, 0]
    codes = quantize_all(fused, new.kinds["modality"], quantizer)
    distances = squared_distances(fused, codes, quantizer)
    readable = files.masks[:, 0] | ~new.kinds["pictured"]
    rows = np.flatnonzero(readable)
    return EncodedItems(
        new,
        readable,
        ConcatenatedArray([files.embedding], rows),
        ConcatenatedArray([fused], rows),
        codes[rows],
        distances[rows],
        tuple(complaints[:MAX_EXAMPLES]),
    )


def _open_image(
    source: ItemSource, complaints: list[str], max_side: int, path: str
) -> Image.Image | None:
    """None for an image that cannot be read, after noting it in `complaints`."""
    try:
        return open_image(source.image_path(path), max_side=max_side)
    except UserError as error:
        complaints.append(str(error))
        return None
