"""What locked towers make of every image and text, computed once and kept in memory-mapped files.

FOLDER/images holds the outputs of the image tower for each distinct image and view, FOLDER/texts those of the text
tower for each distinct text, both in fp16, in the layout of sharded_arrays.py. They depend on the towers and not on the
heads: trainings with other heads use the same files.

Shapes: n images or texts, v views of an image (1 for texts), t width of a tower's outputs, s image side.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from genius.collections.mbeir import Collection
from genius.encoding.image_loader import load_images
from genius.encoding.sharded_arrays import ROWS, ShardedArrays, read_progress, reserve_arrays
from genius.errors import UserError
from genius.models.encoder import Encoder
from training.checkpoint import fingerprint
from training.distributed import barrier, broadcast_object, main_process_first, rank, world_size
from training.image_augmentation import Crops, open_item_image
from training.settings import EncoderSettings

IMAGE_SHARD, TEXT_SHARD = 512, 4096  # rows
IMAGE_PART, TEXT_PART = 16, 64  # images that are loaded together, texts that are encoded together
PROBE = 256  # texts whose tokens identify a tokenizer
BLOCK = 4096  # rows or strings that are read together


class TowerOutputs(ShardedArrays):
    """The outputs (n, v, t) of one tower, in one folder."""

    def __init__(self, folder: Path):
        super().__init__(folder, ("outputs",))
        (self.outputs,) = self.arrays

    @classmethod
    def open(cls, folder: Path, shape: tuple[int, int, int], shard: int, facts: str, replace: bool) -> TowerOutputs:
        """Open a folder to fill it.

        facts: a checksum of the tower and its inputs. If the folder has others it is started again with `replace`;
        otherwise that raises a UserError and changes nothing.
        """
        found = read_progress(folder).get("facts")
        if found and found != facts and not replace:
            raise UserError(
                f"{folder} holds the outputs of another tower, collection or setting; name another folder in "
                "encoder.locked.cache, or delete it"
            )
        if found != facts:
            progress = {"facts": facts, ROWS: shape[0], "shard": shard, "done": 0}
            reserve_arrays(folder, [("outputs", shape, np.float16)], progress)
        return cls(folder)

    def rows(self, rows: np.ndarray, views: np.ndarray | int = 0) -> Tensor:
        """(b, t) fp32: the outputs of these rows, each of its view."""
        return torch.from_numpy(self.outputs[rows, views].astype(np.float32))

    def fill(
        self,
        values: Sequence[str],
        encoded: Callable[[Iterator[Sequence[str]]], Iterable[Tensor]],
        part: int,
        label: str,
    ) -> None:
        """Compute the shards that are missing; every process takes its part of them.

        values: the n images or texts. encoded: parts of them -> outputs (b, v, t) of each part.
        Raises UserError if an output is not finite.
        """
        missing = broadcast_object(self.unfinished())
        mine = missing[rank() :: world_size()]
        spans = [
            (shard, start, min(start + part, self.size(shard)))
            for shard in mine
            for start in range(0, self.size(shard), part)
        ]
        parts = (values[shard * self.shard_size + start : shard * self.shard_size + end] for shard, start, end in spans)
        label = label if world_size() == 1 else f"{label}, process {rank() + 1} of {world_size()}"
        with tqdm(total=self.count_rows(mine), desc=label) as bar:
            for (shard, start, end), outputs in zip(spans, encoded(parts), strict=True):
                if start == 0:
                    (rows,) = self.empty_shard(shard)
                rows[start:end] = outputs.half().cpu().numpy()
                if not np.isfinite(rows[start:end]).all():
                    raise UserError(f"{label}: an output does not fit half precision; use another tower")
                bar.update(end - start)
                if end == self.size(shard):
                    self.write(shard, [rows])
        self.finish()
        barrier()

    def statistics(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (t,) over all rows and views."""
        total, squares = np.zeros((2, self.outputs.shape[2]))
        for start in range(0, len(self), BLOCK):
            block = self.outputs[start : start + BLOCK].reshape(-1, len(total)).astype(np.float64)
            total, squares = total + block.sum(0), squares + np.square(block).sum(0)
        n = self.outputs.shape[0] * self.outputs.shape[1]
        deviation = np.sqrt(np.maximum(squares / n - np.square(total / n), 0))
        # an output that hardly varies is not blown up: folded into a head, it would spoil the 8-bit scales of its rows
        deviation = np.maximum(deviation, 0.1 * deviation.mean())
        return torch.from_numpy(total / n).float(), torch.from_numpy(deviation).float()


class Views:
    """Opens an image as the encoder will see it, and random crops of it, which depend on its path and the seed."""

    def __init__(self, collection: Collection, preprocess: dict[str, Any], settings: EncoderSettings, seed: int):
        self.collection, self.settings, self.seed = collection, settings, seed
        self.transform = image_transform_v2(PreprocessCfg(**preprocess), is_train=False)

    def __call__(self, path: str) -> Tensor:
        """-> (v, 3, s, s), first the image itself. Raises UserError for an image that cannot be opened."""
        image, settings = open_item_image(self.collection, path), self.settings
        rng = np.random.default_rng((self.seed, zlib.crc32(path.encode())))
        crops = Crops.draw(settings.locked.views - 1, settings.min_crop, settings.horizontal_flip, rng)
        return torch.stack([self.transform(view) for view in (image, *crops.of(image))])


def image_outputs(
    folder: Path,
    encoder: Encoder,
    collection: Collection,
    paths: Sequence[str],
    settings: EncoderSettings,
    seed: int,
    workers: int,
) -> TowerOutputs:
    """The outputs of the image tower for every view of these images, (n, v, t).

    Raises UserError for an image that cannot be opened, or if a folder that the settings name holds other outputs.
    """
    split, locked = encoder.split(), settings.locked
    views = Views(collection, encoder.config.preprocess, settings, seed)
    facts = fingerprint(
        tower_digest(encoder, image=True),
        encoder.config.preprocess,
        str(collection.root.resolve()),
        digest(paths),
        [locked.views, settings.min_crop, settings.horizontal_flip, seed],
    )

    def encoded(parts: Iterator[Sequence[str]]) -> Iterator[Tensor]:
        for part, pixels, _ in load_images(parts, list, views, workers):
            outputs = split.image_outputs(pixels.flatten(0, 1).to(encoder.device))
            yield outputs.view(len(part), locked.views, -1)

    blank = encoder.preprocess([Image.new("RGB", (32, 32))]).to(encoder.device)
    with main_process_first():
        shape = (len(paths), locked.views, split.image_outputs(blank).shape[1])
        outputs = TowerOutputs.open(folder / "images", shape, IMAGE_SHARD, facts, replace=not locked.cache)
    outputs.fill(paths, encoded, IMAGE_PART, "images through the tower")
    return outputs


def text_outputs(folder: Path, encoder: Encoder, texts: Sequence[str], settings: EncoderSettings) -> TowerOutputs:
    """The outputs of the text tower for these texts, (n, 1, t). Raises UserError as image_outputs does."""
    split = encoder.split()
    probe = hashlib.sha256(encoder.tokenize(texts[:PROBE]).cpu().numpy().tobytes()).hexdigest()
    facts = fingerprint(tower_digest(encoder, image=False), probe, digest(texts))

    def encoded(parts: Iterator[Sequence[str]]) -> Iterator[Tensor]:
        for part in parts:
            yield split.text_outputs(encoder.tokenize(part).to(encoder.device))[:, None]

    example = encoder.tokenize(texts[:1]).to(encoder.device)
    with main_process_first():
        shape = (len(texts), 1, split.text_outputs(example).shape[1])
        outputs = TowerOutputs.open(folder / "texts", shape, TEXT_SHARD, facts, replace=not settings.locked.cache)
    outputs.fill(texts, encoded, TEXT_PART, "texts through the tower")
    return outputs


def tower_digest(encoder: Encoder, image: bool) -> str:
    """Checksum of the weights of one tower, without its head."""
    split = encoder.split()
    heads = {id(weight) for head in (split.image_head, split.text_head) for weight in head.parameters()}
    found = hashlib.sha256()
    for name, weight in sorted([*encoder.clip.named_parameters(), *encoder.clip.named_buffers()]):
        if id(weight) not in heads and not name.startswith("logit_") and name.startswith("visual.") == image:
            found.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def digest(strings: Sequence[str]) -> str:
    """Checksum of strings in their order."""
    found = hashlib.sha256()
    for start in range(0, len(strings), BLOCK):
        found.update("\0".join([*strings[start : start + BLOCK], ""]).encode())
    return found.hexdigest()
