"""Run one stage of training, and record its settings, duration and learning curve in the run."""

import dataclasses
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError

from genius.collections.layout import INSTRUCTIONS
from genius.errors import UserError, exit_on_user_error
from genius.files import disk_errors_explained
from genius.locks import write_lock
from genius.reading import first_problem
from genius.run import Run
from genius.runtime import keep_freed_memory
from training.checkpoint import files_stamp, fingerprint
from training.command_line import Arguments, parse_arguments
from training.distributed import barrier, broadcast_object, is_main
from training.settings import Settings

RESUME = "what was finished stays; make room, or change the permissions, and run the command again"
locked_runs: set[Path] = set()  # runs that this process is training


class OtherSettings(UserError):
    """A stage was done with other settings."""


@dataclass(frozen=True)
class Stage:
    """A stage of training: the module of this name in training/stages, with a function `train` of
    the arguments.
    """

    name: str
    parts: tuple[str, ...] = ()  # of the run, that it publishes

    def train(self, arguments: Arguments) -> None:
        import_module(f"training.stages.{self.name}").train(arguments)


STAGES = {  # in their order
    stage.name: stage
    for stage in (
        Stage("encoder", parts=("encoder",)),
        Stage("features"),
        Stage("quantizer", parts=("fusion", "quantizer")),
        Stage("decoder", parts=("decoder",)),
        Stage("index", parts=("index",)),
    )
}
OF_WEIGHTS = ("encoder", "quantizer", "decoder")


def stages_before(name: str) -> list[str]:
    names = list(STAGES)
    return names[: names.index(name)]


def done_before(name: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """The records of the stages before this one, as far as they are done."""
    done = manifest.get("stages", {})
    return {stage: done[stage] for stage in stages_before(name) if stage in done}


def stage_command(name: str, train: Callable[[Arguments], None], doc: str) -> None:
    """`python -m training.NAME`; doc: of the module."""
    with exit_on_user_error():
        run_stage(name, train, parse_arguments(f"training.{name}", doc))


def run_stage(name: str, train: Callable[[Arguments], None], arguments: Arguments) -> None:
    """Run one stage and record it in the manifest. The later stages then count as not done.

    Raises UserError if the stage would replace published weights, another process is changing the
    run, or it cannot be written.
    """
    with only_trainer(arguments.run):
        run = Run(arguments.run)
        stamp = records_stamp(arguments.collection)
        if name in OF_WEIGHTS and "left_out" in run.manifest:
            raise UserError(
                f"{run.path} has published weights, which training would replace; index a "
                f"collection with: python -m training.features COLLECTION {run.path} --preset "
                "paper, then training.index; or name another RUN to train into"
            )
        keep_freed_memory()
        print(f"── {name}", flush=True)
        started = time.perf_counter()
        train(arguments)
        print(f"{name}: {peak_memory(arguments.device, arguments.workers)}", flush=True)
        if is_main():
            record_stage(name, arguments, time.perf_counter() - started, stamp)
        barrier()


@contextmanager
def only_trainer(run: Path) -> Iterator[None]:
    """No other process trains this run or changes its index inside the block, which may contain
    another such block.

    The main process makes its folder, locks it for all, and removes it if it is still empty at the
    end, as after a mistyped argument. Raises UserError, on all processes, if another one has locked
    the run, or if it is a file or cannot be made; and for a full disk.
    """
    given = run
    run = run.resolve()
    if run in locked_runs:
        yield
        return
    with ExitStack() as lock:
        refusal = None
        if is_main():
            made = [folder for folder in (run, *run.parents) if not folder.exists()]
            try:
                run.mkdir(parents=True, exist_ok=True)
                lock.enter_context(write_lock(run))
                lock.callback(remove_empty, made)
            except OSError as error:
                refusal = UserError(
                    f"{run} cannot be made ({error.strerror}); name another directory"
                )
            except UserError as error:
                refusal = error
        if refusal := broadcast_object(refusal):
            raise refusal
        locked_runs.add(run)
        try:
            with disk_errors_explained(given, RESUME):
                yield
        finally:
            locked_runs.remove(run)


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, each of which holds the one before it, up to the first that holds something
    else.
    """
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def record_stage(name: str, arguments: Arguments, seconds: float, stamp: str) -> None:
    """Record in the manifest that the stage is done, its settings and its seconds since the last
    start.

    stamp: `records_stamp` of the collection when the stage started.

    Earlier stages keep the settings that they were recorded with: a command of one stage may name
    other ones for them.
    """
    with Run(arguments.run).changing_manifest() as manifest:
        stages = done_before(name, manifest)
        recorded = manifest.get("settings", {})
        earlier = {stage: recorded[stage] for stage in stages if stage in recorded}
        stages[name] = {
            "facts": facts(name, arguments),
            "records": stamp,
            "seconds": round(seconds, 2),
        }
        manifest |= {
            "collection": str(arguments.collection.resolve()),
            "preset": arguments.preset,
            "settings": dataclasses.asdict(arguments.settings) | earlier,
            "stages": stages,
        }


def records_stamp(collection: Path) -> str:
    """Checksum of the names, sizes and times of the files that training reads, but for images: no
    test queries.
    """
    folders = (
        "cand_pool",
        *(f"{kind}/{split}" for kind in ("query", "qrels") for split in ("train", "val")),
    )
    files = [
        file
        for folder in folders
        for file in (collection / folder).rglob("*")
        if not file.name.startswith(".")
    ]
    files = [file for file in sorted([*files, collection / INSTRUCTIONS]) if file.is_file()]
    return files_stamp((str(file.relative_to(collection)), file) for file in files)


def is_done(name: str, arguments: Arguments) -> bool:
    """Whether the run has this stage with these settings, and its parts, built from those that the
    run has now.

    Raises OtherSettings if it has the stage with other settings, UserError if of another
    collection, or if the records of the collection have changed since; the weights of an encoder
    stay in use then.
    """
    run = Run(arguments.run)
    done = run.manifest.get("stages", {}).get(name)
    if done and done["facts"] != facts(name, arguments):
        known = run.manifest["collection"]
        asked = str(arguments.collection.resolve())
        made, others = "from another collection or with other settings", "another RUN"
        if known != asked:
            made = f"from the collection {known}, not {asked}"
            others = "that one, or another RUN"
        kind = OtherSettings if known == asked else UserError
        raise kind(
            f"the {name} of {arguments.run} was made {made}; name {others}, or repeat the stage: "
            f"python -m training.{name} COLLECTION RUN"
        )
    if done and name != "encoder":
        now = records_stamp(arguments.collection)
        if done.get("records") != now:
            raise UserError(
                f"the collection {arguments.collection} has changed since the {name} of "
                f"{arguments.run} was made; "
                f"repeat from: python -m training.features {arguments.collection} {arguments.run}"
            )
    return done is not None and all(run.is_current(part) for part in STAGES[name].parts)


def pending_stages(arguments: Arguments) -> list[str]:
    """The first stage that is not done, and all after it. Raises UserError if one was done with
    other settings.
    """
    done = [is_done(name, arguments) for name in STAGES]
    return list(STAGES)[done.index(False) :] if False in done else []


def recorded_settings(run: Run) -> Settings:
    """The settings that a run was trained with. Raises UserError if its manifest lacks those of
    this version.
    """
    try:
        settings = TypeAdapter(Settings).validate_json(json.dumps(run.manifest["settings"]))
        settings.check()
        return settings
    except (KeyError, ValidationError, ValueError) as error:
        reason = first_problem(error) if isinstance(error, ValidationError) else error
        how = f"train the run with: python -m training COLLECTION {run.path}"
        if "left_out" in run.manifest:
            how = (
                "its weights are published, so it has none until a collection is encoded with: "
                f"python -m training.features COLLECTION {run.path} --preset paper"
            )
        raise UserError(
            f"the manifest of {run.path} lacks the settings of this version ({reason}); {how}"
        ) from None


def facts(name: str, arguments: Arguments) -> str:
    """Checksum of what a stage depends on: the collection, the seed, and the settings of it and the
    stages before.
    """
    settings = dataclasses.asdict(arguments.settings)
    used = [settings.get(stage) for stage in (*stages_before(name), name)]
    return fingerprint(str(arguments.collection.resolve()), arguments.settings.seed, used)


def publish(
    run: Run, part: str, write: Callable[[Path], None], built_from: tuple[str, ...] = ()
) -> Run:
    """Let the main process publish a part of a stage; -> the run with this part, on every
    process.
    """
    if is_main():
        forget_stage(run, next(stage.name for stage in STAGES.values() if part in stage.parts))
        run.publish(part, write, built_from)
    barrier()
    return Run(run.path)


def forget_stage(run: Run, name: str) -> None:
    """Take this stage and the later ones from the record of what is done, before a part of the
    stage is published.

    A command that is killed before it records the stage again leaves no record of what it replaced.
    """
    if "stages" in run.manifest:
        with run.changing_manifest() as manifest:
            manifest["stages"] = done_before(name, manifest)


def seconds_per_step(started: float, steps: int) -> str:
    return f"{(time.perf_counter() - started) / steps:.3g} s per step"


def peak_memory(device: str, workers: int) -> str:
    """Peak memory of this process and of its largest data-loader worker since they started."""
    unit = 2**30 if sys.platform == "darwin" else 2**20  # macOS reports bytes, Linux KiB
    message = f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit:.2f} GiB"
    if workers:
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
        message += f", {largest:.2f} in a data-loader worker"
    if torch.device(device).type == "cuda":
        message += f", {torch.cuda.max_memory_allocated(device) / 2**30:.2f} on the GPU"
    return message
