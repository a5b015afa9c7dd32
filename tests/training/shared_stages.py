"""Train stages of tiny runs, each already made up to that stage, by as many processes as were launched.

    torchrun --nproc-per-node 2 -m tests.training.shared_stages COLLECTION encoder=RUN features=RUN …
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import genius.index.features
from tests.training.tiny import TINY
from training.__main__ import TRAIN
from training.processes import join
from training.settings import Arguments, Settings
from training.stage import run_stage

# numbers that processes may compute in another order, but no noise of their own, nor roundings that hide mistakes
STILL: Settings = replace(TINY, encoder=replace(TINY.encoder, bf16=False), decoder=replace(
    TINY.decoder, bf16=False, decoder=replace(TINY.decoder.decoder, dropout=0.0)))
SHARD = 10


def train(stage: str, collection: Path, run: Path, device: str) -> None:
    run_stage(stage, TRAIN[stage], Arguments(collection, run, "small", STILL, device))


if __name__ == "__main__":
    genius.index.features.SHARD = SHARD
    device = str(join("cpu"))
    for name, _, run in (given.partition("=") for given in sys.argv[2:]):
        train(name, Path(sys.argv[1]), Path(run), device)
