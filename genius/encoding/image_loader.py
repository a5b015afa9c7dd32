"""Images opened ahead of the model, by threads of this process or by processes of their own.

Shapes: i images, s their side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from genius.errors import UserError

Part = TypeVar("Part")
OpenPath = Callable[[str], Tensor | None]
CHUNK = 32  # images that a process hands over at once: what lies ready in shared memory stays small
AHEAD = 2  # chunks that each process has ready or is working on


def opened(
    parts: Iterable[Part], paths: Callable[[Part], list[str]], open_path: OpenPath, workers: int = 0
) -> Iterator[tuple[Part, Tensor, Tensor]]:
    """Each part, in order, with its images (i, 3, s, s), an empty tensor if it has none, and which there are.

    open_path: gives (3, s, s), or None for an image that is left out. workers: processes, for which open_path can
    be pickled; 0: threads. Raises UserError as open_path does.
    """
    if workers:
        yield from _by_processes(parts, paths, open_path, workers)
        return
    with ThreadPoolExecutor() as pool:
        for part in parts:
            yield part, *stacked(pool.map(open_path, paths(part)))


def stacked(images: Iterable[Tensor | None]) -> tuple[Tensor, Tensor]:
    """-> the images that there are, (i, 3, s, s) or empty, and (wanted,) bool, which."""
    images = list(images)
    there = [image for image in images if image is not None]
    return (
        torch.stack(there) if there else torch.zeros(0),
        torch.tensor([image is not None for image in images], dtype=torch.bool),
    )


def _by_processes(
    parts: Iterable[Part], paths: Callable[[Part], list[str]], open_path: OpenPath, workers: int
) -> Iterator[tuple[Part, Tensor, Tensor]]:
    asked: deque[tuple[Part, int]] = deque()  # parts on their way, and how many chunks each has

    def chunks() -> Iterator[list[str]]:
        for part in parts:
            wanted = paths(part)
            starts = range(0, max(len(wanted), 1), CHUNK)  # without images one that is empty: parts wait in a queue
            asked.append((part, len(starts)))
            yield from (wanted[start : start + CHUNK] for start in starts)

    images = []
    for chunk in DataLoader(
        _Opened(open_path),
        batch_sampler=chunks(),
        num_workers=workers,
        prefetch_factor=AHEAD,
        collate_fn=_unchanged,
        generator=torch.Generator(),
    ):
        if isinstance(chunk, UserError):
            raise chunk
        images.append(chunk)
        if len(images) == asked[0][1]:
            pixels, there = zip(*images, strict=True)
            yield asked.popleft()[0], torch.cat(pixels), torch.cat(there)
            images = []


class _Opened(Dataset):
    """What a process is asked for: chunks of paths."""

    def __init__(self, open_path: OpenPath):
        self._open = open_path

    def __getitems__(self, paths: list[str]) -> tuple[Tensor, Tensor] | UserError:
        try:
            return stacked(map(self._open, paths))
        except UserError as error:  # raised here, it would arrive wrapped in a traceback
            return error


def _unchanged(chunk: tuple[Tensor, Tensor] | UserError) -> tuple[Tensor, Tensor] | UserError:
    return chunk
