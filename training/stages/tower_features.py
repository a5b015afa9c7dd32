"""What locked towers make of images and texts: features without a head, computed once and kept in a
run.

RUN/towers/images and RUN/towers/texts are feature files of each distinct image, in several views,
and of each distinct text; names.json lists them. Heads are trained on them, and the features stage
gives them to the trained heads. They depend on the towers and not on the heads: a training with
other heads uses the same files.

Shapes: i images, v views of an image, t width of a tower's outputs, k images or texts, d embedding
dim.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from genius.collections.mbeir import Collection
from genius.encoding.features import EncoderFeatureCache, FeatureFiles, Lookup
from genius.errors import UserError
from genius.index.segments import Vectors
from genius.models.encoder import Encoder, Features
from genius.run import Run
from genius.texts import stable_hash
from training.checkpoint import fingerprint
from training.data.class_pictures import with_pictures
from training.data.image_augmentation import Crops, open_item_image
from training.settings import EncoderSettings

KINDS = ("images", "texts")
NAMES = "names.json"
PROBE = 256  # texts whose tokens identify a tokenizer
BLOCK = 4096  # rows that are read together


class Tower:
    """One tower of an encoder without its head; stands in for an encoder where feature files are
    filled.
    """

    def __init__(self, encoder: Encoder, kind: str):
        """kind: one of KINDS. Raises UserError if the tower has no head that can be split off."""
        split = encoder.split()
        self.config = encoder.config
        self._encoder = encoder
        self._outputs = split.image_outputs if kind == "images" else split.text_outputs
        blank = (
            encoder.preprocess([Image.new("RGB", (32, 32))])
            if kind == "images"
            else encoder.tokenize(["a"])
        )
        self.device = encoder.device
        self.dim = self._outputs(blank.to(self.device)).shape[1]  # t

    def __call__(
        self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor
    ) -> Features:
        """Pixels (i, 3, side, side) -> image (i, t), no text. Raises UserError for an output beyond
        half precision.
        """
        return Features(self._finite(pixels), torch.zeros(0), image_mask, text_mask)

    def encode(self, images: Sequence[None], texts: Sequence[str]) -> Features:
        """k texts -> text (k, t), no image. Raises UserError for an output beyond half
        precision.
        """
        masks = torch.zeros(len(texts), dtype=torch.bool), torch.ones(len(texts), dtype=torch.bool)
        return Features(torch.zeros(0), self._finite(self._encoder.tokenize(texts)), *masks)

    def _finite(self, inputs: Tensor) -> Tensor:
        outputs = self._outputs(inputs.to(self.device)).float()
        if not outputs.half().isfinite().all():
            raise UserError("an output of the tower does not fit half precision; use another tower")
        return outputs


@dataclass(frozen=True)
class Views:
    """Opens the views of an image: itself, and random crops that depend on its path and the
    seed.
    """

    collection: Collection
    settings: EncoderSettings
    seed: int

    def names(self, paths: Sequence[str]) -> list[str]:
        """(i · v) names of all views, those of an image one after the other."""
        return [f"{view}/{path}" for path in paths for view in range(self.settings.locked.views)]

    def __call__(self, name: str) -> Image.Image:
        """Raises UserError for an image that cannot be opened."""
        view, _, path = name.partition("/")
        image = open_item_image(self.collection, path)
        if view == "0":
            return image
        settings = self.settings
        rng = np.random.default_rng((self.seed, stable_hash(path)))
        crops = Crops.draw(
            settings.locked.views - 1, settings.min_crop, settings.horizontal_flip, rng
        )
        return crops.view(int(view) - 1, image)


def source_of(encoder: Encoder, kind: str, names: list[str], views: Views) -> str:
    """Checksum of what the outputs of a tower depend on: its weights, its inputs, and how these are
    prepared.
    """
    inputs = hashlib.sha256(json.dumps(names).encode()).hexdigest()
    weights = tower_digest(encoder, kind)
    if kind == "texts":
        tokens = encoder.tokenize(names[:PROBE]).cpu().numpy()
        return fingerprint(weights, hashlib.sha256(tokens.tobytes()).hexdigest(), inputs)
    settings = views.settings
    drawn = [settings.locked.views, settings.min_crop, settings.horizontal_flip, views.seed]
    root = str(views.collection.root.resolve())
    return fingerprint(weights, encoder.config.preprocess, root, inputs, drawn)


def tower_digest(encoder: Encoder, kind: str) -> str:
    """Checksum of the weights of one tower, without its head."""
    split = encoder.split()
    of_heads = (split.image_head, split.text_head)
    heads = {id(weight) for head in of_heads for weight in (*head.parameters(), *head.buffers())}
    digest = hashlib.sha256()
    for name, weight in sorted([*encoder.clip.named_parameters(), *encoder.clip.named_buffers()]):
        of_tower = name.startswith("visual.") == (kind == "images") and not name.startswith(
            "logit_"
        )
        if of_tower and id(weight) not in heads:
            digest.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def statistics(outputs: np.ndarray) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (t,) of outputs (k, t)."""
    total, squares = np.zeros((2, outputs.shape[1]))
    for start in range(0, len(outputs), BLOCK):
        block = outputs[start : start + BLOCK].astype(np.float64)
        total = total + block.sum(0)
        squares = squares + np.square(block).sum(0)
    mean = total / len(outputs)
    deviation = np.sqrt(np.maximum(squares / len(outputs) - np.square(mean), 0))
    # an output that hardly varies is not blown up: folded into a head, it would spoil the 8-bit
    # scales of its rows
    deviation = np.maximum(deviation, 0.1 * deviation.mean())
    return torch.from_numpy(mean).float(), torch.from_numpy(deviation).float()


def known_features(
    run: Run, collection: Collection, settings: EncoderSettings, encoder: Encoder, seed: int
) -> EncoderFeatureCache:
    """What the heads make of the outputs in the run that are of these towers."""
    if not settings.locked.enabled:
        return EncoderFeatureCache()
    split = encoder.split()
    views = Views(collection, settings, seed)
    lookups: dict[str, Lookup] = dict.fromkeys(KINDS, lambda names: {})
    for kind, head in zip(KINDS, (split.image_head, split.text_head), strict=True):
        folder = run.path / "towers" / kind
        if not (folder / NAMES).is_file():
            continue
        names = json.loads((folder / NAMES).read_text(encoding="utf-8"))
        try:
            files = FeatureFiles.finished(folder, source_of(encoder, kind, names, views))
        except UserError:  # of another tower or other inputs
            continue
        if kind == "images":
            names, outputs = with_pictures(names, files.image, head, settings.locked, seed)
            rows = count(0, settings.locked.views)
        else:
            outputs, rows = files.text[:, 0], count()
        row = dict(zip(names, rows))
        lookups[kind] = partial(look_up, row, partial(_project, outputs, head))
    return EncoderFeatureCache(lookups["images"], lookups["texts"])


def look_up(
    row: dict[str, int], features: Callable[[np.ndarray], Tensor], names: Sequence[str]
) -> dict[str, Tensor]:
    """The features (d,) of those names that have a row; features: rows (k,) -> (k, d)."""
    known = [name for name in names if name in row]
    if not known:
        return {}
    return dict(zip(known, features(np.array([row[name] for name in known])), strict=True))


@torch.inference_mode()
def _project(outputs: Vectors, head: nn.Module, rows: np.ndarray) -> Tensor:
    """Rows (k,) of outputs (n, t) -> (k, d)."""
    inputs = torch.from_numpy(outputs[rows].astype(np.float32))
    return head(inputs.to(next(head.parameters()).device)).float().cpu()
