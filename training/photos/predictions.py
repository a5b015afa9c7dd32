"""What an ImageNet classifier sees in a picture: the classes it finds most probable.

Predictions are cached in one file, by the checksum of the picture.

Shapes: n pictures, k classes kept, c classes.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from PIL import Image
from torch import nn
from tqdm import tqdm

from genius.collections.images import open_image
from genius.errors import UserError
from genius.models.towers import image_tower

TOWER = "tf_efficientnet_lite2"
SIDE = 260  # pixels, as the tower was trained
KEPT = 10  # classes of a picture
BATCH = 4  # small batches stay in the cache of a processor
SAVED_EVERY = 200  # batches


Predictions = dict[bytes, dict[int, float]]  # checksum of a picture -> class -> probability


def predict(pictures: Mapping[bytes, Path], cache: Path, tower: str = TOWER) -> Predictions:
    """Predict the classes of these pictures; those in the cache are not opened.

    pictures: SHA-256 of a file -> the file. Raises UserError if the tower is missing or the cache holds something else.
    """
    known = _read(cache, tower)
    missing = [(digest, file) for digest, file in pictures.items() if digest not in known]
    if missing:
        model = image_tower(tower).to(memory_format=torch.channels_last)
        batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
        with (
            ThreadPoolExecutor(2) as readers,
            tqdm(total=len(missing), desc="classes", leave=False, disable=None) as bar,
        ):
            for start in range(0, len(batches), SAVED_EVERY):
                part = batches[start : start + SAVED_EVERY]
                for batch, pixels in zip(part, readers.map(_pixels, part), strict=True):
                    for (digest, _), classes in zip(batch, _classify(model, pixels), strict=True):
                        known[digest] = classes
                    bar.update(len(batch))
                _write(cache, tower, known)
    return known


def _pixels(batch: Sequence[tuple[bytes, Path]]) -> torch.Tensor:
    """(n, 3, side, side) in [-1, 1]"""
    images = [open_image(file).resize((SIDE, SIDE), Image.Resampling.BICUBIC) for _, file in batch]
    return torch.from_numpy(np.stack([np.asarray(image) for image in images])).permute(0, 3, 1, 2) / 127.5 - 1


@torch.inference_mode()
def _classify(model: nn.Module, pixels: torch.Tensor) -> list[dict[int, float]]:
    probabilities, classes = model(pixels).softmax(dim=-1).topk(KEPT)  # (n, k) each
    return [dict(zip(*pair, strict=True)) for pair in zip(classes.tolist(), probabilities.tolist(), strict=True)]


def _read(cache: Path, tower: str) -> Predictions:
    if not cache.exists():
        return {}
    try:
        with np.load(cache) as arrays:
            if str(arrays["tower"]) != f"{tower} {SIDE}":
                raise UserError(f"{cache} holds predictions of {arrays['tower']}; delete it or name another file")
            rows = zip(arrays["digests"], arrays["classes"].tolist(), arrays["probabilities"].tolist(), strict=True)
            return {digest.tobytes(): dict(zip(*row, strict=True)) for digest, *row in rows}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise UserError(f"{cache} is not a file of predictions ({error}); delete it or name another file") from None


def _write(cache: Path, tower: str, known: Predictions) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    aside = cache.with_name(f".tmp-{cache.name}")
    with aside.open("wb") as stream:
        np.savez(
            stream,
            tower=np.array(f"{tower} {SIDE}"),
            digests=np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), -1),
            classes=np.array([list(classes) for classes in known.values()], dtype=np.int16),
            probabilities=np.array([list(classes.values()) for classes in known.values()], dtype=np.float32),
        )
    os.replace(aside, cache)
