"""Load images ahead of the model, with threads of this process or with worker processes.

Shapes: i images, s their side.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from genius.errors import UserError

Part = TypeVar("Part")
LoadImage = Callable[[str], Tensor | None]
CHUNK = 32  # images that a worker returns at once, which bounds what waits in shared memory
PREFETCH = 2  # chunks that each worker has ready or is working on


def enough_pixels(preprocess: dict[str, Any]) -> int:
    """The longer side at which an image may be opened for this preprocessing: a large JPEG is then
    decoded in part.
    """
    size = preprocess["size"]
    return 4 * (size if isinstance(size, int) else max(size))


class ImagePreprocessor:
    """Opens an image and applies the encoder's preprocessing. Can be pickled if `open_path` can."""

    def __init__(self, open_path: Callable[[str], Image.Image | None], preprocess: dict[str, Any]):
        """open_path: returns None for an image to be skipped. preprocess: of the encoder's
        config.
        """
        self._open = open_path
        self._transform = image_transform_v2(PreprocessCfg(**preprocess), is_train=False)

    def __call__(self, path: str) -> Tensor | None:
        """Pixels (3, s, s), or None for a skipped image."""
        image = self._open(path)
        return None if image is None else self._transform(image)


def load_images(
    parts: Iterable[Part], paths: Callable[[Part], list[str]], load: LoadImage, workers: int = 0
) -> Iterator[tuple[Part, Tensor, Tensor]]:
    """Yield each part, in order, with its images as `stack_images` returns them. While the caller
    works on one part, the next one is loaded.

    paths: the image paths of a part. load: returns (3, s, s), or None for a skipped image;
    UserErrors are passed on. workers: worker processes, for which `load` must be picklable; 0:
    threads.
    """
    if workers:
        yield from _load_with_processes(parts, paths, load, workers)
        return
    waiting: deque[tuple[Part, Iterator[Tensor | None]]] = deque()
    pool = ThreadPoolExecutor(initializer=compute_on_one_core)
    try:
        for part in parts:
            waiting.append((part, pool.map(load, paths(part))))
            if len(waiting) > 1:
                part, images = waiting.popleft()
                yield part, *stack_images(images)
        for part, images in waiting:
            yield part, *stack_images(images)
    finally:
        pool.shutdown(cancel_futures=True)


def compute_on_one_core() -> None:
    """Torch computes on one core in this thread. Else it would keep threads of OpenMP's for this
    thread alone, and all that the model computes meanwhile would be slower (search/batching.py).
    """
    # a thread asks when it first computes; from then on it keeps what it has
    torch.get_num_threads()
    threadpool_limits(1, "openmp")


def stack_images(images: Iterable[Tensor | None]) -> tuple[Tensor, Tensor]:
    """Images (3, s, s) or None -> (i, 3, s, s) without the Nones, or an empty tensor, and a mask
    (images,) bool: which are kept.
    """
    images = list(images)
    kept = [image for image in images if image is not None]
    return (
        torch.stack(kept) if kept else torch.zeros(0),
        torch.tensor([image is not None for image in images], dtype=torch.bool),
    )


def _load_with_processes(
    parts: Iterable[Part], paths: Callable[[Part], list[str]], load: LoadImage, workers: int
) -> Iterator[tuple[Part, Tensor, Tensor]]:
    # parts that are being loaded, and the number of their chunks
    pending: deque[tuple[Part, int]] = deque()

    def chunks() -> Iterator[list[str]]:
        for part in parts:
            part_paths = paths(part)
            # a part without images has one empty chunk
            starts = range(0, max(len(part_paths), 1), CHUNK)
            pending.append((part, len(starts)))
            yield from (part_paths[start : start + CHUNK] for start in starts)

    loaded = []
    for chunk in DataLoader(
        _ChunkDataset(load),
        sampler=chunks(),
        batch_size=None,  # the chunks are the batches
        num_workers=workers,
        prefetch_factor=PREFETCH,
        generator=torch.Generator(),
    ):
        if isinstance(chunk, UserError):
            raise chunk
        loaded.append(chunk)
        if len(loaded) == pending[0][1]:
            pixels, kept = zip(*loaded, strict=True)
            yield pending.popleft()[0], torch.cat(pixels), torch.cat(kept)
            loaded = []


class _ChunkDataset(Dataset):
    """Loads chunks of paths in a worker."""

    def __init__(self, load: LoadImage):
        self._load = load

    def __getitem__(self, paths: list[str]) -> tuple[Tensor, Tensor] | UserError:
        try:
            return stack_images(map(self._load, paths))
        except UserError as error:  # if a worker raised it, it would arrive wrapped in a traceback
            return error
