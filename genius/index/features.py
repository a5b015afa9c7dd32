"""Encoder features of many things, in memory-mapped files that are filled block by block.

A folder holds image.npy (n, d), text.npy (n, p, d), embedding.npy (n, d), masks.npy (n, 2) and, once the
fusion is trained, fused.npy (n, p, d); all vectors are fp16. p is the number of instruction phrasings that
each query was encoded with, 1 for candidates. A killed run goes on after the last whole block.

Shapes: n things, p phrasings, d embedding dim, b batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tqdm import tqdm

from genius.artifacts import write_json
from genius.errors import UserError
from genius.models.encoder import Encoder, Features
from genius.models.fusion import Fusion

BLOCK = 16       # batches between two marks of progress


class FeatureFiles:
    """The arrays of one folder."""

    def __init__(self, folder: Path):
        """Use `create` or `finished`."""
        self.folder = folder
        self.progress = json.loads((folder / "progress.json").read_text())
        self.image, self.text, self.embedding, self.masks = (
            np.load(folder / f"{name}.npy", mmap_mode="r+") for name in ("image", "text", "embedding", "masks"))

    @classmethod
    def create(cls, folder: Path, n: int, phrasings: int, dim: int, facts: str) -> FeatureFiles:
        """Open the folder if it was made from the same facts (encoder, collection), else start it anew."""
        file = folder / "progress.json"
        if not file.exists() or [json.loads(file.read_text())[key] for key in ("facts", "phrasings")] != [
                facts, phrasings]:
            folder.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
            (folder / "fused.npy").unlink(missing_ok=True)
            for name, shape, kind in (("image", (n, dim), np.float16), ("text", (n, phrasings, dim), np.float16),
                                      ("embedding", (n, dim), np.float16), ("masks", (n, 2), np.bool_)):
                np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=kind, shape=shape).flush()
            write_json(file, {"facts": facts, "things": n, "phrasings": phrasings, "done": 0, "fusion": None})
        return cls(folder)

    @classmethod
    def finished(cls, folder: Path, facts: str) -> FeatureFiles:
        """Open a folder that is complete. Raises UserError if it is not, or was made from other facts."""
        file = folder / "progress.json"
        progress = json.loads(file.read_text()) if file.exists() else {}
        if progress.get("facts") != facts or progress["done"] != progress["things"]:
            raise UserError(f"{folder} does not hold the features of this encoder and collection; make them with: "
                            "python -m training.features COLLECTION RUN")
        return cls(folder)

    def __len__(self) -> int:
        return len(self.image)

    @property
    def phrasings(self) -> int:
        return self.text.shape[1]

    def fused(self, fusion: str) -> np.ndarray:
        """(n, p, d) outputs of the fusion with this digest. Raises UserError if they are of another or of none."""
        if self.progress["fusion"] != fusion:
            raise UserError(f"{self.folder} does not hold the fused features of this run; make them with: "
                            "python -m training.quantizer COLLECTION RUN")
        return np.load(self.folder / "fused.npy", mmap_mode="r")

    def features(self, rows: np.ndarray | slice, phrasing: np.ndarray | int = 0) -> Features:
        """What the encoder said of these rows, in fp32."""
        masks = torch.from_numpy(np.array(self.masks[rows]))
        return Features(torch.from_numpy(self.image[rows].astype(np.float32)),
                        torch.from_numpy(self.text[rows, phrasing].astype(np.float32)), masks[:, 0], masks[:, 1])

    def fill(self, encoder: Encoder, things: Iterable[tuple[str | None, Sequence[str]]],
             open_path: Callable[[str], Image.Image], batch: int, label: str) -> None:
        """Encode (relative image path or None, p texts) of each thing, in order, from where it stopped."""
        done = self.progress["done"]
        with ThreadPoolExecutor() as pool, tqdm(total=len(self), initial=done, desc=label, unit="item") as bar:
            for number, part in enumerate(batched(islice(things, done, len(self)), batch), start=1):
                images = list(pool.map(lambda path: path and open_path(path), [path for path, _ in part]))
                self._encode(encoder, images, [texts for _, texts in part], slice(done, done + len(part)))
                done += len(part)
                bar.update(len(part))
                if number % BLOCK == 0:
                    self._mark(done)
        if done != len(self):
            raise UserError(f"{label}: {done} of {len(self)} were found; the collection changed, start again")
        self._mark(done)

    def _encode(self, encoder: Encoder, images: list, texts: list[Sequence[str]], rows: slice) -> None:
        first = encoder.encode(images, [phrasings[0] for phrasings in texts])
        self.image[rows] = first.image.cpu().numpy()
        self.embedding[rows] = first.embedding().cpu().numpy()
        self.masks[rows, 0], self.masks[rows, 1] = first.image_mask.cpu(), first.text_mask.cpu()
        self.text[rows, 0] = first.text.cpu().numpy()
        for phrasing in range(1, self.phrasings):
            more = encoder.encode([None] * len(images), [phrasings[phrasing] for phrasings in texts])
            self.text[rows, phrasing] = more.text.cpu().numpy()

    def _mark(self, done: int) -> None:
        for array in (self.image, self.text, self.embedding, self.masks):
            array.flush()
        self.progress["done"] = done
        write_json(self.folder / "progress.json", self.progress)

    @torch.inference_mode()
    def fuse(self, fusion: Fusion, digest: str, batch: int = 4096) -> None:
        """Write fused.npy, aside first, and note the fusion's digest."""
        device = next(fusion.parameters()).device
        aside = self.folder / "fused.partial"
        fused = np.lib.format.open_memmap(aside, mode="w+", dtype=np.float16, shape=self.text.shape)
        for start in range(0, len(self), batch):
            rows = slice(start, start + batch)
            for phrasing in range(self.phrasings):
                fused[rows, phrasing] = fusion(self.features(rows, phrasing).to(device)).cpu().numpy()
        fused.flush()
        self.progress["fusion"] = None
        write_json(self.folder / "progress.json", self.progress)
        aside.rename(self.folder / "fused.npy")
        self.progress["fusion"] = digest
        write_json(self.folder / "progress.json", self.progress)


def batched(things: Iterable, size: int) -> Iterator[list]:
    """Lists of `size` things; the last may be shorter."""
    stream = iter(things)
    while part := list(islice(stream, size)):
        yield part
