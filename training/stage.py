"""Run one stage of training, and record in the run what it was made with, how long it took and in how much memory."""

from __future__ import annotations

import dataclasses
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from genius.collections.layout import PROVENANCE
from genius.errors import UserError
from genius.run import Run
from genius.runtime import keep_freed_memory
from training.checkpoint import fingerprint
from training.distributed import is_main, wait
from training.settings import Arguments

STAGES = ("encoder", "features", "quantizer", "decoder", "index")
TRAINED = ("encoder", "quantizer", "decoder")  # those that make weights
DIVIDED = (*TRAINED, "features")  # those that several processes share; one does the others


def run_stage(name: str, train: Callable[[Arguments], None], arguments: Arguments) -> None:
    """Train one stage. The run's manifest then names its settings and its seconds since the last start.

    The stages after it were made from what it replaced: they count as not done.
    """
    run = Run(arguments.run)
    if name in TRAINED and "left_out" in run.manifest:
        raise UserError(
            f"{run.path} holds published weights, in whose place training would put others; make it "
            f"searchable with: python -m training.features COLLECTION {run.path} --preset paper, then "
            "training.index; or give another RUN to train into"
        )
    keep_freed_memory()
    print(f"── {name}", flush=True)
    started = time.perf_counter()
    if name in DIVIDED or is_main():
        train(arguments)
    print(f"{name}: {peak_memory(arguments.device, arguments.workers)}", flush=True)
    if is_main():
        record(name, arguments, time.perf_counter() - started)
    wait()


def record(name: str, arguments: Arguments, seconds: float) -> None:
    """Note in the manifest that the stage is done."""
    before, drawn = STAGES[: STAGES.index(name)], arguments.collection / PROVENANCE
    world = {"world": json.loads(drawn.read_text())} if drawn.is_file() else {}
    with Run(arguments.run).changing() as manifest:
        stages = {stage: done for stage, done in manifest.get("stages", {}).items() if stage in before}
        stages[name] = {"facts": facts(name, arguments), "seconds": round(seconds, 2)}
        manifest |= {
            "collection": str(arguments.collection.resolve()),
            "preset": arguments.preset,
            "settings": dataclasses.asdict(arguments.settings),
            "stages": stages,
            **world,
        }


def is_done(name: str, arguments: Arguments) -> bool:
    """Whether the run has this stage, made with these settings.

    Raises UserError if it was made with others.
    """
    done = Run(arguments.run).manifest.get("stages", {}).get(name)
    if done and done["facts"] != facts(name, arguments):
        raise UserError(
            f"the {name} of {arguments.run} was made from another collection or with other settings; "
            f"give another RUN, or make it anew: python -m training.{name} COLLECTION RUN"
        )
    return done is not None


def facts(name: str, arguments: Arguments) -> str:
    """What a stage depends on: the collection, the seed, and the settings up to its own."""
    settings = dataclasses.asdict(arguments.settings)
    before = STAGES[: STAGES.index(name) + 1]
    return fingerprint(
        str(arguments.collection.resolve()), arguments.settings.seed, [settings.get(stage) for stage in before]
    )


def publish(run: Run, part: str, write: Callable[[Path], None], built_from: tuple[str, ...] = ()) -> Run:
    """Publish a part once, by the main process; -> the run with it, on every process."""
    if is_main():
        run.publish(part, write, built_from)
    wait()
    return Run(run.path)


def per_step(started: float, steps: int) -> str:
    """The time that each of an epoch's steps took."""
    return f"{(time.perf_counter() - started) / steps:.3g} s a step"


def peak_memory(device: str, workers: int) -> str:
    """The most that this process has held since it started, and the largest of the processes that open images."""
    unit = 2**30 if sys.platform == "darwin" else 2**20  # bytes there, KiB elsewhere
    own, largest = (
        resource.getrusage(who).ru_maxrss / unit for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    found = f"peak memory {own:.2f} GiB" + (f", {largest:.2f} in a process that opens images" if workers else "")
    if torch.device(device).type == "cuda":
        found += f", {torch.cuda.max_memory_allocated(device) / 2**30:.2f} on the GPU"
    return found
