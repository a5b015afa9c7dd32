"""What an ImageNet classifier sees in a picture: the classes it finds most probable.

Predictions are cached in one file, by the checksum of the picture.

Shapes: n pictures, k classes kept, c classes.
"""

from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from PIL import Image
from torch import nn
from tqdm import tqdm

from genius.collections.images import open_image
from genius.encoding.features import batched
from genius.encoding.image_loader import load_images
from genius.errors import UserError
from genius.files import written_aside
from genius.models.towers import image_tower

TOWER, SIDE = "tf_efficientnet_lite2", 260  # pixels, as the tower was trained
MADE_BY = f"{TOWER} {SIDE}"
KEPT = 10  # classes of a picture
BATCH = 4  # small batches stay in the cache of a processor

Predictions = dict[bytes, dict[int, float]]  # checksum of a picture -> class -> probability


def predict(pictures: Mapping[bytes, Path], cache: Path) -> Predictions:
    """Predict the classes of these pictures; those in the cache are not opened.

    pictures: SHA-256 of a file -> the file. Raises UserError if the tower is missing or the cache holds something else.
    """
    known = _read(cache)
    missing = {str(file): digest for digest, file in pictures.items() if digest not in known}
    if missing:
        model = image_tower(TOWER).to(memory_format=torch.channels_last)
        parts = batched(tqdm(missing, desc="classes", leave=False, disable=None), BATCH)
        for files, pixels, _ in load_images(parts, list, _pixels):
            for file, classes in zip(files, _classify(model, pixels), strict=True):
                known[missing[file]] = classes
        _write(cache, known)
    return known


def _pixels(file: str) -> torch.Tensor:
    """(3, side, side) in [-1, 1]"""
    image = open_image(Path(file)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1) / 127.5 - 1


@torch.inference_mode()
def _classify(model: nn.Module, pixels: torch.Tensor) -> list[dict[int, float]]:
    probabilities, classes = model(pixels).softmax(dim=-1).topk(KEPT)  # (n, k) each
    return [dict(zip(*pair, strict=True)) for pair in zip(classes.tolist(), probabilities.tolist(), strict=True)]


def _read(cache: Path) -> Predictions:
    if not cache.exists():
        return {}
    try:
        with np.load(cache) as arrays:
            if str(arrays["tower"]) != MADE_BY:
                raise UserError(f"{cache} holds predictions of {arrays['tower']}; delete it or name another file")
            rows = zip(arrays["digests"], arrays["classes"].tolist(), arrays["probabilities"].tolist(), strict=True)
            return {digest.tobytes(): dict(zip(*row, strict=True)) for digest, *row in rows}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise UserError(f"{cache} is not a file of predictions ({error}); delete it or name another file") from None


def _write(cache: Path, known: Predictions) -> None:
    with written_aside(cache) as aside:
        with aside.open("wb") as stream:
            np.savez(
                stream,
                tower=np.array(MADE_BY),
                digests=np.frombuffer(b"".join(known), dtype=np.uint8).reshape(len(known), -1),
                classes=np.array([list(classes) for classes in known.values()], dtype=np.int16),
                probabilities=np.array([list(classes.values()) for classes in known.values()], dtype=np.float32),
            )
        aside.rename(cache)
