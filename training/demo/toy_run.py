"""Make the shipped run of the toy world: draw the collection, train on it, keep what serving needs,
measure.

    python -m training.toy_run [assets/toy] [--work DIR] [--seed 0]

Collection and training run are written to DIR. A killed command resumes where it stopped when you
run it again.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from genius.collections.layout import TASKS
from genius.commands import command_parser
from genius.evaluation import __main__ as evaluation
from genius.runtime import usable_device
from training.demo.shipping import add_shipping_arguments, make_run, write_examples
from training.demo.toy_world import SCENES, Scene, instructions, picture, write_world
from training.distributed import run_alone
from training.presets import TOY
from training.settings import Settings

# What the page says about the run (ui/common/about.py; `ask` names tasks), and its examples
PAGE = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ABOUT = {
    name: [instructions(task)[0] for task in value] if name.startswith("ask") else value
    for name, value in PAGE["about"].items()
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.toy_run", __doc__)
    add_shipping_arguments(parser, "toy")
    options = parser.parse_args(arguments)
    settings = replace(TOY, seed=options.seed)
    make(options.destination, options.work, settings, str(usable_device(options.device)))


def make(
    destination: Path, work: Path, settings: Settings, device: str, scenes: int = SCENES
) -> None:
    """Draw, train, ship and measure; steps that are done are skipped.

    Raises UserError, before it starts, if the destination is not a run.
    """
    world = work / "toy-world"
    build = partial(write_world, scenes=scenes, seed=settings.seed)
    make_run(
        destination, world, "toy", settings, device, build, ABOUT, partial(add_examples, work=work)
    )
    evaluation.main([str(destination), "--collection", str(world), "--device", device])


def add_examples(run: Path, work: Path) -> None:
    """Draw the pictures of the examples, and write these into the run."""
    examples = []
    files = {}
    for number, example in enumerate(PAGE["examples"]):
        scene, tasks = example["scene"], example["tasks"]
        name = f"example-{number}.png" if scene else ""
        if scene:
            files[name] = work / name
            picture(Scene(*scene), random.Random(number), framed=4 in tasks or 7 in tasks).save(
                files[name]
            )
        asked = [
            {"instruction": instructions(task)[0], "target": TASKS[task][1].mbeir} for task in tasks
        ]
        examples.append(
            {"title": example["title"], "text": example["text"], "picture": name, "asked": asked}
        )
    write_examples(run, examples, files)


if __name__ == "__main__":
    run_alone(main)
