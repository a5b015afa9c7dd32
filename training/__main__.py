"""Train a run from a collection: encoder, features, quantizer, decoder, index.

    python -m training COLLECTION RUN [--preset small|paper]

Killed and started again, it goes on from the last epoch of the stage it was in. Each stage is also a command
of its own, e.g. python -m training.decoder COLLECTION RUN.
"""

from __future__ import annotations

import dataclasses
import time

from genius.artifacts import Run
from genius.collections.mbeir import Collection
from genius.errors import UserError, reported
from training import decoder, encoder, features, index, quantizer
from training.checkpoint import fingerprint
from training.memory import keep_freed_memory
from training.settings import Arguments, parse_arguments

STAGES = {"encoder": encoder, "features": features, "quantizer": quantizer, "decoder": decoder, "index": index}


def train(arguments: Arguments) -> None:
    """Run the stages that are not done yet and record the seconds of each.

    Raises UserError if the run was started with another collection or other settings.
    """
    run, collection = Run(arguments.run), Collection(arguments.collection)
    facts = fingerprint(arguments.settings, str(collection.root.resolve()))
    if run.manifest.get("facts", facts) != facts:
        raise UserError(f"{run.path} was started with another collection or other settings; give another RUN, "
                        "or repeat the command that started it")
    run.record(facts=facts, collection=str(collection.root.resolve()), preset=arguments.preset,
               settings=dataclasses.asdict(arguments.settings))
    for name, stage in STAGES.items():
        seconds = Run(arguments.run).manifest.get("seconds", {})
        if name in seconds:
            continue
        print(f"── {name}", flush=True)
        started = time.perf_counter()
        stage.train(arguments)
        run = Run(arguments.run)
        run.record(seconds=seconds | {name: round(time.perf_counter() - started, 1)})
    for name, spent in run.manifest["seconds"].items():
        print(f"{name:10s} {spent:8.0f} s")
    print(f"done: python app.py --run {run.path}")


if __name__ == "__main__":
    keep_freed_memory()
    with reported():
        train(parse_arguments(__doc__))
