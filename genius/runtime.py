"""The device to compute on, what it can do, how long its stages take, and how a process keeps its
memory.

glibc returns large freed blocks to the system and requests them again at every step, page by page.
Keeping them reduced a bf16 training step of ResNet-10-T (384 images of 80 px, two cores) from 1.24
to 0.91 s, and a search of one query (T5-small, 50 beams) from 45 to 31 ms.
"""

import ctypes
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from genius.errors import UserError

M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8  # of glibc's malloc.h


def usable_device(name: str | None) -> torch.device:
    """The named device, or a GPU if there is one. Raises UserError if it cannot be used."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"device {name!r} cannot be used ({str(error).splitlines()[0]}); leave it "
            "out, or name cpu or cuda"
        ) from None
    return device


def computes_bf16(device: torch.device | str) -> bool:
    """Whether a device has instructions for bf16. Others emulate it, and take 15 to 50 times as
    long as for float32.
    """
    if torch.device(device).type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # torch has no public function that says this of a processor
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()


class Stopwatch:
    """Times the stages of a search for a batch of queries, each by its share: the time of the stage
    divided by the size of the batch.
    """

    def __init__(
        self, device: torch.device, queries: int, milliseconds: dict[str, float] | None = None
    ):
        """milliseconds: of the stages before."""
        self.milliseconds = dict(milliseconds or {})
        self._device, self._queries = device, queries

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self.milliseconds[name] = (time.perf_counter() - start) * 1000 / self._queries


@contextmanager
def tf32_products() -> Iterator[None]:
    """Within it, GPUs multiply float32 matrices in TF32, whose mantissa has 10 bits, as many as
    half precision.

    For the whole process. A ViT-L/14 encodes about four times as many images per second, and its
    vectors have a cosine of 0.999999 to those in float32 (measured in training/LOG.md). CPUs
    compute as before.
    """
    products = torch.backends.cuda.matmul
    before = products.fp32_precision
    products.fp32_precision = "tf32"
    try:
        yield
    finally:
        products.fp32_precision = before


def keep_freed_memory(shared: bool = False) -> None:
    """Make glibc's malloc keep freed memory; does nothing with another malloc.

    It changes the whole process, which then never shrinks: for command lines, not for library
    functions. shared: by all threads. Otherwise each keeps its own, and each thread of a server
    what its largest picture needed: 1.2 GB after six pictures of 24 megapixels at once, instead of
    0.4 GB.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            if shared:
                libc.mallopt(M_ARENA_MAX, 1)
            libc.mallopt(M_MMAP_MAX, 0)
            libc.mallopt(M_TRIM_THRESHOLD, -1)  # never
