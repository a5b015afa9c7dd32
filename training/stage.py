"""Run one stage of training, and record in the run what it was made with and how long it took."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable

from genius.artifacts import Run
from genius.errors import UserError
from genius.memory import keep_freed_memory
from training.checkpoint import fingerprint
from training.settings import Arguments

WORLD = "world.json"     # in a collection that was drawn: what it was drawn from
STAGES = ("encoder", "features", "quantizer", "decoder", "index")


def run_stage(name: str, train: Callable[[Arguments], None], arguments: Arguments) -> None:
    """Train one stage. The run's manifest then names its settings and its seconds since the last start.

    The stages after it were made from what it replaced: they count as not done.
    """
    keep_freed_memory()
    print(f"── {name}", flush=True)
    started = time.perf_counter()
    train(arguments)
    run = Run(arguments.run)
    before = STAGES[:STAGES.index(name)]
    stages = {stage: done for stage, done in run.manifest.get("stages", {}).items() if stage in before}
    stages[name] = {"facts": facts(name, arguments), "seconds": round(time.perf_counter() - started, 2)}
    drawn = arguments.collection / WORLD
    run.record(collection=str(arguments.collection.resolve()), preset=arguments.preset,
               settings=dataclasses.asdict(arguments.settings), stages=stages,
               **({"world": json.loads(drawn.read_text())} if drawn.is_file() else {}))


def is_done(name: str, arguments: Arguments) -> bool:
    """Whether the run has this stage, made with these settings.

    Raises UserError if it was made with others.
    """
    done = Run(arguments.run).manifest.get("stages", {}).get(name)
    if done and done["facts"] != facts(name, arguments):
        raise UserError(f"the {name} of {arguments.run} was made from another collection or with other settings; "
                        f"give another RUN, or make it anew: python -m training.{name} COLLECTION RUN")
    return done is not None


def facts(name: str, arguments: Arguments) -> str:
    """What a stage depends on: the collection, the seed, and the settings up to its own."""
    settings = dataclasses.asdict(arguments.settings)
    before = STAGES[:STAGES.index(name) + 1]
    return fingerprint(str(arguments.collection.resolve()), arguments.settings.seed,
                       [settings.get(stage) for stage in before])
