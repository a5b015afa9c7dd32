"""The processes that train together: one, unless several were started.

    accelerate launch -m training COLLECTION RUN           # a process for each GPU, on one host or several
    torchrun --nproc-per-node 2 -m training COLLECTION RUN --device cpu

COLLECTION and RUN lie where every host sees them. The batch of the settings is the global one: every process draws all
of it from the same numpy generator, computes its share, and gathers what losses compare; torch's own randomness
(dropout) belongs to each process. Gradients are averaged here rather than by DDP, because a step has two forward
passes, and a batch may hold no image, or no text. Alone, a process does nothing of all this.

Shapes: n things of a batch, d dim.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm import tqdm

from genius.runtime import usable_device

PATIENCE = timedelta(days=1)  # while the main process decodes, clusters or publishes
CHUNK = 2**25  # numbers averaged together


def join(device: str | None) -> torch.device:
    """Meet the other processes that were launched, if any; -> what to compute on.

    All but the main process are silent from then on. Raises UserError if the device cannot be used.
    """
    chosen = usable_device(device)
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        return chosen
    from accelerate import PartialState  # takes seconds; one process needs none of it

    state = PartialState(cpu=chosen.type == "cpu", timeout=PATIENCE)
    atexit.register(state.destroy_process_group)
    if not state.is_main_process:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (open as long as the process lives)
    return state.device


def default_workers(device: torch.device) -> int:
    """Processes that open images: beside a GPU as many as the host has cores for each process that computes."""
    return 0 if device.type == "cpu" else max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))


def count() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def number() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def is_main() -> bool:
    """Whether this process publishes, records and reports."""
    return number() == 0


def wait() -> None:
    """Until every process is here."""
    if count() > 1:
        dist.barrier()


@contextmanager
def main_first() -> Iterator[None]:
    """The main process goes through the block before the others do, which find what it left."""
    if not is_main():
        wait()
    yield
    if is_main():
        wait()


def bar(things: Iterable, **named: Any) -> tqdm:
    """A progress bar, of the main process only."""
    return tqdm(things, disable=not is_main(), **named)


def agreed(value: Any) -> Any:
    """The main process's value, on all."""
    if count() == 1:
        return value
    held = [value]
    dist.broadcast_object_list(held)
    return held[0]


def agree(module: nn.Module) -> None:
    """Give every process the main one's buffers: codebooks, running statistics."""
    if count() > 1:
        for buffer in module.buffers():
            dist.broadcast(buffer, 0)


def share(n: int) -> slice:
    """Which of n things this process computes: a contiguous part, or all if there are fewer things than processes."""
    return _share(n, number()) if n >= count() else slice(0, n)


def own_weight(n: int) -> float:
    """What the mean over this process's share of n counts, so that the mean over processes is that over all n."""
    own = share(n)
    return (own.stop - own.start) * count() / n if n >= count() else 1.0


def gathered(own: Tensor, n: int) -> Tensor:
    """The shares of all processes together: (own, d) -> (n, d), with gradients."""
    return own if count() == 1 or n < count() else _Gather.apply(own, n)


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its mean over processes."""
    if count() == 1:
        return
    waiting, size = [], 0
    for gradient in [p.grad for p in parameters if p.grad is not None]:
        waiting.append(gradient)
        size += gradient.numel()
        if size >= CHUNK:
            _average(waiting)
            waiting, size = [], 0
    if waiting:
        _average(waiting)


def mean(value: float) -> float:
    """Of a figure over processes."""
    if count() == 1:
        return value
    values = [0.0] * count()
    dist.all_gather_object(values, value)
    return sum(values) / count()


class _Gather(torch.autograd.Function):
    """All-gather of unequal shares.

    Every process computes the same loss from the same rows, so what the processes' gradients of a row add up to is
    known without asking them: their number times one's own.
    """

    @staticmethod
    def forward(ctx: Any, own: Tensor, n: int) -> Tensor:
        ctx.rows = share(n)
        sizes = [_share(n, process).stop - _share(n, process).start for process in range(count())]
        padded = F.pad(own, (0, 0, 0, max(sizes) - len(own))).contiguous()
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return count() * gradient[ctx.rows], None


def _share(n: int, process: int) -> slice:
    return slice(n * process // count(), n * (process + 1) // count())


def _average(gradients: list[Tensor]) -> None:
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat /= count()
    for gradient, piece in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(piece.view(gradient.shape))
