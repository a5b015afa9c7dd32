"""Train stages of tiny runs, each already made up to that stage, by as many processes as were
launched.

    torchrun --nproc-per-node 2 -m tests.training.shared_stages COLLECTION encoder=RUN features=RUN
    …
    WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=… python -m tests.training.shared_stages …    # the same,
                                                                                         started
                                                                                         sooner

locked=RUN trains the heads of an encoder whose locked towers lie in RUN/../towers. GRADIENTS=FILE
writes the gradients of two losses of a batch of which the processes have unequal shares.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.multiprocessing import start_processes

import genius.encoding.features
from tests.training.tiny import tiny
from tests.training.tiny_towers import locked_settings, tower_names
from training.command_line import Arguments
from training.distributed import (
    all_gather,
    average_gradients,
    init_distributed,
    is_main,
    local_slice,
    local_weight,
)
from training.stage import STAGES, run_stage

# numbers that processes may compute in another order, but no noise of their own, nor roundings that
# hide mistakes
STILL = tiny(encoder={"bf16": False}, decoder={"bf16": False, "decoder": {"dropout": 0.0}})
SHARD = 10
GRADIENTS, LOCKED = "gradients", "locked"


def train(stage: str, collection: Path, run: Path, device: str) -> None:
    settings = STILL
    if stage == LOCKED:
        towers = tower_names(run.parent / "towers")
        stage = "encoder"
        settings = locked_settings(*towers, epochs=2, batch=7, learning_rate=1e-3)
    run_stage(stage, STAGES[stage].train, Arguments(collection, run, "small", settings, device))


def write_gradients(file: Path) -> None:
    """Of two losses of a batch of five, each process with its slice: one in which each is compared
    with all, and a mean.
    """
    generator = torch.Generator().manual_seed(0)
    model = nn.Linear(4, 3)
    nn.init.normal_(model.weight, generator=generator)
    x = torch.randn(5, 4, generator=generator)
    scale = nn.Parameter(torch.tensor(2.0))
    n = len(x)

    def compared(own: Tensor) -> Tensor:
        z = all_gather(own, n)
        return (scale * z @ z.T).logsumexp(1).mean()

    def averaged(own: Tensor) -> Tensor:
        return own.square().mean() * local_weight(n) + 0 * scale

    found = {}
    for loss in (compared, averaged):
        model.zero_grad()
        scale.grad = None
        loss(model(x[local_slice(n)])).backward()
        average_gradients([*model.parameters(), scale])
        found[f"{loss.__name__} weight"] = model.weight.grad.clone()
        found[f"{loss.__name__} scale"] = scale.grad.clone()
    if is_main():
        save_file(found, file)


def main(collection: str, *targets: str) -> None:
    genius.encoding.features.SHARD = SHARD
    device = str(init_distributed("cpu"))
    for name, _, target in (given.partition("=") for given in targets):
        if name == GRADIENTS:
            write_gradients(Path(target))
        else:
            train(name, Path(collection), Path(target), device)


def process(rank: int, arguments: Sequence[str]) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    main(*arguments)


if __name__ == "__main__":
    if "RANK" in os.environ:
        main(*sys.argv[1:])
    else:  # the libraries are loaded already, which takes longer than the training
        start_processes(
            process, (sys.argv[1:],), nprocs=int(os.environ["WORLD_SIZE"]), start_method="fork"
        )
