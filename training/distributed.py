"""Training with several processes, through accelerate; with one process every function here does
nothing.

    accelerate launch -m training COLLECTION RUN           # a process for each GPU, on one host or
                                                           several
    torchrun --nproc-per-node 2 -m training COLLECTION RUN --device cpu

COLLECTION and RUN are on a file system that every host shares. The batch of the settings is the
global one: every process draws all of it from the same numpy generator, computes its slice, and
gathers what losses compare; torch's own randomness (dropout) differs between processes. Gradients
are averaged here and not by DDP, because a step has two forward passes, and a batch may contain no
image, or no text.

Shapes: n rows of a batch, d dim.
"""

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor, nn
from torch.distributed.nn.functional import all_gather as all_gather_with_gradients
from tqdm import tqdm

from genius.errors import UserError, exit_on_user_error
from genius.runtime import usable_device

TIMEOUT = timedelta(days=1)  # while the main process decodes, clusters or publishes


def init_distributed(device: str | None) -> torch.device:
    """Connect to the other processes that were launched, if any; -> the device to compute on.

    All but the main process print nothing from then on. Raises UserError if the device cannot be
    used.
    """
    chosen = usable_device(device)
    state = PartialState(cpu=chosen.type == "cpu", timeout=TIMEOUT)
    if state.num_processes == 1:
        return chosen
    atexit.register(state.destroy_process_group)
    if not state.is_main_process:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (open as long as the process lives)
    return state.device


def run_alone(main: Callable[[], object]) -> None:
    """Run a command whose work processes do not share; several that were launched for it end with a
    sentence.
    """
    with exit_on_user_error():
        if (processes := os.environ.get("WORLD_SIZE", "1")) != "1":
            raise UserError(
                f"{processes} processes were started (WORLD_SIZE), but only training, its "
                "stages and training.folder "
                "share their work; start this command by python -m, without a launcher"
            )
        main()


def default_workers(device: torch.device) -> int:
    """Data-loader workers per process: with a GPU the host's cores divided by its processes,
    otherwise none.
    """
    return (
        0
        if device.type == "cpu"
        else max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    )


def world_size() -> int:
    return PartialState().num_processes


def rank() -> int:
    return PartialState().process_index


def is_main() -> bool:
    """Whether this process publishes, records and reports."""
    return PartialState().is_main_process


def barrier() -> None:
    PartialState().wait_for_everyone()


@contextmanager
def main_process_first() -> Iterator[None]:
    """The main process runs the block before the others, which find what it wrote; they go on if it
    failed, too.
    """
    if not is_main():
        barrier()
    try:
        yield
    finally:
        if is_main():
            barrier()


def progress_bar(items: Iterable, **options: Any) -> tqdm:
    return tqdm(items, disable=not is_main(), **options)


def broadcast_object(value: Any) -> Any:
    """The main process's value, on every process."""
    return broadcast_object_list([value])[0]


def broadcast_buffers(module: nn.Module) -> None:
    """Give every process the main process's buffers: codebooks, running statistics."""
    if world_size() > 1:
        for buffer in module.buffers():
            dist.broadcast(buffer, 0)


def local_slice(n: int) -> slice:
    """This process's slice of n rows; all of them if there are fewer rows than processes."""
    return _slice(n, rank()) if n >= world_size() else slice(0, n)


def local_weight(n: int) -> float:
    """Weight of the mean over this process's slice, so that the mean over processes is the mean
    over n rows.
    """
    local = local_slice(n)
    return (local.stop - local.start) * world_size() / n if n >= world_size() else 1.0


def all_gather(local: Tensor, n: int) -> Tensor:
    """Concatenate the slices of all processes: (local, d) -> (n, d), with gradients."""
    if world_size() == 1 or n < world_size():
        return local
    slices = [_slice(n, process) for process in range(world_size())]
    sizes = [rows.stop - rows.start for rows in slices]
    parts = all_gather_with_gradients(F.pad(local, (0, 0, 0, max(sizes) - len(local))).contiguous())
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its mean over processes."""
    if world_size() == 1:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    for work in [dist.all_reduce(gradient, async_op=True) for gradient in gradients]:
        work.wait()
    for gradient in gradients:
        gradient /= world_size()


def mean_over_processes(value: float) -> float:
    values = gather_object([value])
    return sum(values) / len(values)


def _slice(n: int, process: int) -> slice:
    return slice(n * process // world_size(), n * (process + 1) // world_size())
