"""The device to compute on, and how this process keeps its memory.

glibc returns large freed blocks to the system and takes them again at every step, page by page. Keeping them reduced a
bf16 training step of ResNet-10-T (384 images of 80 px, two cores) from 1.24 to 0.91 s, and a search of one query
(T5-small, 50 beams, mode fast) from 45 to 31 ms.
"""

from __future__ import annotations

import ctypes
import sys
import time
from functools import cache

import torch

from genius.errors import UserError

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's malloc.h


def usable_device(name: str | None) -> torch.device:
    """The named device, or a GPU if there is one. Raises UserError if it cannot be used."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"device {name!r} cannot be used ({str(error).splitlines()[0]}); leave it out, or name cpu or cuda"
        ) from None
    return device


@cache
def bf16_pays(device: torch.device) -> bool:
    """Whether this processor multiplies matrices of a decoder's sizes faster in bf16: measured, in a few ms."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()

    def milliseconds(dtype: torch.dtype) -> float:
        rows, weights = torch.ones(256, 512, dtype=dtype), torch.ones(512, 2048, dtype=dtype)
        spent = []
        for _ in range(5):
            start = time.perf_counter()
            rows @ weights
            spent.append(time.perf_counter() - start)
        return min(spent)

    return milliseconds(torch.bfloat16) < 0.8 * milliseconds(torch.float32)


def keep_freed_memory() -> None:
    """Tell glibc's malloc; elsewhere there is nothing to tell."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(M_MMAP_MAX, 0)
            libc.mallopt(M_TRIM_THRESHOLD, -1)  # never
