"""Encoder features of many inputs, in memory-mapped files that are filled shard by shard.

A folder holds image.npy (n, d), text.npy (n, p, d), embedding.npy (n, d), masks.npy (n, 2) and,
once the fusion is trained, fused.npy (n, p, d); all vectors are fp16. p is the number of
instruction phrasings with which each query is encoded, 1 for candidates. Where the encoder reads
instructions apart, queries have instruction.npy (n, p, d), and text.npy is (n, 1, d). The file
shards/NUMBER marks a complete shard: a run that was killed encodes only the missing ones, and
processes on several hosts may fill different shards. A folder may hold some of the arrays alone:
what a locked image tower makes of images has no texts. progress.json says what was done: {"facts":
source, "things": n, "phrasings": p, "shard": inputs of a shard, "done": …, "fusion": digest,
"arrays": […]}.

Shapes: n inputs, p phrasings, d embedding dim, b batch, i images, s image side.
"""

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, compress, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from genius.encoding.image_loader import ImagePreprocessor, load_images
from genius.errors import UserError
from genius.files import disk_errors_explained, fsync, reserve_array, write_array, write_json
from genius.models.encoder import Features
from genius.models.encoder_config import EncoderConfig
from genius.models.fusion import Fusion
from genius.runtime import tf32_products
from genius.texts import normalize_text

SHARD = 4096  # inputs; their vectors stay in memory until the shard is written
ARRAYS = ("image", "text", "embedding", "masks")
WITH_INSTRUCTIONS = (*ARRAYS, "instruction")
MAX_IMAGES = 100_000  # whose features are kept; with d = 768, 300 MB
# paths or texts -> the features (d,) of those that it has
Lookup = Callable[[Sequence[str]], dict[str, Tensor]]


class FeatureEncoder(Protocol):
    """An Encoder, or what stands in for one, as a tower alone."""

    config: EncoderConfig
    dim: int

    @property
    def device(self) -> torch.device: ...

    def __call__(
        self, pixels: Tensor, image_mask: Tensor, tokens: Tensor, text_mask: Tensor
    ) -> Features: ...

    def encode(self, images: Sequence[None], texts: Sequence[str]) -> Features: ...


class EncoderInput(NamedTuple):
    """A candidate, or a query with p phrasings of its instruction."""

    image: str | None  # relative path
    texts: Sequence[str]  # p with the instruction in them, or one
    instructions: Sequence[str] = ()  # p that the encoder reads apart


class EncoderFeatureCache:
    """Features of images that were encoded before, and of images and texts that a lookup has.

    One photograph is often a candidate and the query of several rows.
    """

    def __init__(
        self,
        images: Lookup = lambda paths: {},
        texts: Lookup = lambda texts: {},
        keep: int = MAX_IMAGES,
    ):
        """images: by relative path; texts: by normalized text. keep: images that were encoded and
        are kept.
        """
        self._lookup, self.texts, self._keep = images, texts, keep
        self._cached: dict[str, Tensor] = {}
        self.instructions: dict[str, Tensor] = {}  # a few hundred, which thousands of queries share

    def images(self, paths: Sequence[str]) -> dict[str, Tensor]:
        """The features (d,) of those images that are cached, by path."""
        cached = {path: self._cached[path] for path in paths if path in self._cached}
        return cached | self._lookup([path for path in paths if path not in cached])

    def add_images(self, features: Mapping[str, Tensor]) -> None:
        """Keep the features (d,) of images, by path; when there are too many, earlier ones are
        dropped.
        """
        if len(self._cached) + len(features) > self._keep:
            self._cached.clear()
        if len(features) <= self._keep:
            self._cached.update(features)

    def with_image_lookup(self, lookup: Lookup) -> "EncoderFeatureCache":
        """The same lookups, and this one for images that they do not have; nothing is cached
        yet.
        """

        def both(paths: Sequence[str]) -> dict[str, Tensor]:
            features = self._lookup(paths)
            return features | lookup([path for path in paths if path not in features])

        return EncoderFeatureCache(both, self.texts)


class ShardBatch(NamedTuple):
    """Inputs of one shard that are encoded together."""

    shard: int
    rows: slice  # within the shard
    inputs: list[EncoderInput]
    cached: dict[str, Tensor]  # features (d,) of images that need not be encoded
    paths: list[str]  # the other images of these inputs, each once


class FeatureFiles:
    """The feature arrays of one folder. Open it with `create` or `finished`."""

    image: np.ndarray  # (n, d)
    text: np.ndarray  # (n, p, d), or (n, 1, d) beside an instruction
    embedding: np.ndarray  # (n, d)
    masks: np.ndarray  # (n, 2)
    instruction: np.ndarray | None = None  # (n, p, d)

    def __init__(self, folder: Path):
        self.folder = folder
        self.progress = read_progress(folder)
        self.arrays = {
            name: np.load(folder / f"{name}.npy", mmap_mode="r")
            for name in self.progress.get("arrays", ARRAYS)
        }
        vars(self).update(self.arrays)  # not all, of towers alone

    def __len__(self) -> int:
        """n."""
        return self.progress["things"]

    @classmethod
    def create(
        cls,
        folder: Path,
        n: int,
        phrasings: int,
        dim: int,
        source: str,
        arrays: Sequence[str] = ARRAYS,
        shard: int = 0,
    ) -> Self:
        """Open a folder to fill it; start again unless it has the same source and phrasings.

        source: a checksum of the encoder and its inputs. arrays: those that are kept. shard: inputs
        of a new folder's shards; 0: SHARD. Raises UserError, and leaves no folder, if the disk has
        not enough space.
        """
        progress = read_progress(folder)
        if progress.get("facts") == source and progress.get("phrasings") == phrasings:
            return cls(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("progress.json", "fused.npy"):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / "shards", ignore_errors=True)
        worded = n, phrasings, dim
        shapes = {
            "image": (n, dim),
            "text": worded,
            "embedding": (n, dim),
            "masks": (n, 2),
            "instruction": worded,
        }
        if "instruction" in arrays:
            shapes["text"] = n, 1, dim
        try:
            with disk_errors_explained(folder):
                for name in arrays:
                    kind = np.bool_ if name == "masks" else np.float16
                    reserve_array(folder / f"{name}.npy", shapes[name], kind)
        except UserError:
            shutil.rmtree(folder)
            raise
        progress = {
            "facts": source,
            "things": n,
            "phrasings": phrasings,
            "shard": shard or SHARD,
            "done": 0,
        }
        write_json(folder / "progress.json", progress | {"fusion": None, "arrays": list(arrays)})
        return cls(folder)

    @classmethod
    def finished(cls, folder: Path, source: str) -> Self:
        """Open a complete folder. Raises UserError if it is incomplete or has another source."""
        progress = read_progress(folder)
        if progress.get("facts") != source or progress["done"] != progress["things"]:
            raise UserError(
                f"{folder} does not hold the features of this encoder and collection; if it is the "
                "right collection, make them with: python -m training.features COLLECTION RUN"
            )
        return cls(folder)

    def unfinished(self) -> list[int]:
        """The numbers of the shards that are incomplete."""
        self.progress = read_progress(self.folder)  # another process may have finished
        if self.progress["done"] == len(self):
            return []
        shards = range(-(-len(self) // self.shard_size))
        return [number for number in shards if not (self.folder / "shards" / str(number)).exists()]

    @property
    def shard_size(self) -> int:
        """Inputs per shard."""
        return self.progress["shard"]

    def size(self, shard: int) -> int:
        """The number of inputs in a shard; the last one may be smaller."""
        return min(self.shard_size, len(self) - shard * self.shard_size)

    @property
    def facts(self) -> str:
        """Checksum of the encoder and its inputs."""
        return self.progress["facts"]

    @property
    def phrasings(self) -> int:
        """p."""
        return self._worded.shape[1]

    @property
    def _worded(self) -> np.ndarray:
        """The array (n, p, d) that depends on the phrasing."""
        return self.text if self.instruction is None else self.instruction

    def fused(self, fusion_digest: str) -> np.ndarray:
        """(n, p, d) fused features. Raises UserError unless they were computed by the fusion with
        this digest.
        """
        if self.progress["fusion"] != fusion_digest:
            raise UserError(
                f"{self.folder} does not hold the fused features of this run; make them with: "
                "python -m training.quantizer COLLECTION RUN"
            )
        return np.load(self.folder / "fused.npy", mmap_mode="r")

    def features(self, rows: np.ndarray | slice, phrasing: np.ndarray | int = 0) -> Features:
        """The features (b, d) of some inputs, in fp32. phrasing: of all of them, or of each
        (b,).
        """
        masks = torch.from_numpy(np.array(self.masks[rows]))
        image, worded = (
            torch.from_numpy(values.astype(np.float32))
            for values in (self.image[rows], self._worded[rows, phrasing])
        )
        if self.instruction is None:
            return Features(image, worded, masks[:, 0], masks[:, 1])
        text = torch.from_numpy(self.text[rows, 0].astype(np.float32))
        return Features(image, text, masks[:, 0], masks[:, 1], worded)

    def fill(
        self,
        encoder: FeatureEncoder,
        inputs: Iterable[EncoderInput],
        open_path: Callable[[str], Image.Image | None],
        batch_size: int,
        label: str,
        shards: Collection[int] | None = None,
        workers: int = 0,
        cache: EncoderFeatureCache | None = None,
        written: Callable[[int], None] = lambda shard: None,
    ) -> None:
        """Encode the incomplete shards, or those of them that are in `shards`.

        inputs: all n of them. open_path: opens the image at a relative path, or returns None to
        skip it. label: of the progress bar. workers: processes that open images, for which
        open_path must be picklable; 0: threads. cache: features that need not be computed again.
        written: called with the number of each shard once it is on the disk. GPUs multiply in TF32.

        Raises UserError if there are fewer than n inputs.
        """
        cache = cache or EncoderFeatureCache()
        missing = [number for number in self.unfinished() if shards is None or number in shards]
        batches = self._batches(inputs, missing, batch_size, label, cache)
        load = ImagePreprocessor(open_path, encoder.config.preprocess)
        rows = sum(map(self.size, missing))
        bar = tqdm(total=rows, desc=label, unit="item", smoothing=0.05, delay=1, disable=not rows)
        with tf32_products(), bar:
            for batch, pixels, opened in load_images(batches, attrgetter("paths"), load, workers):
                if batch.rows.start == 0:
                    size = self.size(batch.shard)
                    vectors = {
                        name: np.empty((size, *a.shape[1:]), a.dtype)
                        for name, a in self.arrays.items()
                    }
                images = batch.cached | encode_images(encoder, batch.paths, pixels, opened)
                cache.add_images(images)
                encoded = encode_batch(encoder, batch.inputs, images, cache)
                for name, values in vectors.items():
                    values[batch.rows] = encoded[name]
                bar.update(len(batch.inputs))
                if batch.rows.stop == self.size(batch.shard):
                    self._write(batch.shard, vectors)
                    written(batch.shard)
        if not self.unfinished():
            self._update_progress(done=len(self))
            shutil.rmtree(self.folder / "shards", ignore_errors=True)

    def _batches(
        self,
        inputs: Iterable[EncoderInput],
        shards: Sequence[int],
        batch_size: int,
        label: str,
        cache: EncoderFeatureCache,
    ) -> Iterator[ShardBatch]:
        stream = iter(inputs)
        for shard in range(max(shards, default=-1) + 1):
            for start in range(0, size := self.size(shard), batch_size):
                expected = min(batch_size, size - start)
                batch = list(islice(stream, expected))
                if len(batch) < expected:
                    raise UserError(
                        f"{label}: only {shard * self.shard_size + start + len(batch)} of "
                        f"{len(self)} were found; the collection changed, start again"
                    )
                if shard in shards:
                    paths = list(dict.fromkeys(each.image for each in batch if each.image))
                    features = cache.images(paths)
                    rest = [path for path in paths if path not in features]
                    yield ShardBatch(shard, slice(start, start + expected), batch, features, rest)

    def _write(self, shard: int, vectors: Mapping[str, np.ndarray]) -> None:
        """Write a shard, not through the mapping: hosts that share a page of it would undo each
        other's work.
        """
        for name, array in self.arrays.items():
            file = self.folder / f"{name}.npy"
            with file.open("r+b") as stream:
                stream.seek(array.offset + shard * self.shard_size * array.strides[0])
                stream.write(vectors[name].tobytes())
            fsync(file)
        (self.folder / "shards").mkdir(exist_ok=True)
        marker = self.folder / "shards" / str(shard)
        marker.touch()
        fsync(marker)
        with suppress(OSError):  # some systems cannot do so for a folder
            fsync(marker.parent)

    def _update_progress(self, **changes: int | str | None) -> None:
        self.progress |= changes
        write_json(self.folder / "progress.json", self.progress)

    @torch.inference_mode()
    def fuse(self, fusion: Fusion, digest: str, batch_size: int = 4096) -> None:
        """Compute fused.npy, which replaces the old file at the end, and record the fusion's
        digest.
        """
        device = next(fusion.parameters()).device
        partial = self.folder / "fused.partial"

        def blocks() -> Iterator[np.ndarray]:
            for start in range(0, len(self), batch_size):
                rows = slice(start, start + batch_size)
                fused = [
                    fusion(self.features(rows, phrasing).to(device))
                    for phrasing in range(self.phrasings)
                ]
                yield torch.stack(fused, dim=1).half().cpu().numpy()

        write_array(partial, self._worded.shape, self._worded.dtype, blocks())
        fsync(partial)
        self._update_progress(fusion=None)
        partial.rename(self.folder / "fused.npy")
        self._update_progress(fusion=digest)


@torch.inference_mode()
def encode_images(
    encoder: FeatureEncoder, paths: Sequence[str], pixels: Tensor, opened: Tensor
) -> dict[str, Tensor]:
    """The features (d,) of the images that could be opened, by path.

    pixels (i, 3, s, s): the images that could be opened. opened (paths,) bool: which these are.
    """
    if not len(pixels):
        return {}
    present = torch.ones(len(pixels), dtype=torch.bool)
    images = encoder(pixels.to(encoder.device), present, torch.zeros(0), ~present).image.cpu()
    return dict(zip(compress(paths, opened.tolist()), images, strict=True))


@torch.inference_mode()
def encode_batch(
    encoder: FeatureEncoder,
    inputs: Sequence[EncoderInput],
    images: dict[str, Tensor],
    cache: EncoderFeatureCache,
) -> dict[str, Tensor]:
    """Encode b inputs: image (b, d), text (b, p, d), embedding (b, d), of the first phrasing, and
    masks (b, 2); and instruction (b, p, d), if they have any, when text is (b, 1, d).

    images: the features (d,) of their images, by path; an image that is missing was skipped.
    """
    vectors = torch.zeros(len(inputs), encoder.dim)
    image_mask = torch.tensor([each.image in images for each in inputs], dtype=torch.bool)
    if image_mask.any():
        vectors[image_mask] = torch.stack(
            [images[each.image] for each in inputs if each.image in images]
        )
    normal = [[normalize_text(text) for text in each.texts] for each in inputs]
    texts = encode_texts(encoder, normal, cache.texts)
    text_mask = torch.tensor([bool(own[0]) for own in normal])
    encoded = {
        "image": vectors,
        "text": texts,
        "embedding": Features(vectors, texts[:, 0], image_mask, text_mask).embedding(),
        "masks": torch.stack([image_mask, text_mask], dim=1),
    }
    instructions = [[normalize_text(text) for text in each.instructions] for each in inputs]
    if not any(instructions):
        return encoded
    known = cache.instructions
    apart = encode_texts(
        encoder, instructions, lambda texts: {text: known[text] for text in texts if text in known}
    )
    known |= zip(chain(*instructions), apart.flatten(0, 1), strict=True)
    return encoded | {"instruction": apart}


def encode_texts(encoder: FeatureEncoder, texts: Sequence[Sequence[str]], lookup: Lookup) -> Tensor:
    """Features (b, p, d) of b times p normalized texts, zero where empty; each distinct text is
    encoded once.

    lookup: of features that are known.
    """
    distinct = list(dict.fromkeys(wording for wordings in texts for wording in wordings if wording))
    features = lookup(distinct)
    # little padding
    rest = sorted((wording for wording in distinct if wording not in features), key=len)
    for start in range(0, len(rest), len(texts)):
        some = rest[start : start + len(texts)]
        features |= zip(some, encoder.encode([None] * len(some), some).text.cpu(), strict=True)
    features[""] = torch.zeros(encoder.dim)
    return torch.stack(
        [torch.stack([features[wording] for wording in wordings]) for wordings in texts]
    )


def batched(values: Iterable, size: int) -> Iterator[list]:
    """Lists of `size` values; the last one may be shorter."""
    stream = iter(values)
    while batch := list(islice(stream, size)):
        yield batch


def read_progress(folder: Path) -> dict[str, Any]:
    """The content of progress.json; empty if there is none."""
    file = folder / "progress.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
