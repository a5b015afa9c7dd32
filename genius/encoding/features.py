"""Encoder features of many things, in memory-mapped files that are filled shard by shard.

A folder holds image.npy (n, d), text.npy (n, p, d), embedding.npy (n, d), masks.npy (n, 2) and, once the
fusion is trained, fused.npy (n, p, d); all vectors are fp16. p is the number of instruction phrasings that
each query was encoded with, 1 for candidates. While they are filled, shards/NUMBER says of each shard that it is
whole: a killed run does only what is missing, and processes of several hosts may fill different shards.

Shapes: n things, p phrasings, d embedding dim, b batch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from tqdm import tqdm

from genius.encoding.encode import AsSeen, Thing, encode
from genius.encoding.image_loader import opened
from genius.errors import UserError
from genius.files import fsync, write_json
from genius.models.encoder import Encoder, Features
from genius.models.fusion import Fusion

SHARD = 4096  # things; their vectors are kept in memory until the shard is written
ARRAYS = ("image", "text", "embedding", "masks")


class Batch(NamedTuple):
    """Things that are encoded together."""

    shard: int
    rows: slice  # within the shard
    things: list[Thing]

    def pictures(self) -> list[str]:
        return [image for image, _ in self.things if image]


class FeatureFiles:
    """The arrays of one folder."""

    def __init__(self, folder: Path):
        """Use `create` or `finished`."""
        self.folder = folder
        self.progress = json.loads((folder / "progress.json").read_text())
        self.image, self.text, self.embedding, self.masks = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS
        )

    @classmethod
    def create(cls, folder: Path, n: int, phrasings: int, dim: int, facts: str) -> FeatureFiles:
        """Open the folder if it was made from the same facts (encoder, collection), else start it anew."""
        file = folder / "progress.json"
        if not file.exists() or [json.loads(file.read_text())[key] for key in ("facts", "phrasings")] != [
            facts,
            phrasings,
        ]:
            folder.mkdir(parents=True, exist_ok=True)
            for left_over in (file, folder / "fused.npy"):
                left_over.unlink(missing_ok=True)
            shutil.rmtree(folder / "shards", ignore_errors=True)
            for name, shape, kind in (
                ("image", (n, dim), np.float16),
                ("text", (n, phrasings, dim), np.float16),
                ("embedding", (n, dim), np.float16),
                ("masks", (n, 2), np.bool_),
            ):
                np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=kind, shape=shape).flush()
            write_json(
                file, {"facts": facts, "things": n, "phrasings": phrasings, "shard": SHARD, "done": 0, "fusion": None}
            )
        return cls(folder)

    @classmethod
    def finished(cls, folder: Path, facts: str) -> FeatureFiles:
        """Open a folder that is complete. Raises UserError if it is not, or was made from other facts."""
        file = folder / "progress.json"
        progress = json.loads(file.read_text()) if file.exists() else {}
        if progress.get("facts") != facts or progress["done"] != progress["things"]:
            raise UserError(
                f"{folder} does not hold the features of this encoder and collection; make them with: "
                "python -m training.features COLLECTION RUN"
            )
        return cls(folder)

    def __len__(self) -> int:
        return len(self.image)

    @property
    def phrasings(self) -> int:
        return self.text.shape[1]

    @property
    def shard(self) -> int:
        """Things of a shard. Files that were begun before there were shards know only how many came first."""
        return self.progress.get("shard", SHARD)

    def fused(self, fusion: str) -> np.ndarray:
        """(n, p, d) outputs of the fusion with this digest. Raises UserError if they are of another or of none."""
        if self.progress["fusion"] != fusion:
            raise UserError(
                f"{self.folder} does not hold the fused features of this run; make them with: "
                "python -m training.quantizer COLLECTION RUN"
            )
        return np.load(self.folder / "fused.npy", mmap_mode="r")

    def features(self, rows: np.ndarray | slice, phrasing: np.ndarray | int = 0) -> Features:
        """What the encoder said of these rows, in fp32."""
        masks = torch.from_numpy(np.array(self.masks[rows]))
        return Features(
            torch.from_numpy(self.image[rows].astype(np.float32)),
            torch.from_numpy(self.text[rows, phrasing].astype(np.float32)),
            masks[:, 0],
            masks[:, 1],
        )

    def unfinished(self) -> list[int]:
        """The shards that are not whole."""
        self.progress = json.loads((self.folder / "progress.json").read_text())  # another process may have ended it
        if self.progress["done"] == len(self):
            return []
        return [
            number
            for number in range(self.progress["done"] // self.shard, -(-len(self) // self.shard))
            if not (self.folder / "shards" / str(number)).exists()
        ]

    def fill(
        self,
        encoder: Encoder,
        things: Iterable[Thing],
        open_path: Callable[[str], Image.Image | None],
        batch: int,
        label: str,
        shards: Collection[int] | None = None,
        workers: int = 0,
    ) -> None:
        """Encode all things, or those of some shards, that are not there yet.

        open_path: the image at a relative path, None if it is to be left out. workers: processes that open images,
        for which open_path can be pickled; 0: threads. Raises UserError if there are fewer things than announced.
        """
        encoder.check()
        missing = [number for number in self.unfinished() if shards is None or number in shards]
        batches = self._batches(things, missing, batch, label)
        as_seen = AsSeen(open_path, encoder.config.preprocess)
        with tqdm(total=self.items_in(missing), desc=label, unit="item") as bar:
            for part, pixels, there in opened(batches, Batch.pictures, as_seen, workers):
                if part.rows.start == 0:
                    vectors = [
                        np.empty((self._size(part.shard), *array.shape[1:]), array.dtype) for array in self._arrays
                    ]
                encode(encoder, part.things, pixels, there, *(values[part.rows] for values in vectors))
                bar.update(len(part.things))
                if part.rows.stop == self._size(part.shard):
                    self._write(part.shard, vectors)
        if not self.unfinished():
            self.note(done=len(self))
            shutil.rmtree(self.folder / "shards", ignore_errors=True)

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.image, self.text, self.embedding, self.masks

    def items_in(self, shards: Iterable[int]) -> int:
        """How many things these shards hold."""
        return sum(map(self._size, shards))

    def _size(self, shard: int) -> int:
        return min(self.shard, len(self) - shard * self.shard)

    def _batches(self, things: Iterable[Thing], shards: Sequence[int], batch: int, label: str) -> Iterator[Batch]:
        stream = iter(things)
        for shard in range(max(shards, default=-1) + 1):
            for start in range(0, size := self._size(shard), batch):
                wanted = min(batch, size - start)
                part = list(islice(stream, wanted))
                if len(part) < wanted:
                    raise UserError(
                        f"{label}: {shard * self.shard + start + len(part)} of {len(self)} were found; "
                        "the collection changed, start again"
                    )
                if shard in shards:
                    yield Batch(shard, slice(start, start + wanted), part)

    def _write(self, shard: int, vectors: Sequence[np.ndarray]) -> None:
        """Written, not mapped: hosts that share a page of the file do not undo each other's work."""
        for name, array, values in zip(ARRAYS, self._arrays, vectors, strict=True):
            file = self.folder / f"{name}.npy"
            with file.open("r+b") as stream:
                stream.seek(array.offset + shard * self.shard * array.strides[0])
                stream.write(values.tobytes())
            fsync(file)
        (self.folder / "shards").mkdir(exist_ok=True)
        (self.folder / "shards" / str(shard)).touch()

    def note(self, **facts: int | str | None) -> None:
        """Change what progress.json says."""
        self.progress |= facts
        write_json(self.folder / "progress.json", self.progress)

    @torch.inference_mode()
    def fuse(self, fusion: Fusion, digest: str, batch: int = 4096) -> None:
        """Write fused.npy, aside first, and note the fusion's digest."""
        device = next(fusion.parameters()).device
        aside = self.folder / "fused.partial"
        with aside.open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": self.text.dtype.str, "fortran_order": False, "shape": self.text.shape}
            )
            for start in range(0, len(self), batch):
                rows = slice(start, start + batch)
                fused = [fusion(self.features(rows, phrasing).to(device)) for phrasing in range(self.phrasings)]
                file.write(torch.stack(fused, dim=1).half().cpu().numpy().tobytes())
        fsync(aside)
        self.note(fusion=None)
        aside.rename(self.folder / "fused.npy")
        self.note(fusion=digest)


def batched(things: Iterable, size: int) -> Iterator[list]:
    """Lists of `size` things; the last may be shorter."""
    stream = iter(things)
    while part := list(islice(stream, size)):
        yield part
