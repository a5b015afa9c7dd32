"""Make the shipped run of the toy world: draw the collection, train on it, keep what serving needs, measure.

    python -m training.toy_run [assets/toy] [--work DIR] [--seed 0]

Collection and training run are written to DIR. A killed command resumes where it stopped when you run it again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from genius.collections.layout import TASKS
from genius.errors import exit_on_user_error
from genius.evaluation import __main__ as evaluation
from genius.evaluation.arguments import command_parser
from genius.runtime import usable_device
from training.__main__ import train
from training.command_line import Arguments
from training.distributed import expect_one_process
from training.presets import TOY
from training.settings import Settings
from training.shipping import add_shipping_arguments, check_destination, finish_run, ship_run, write_examples
from training.toy_world import SCENES, Scene, instructions, picture, write_world

LARGEST = 4.0  # MB, of the shipped run
ABOUT = {  # what the page says about the run, see ui/common/about.py
    "title": "A toy world whose factors are known",
    "paragraphs": [
        "Drawn by a program: one to four equal shapes on a background. Six factors make a picture: shape, colour, "
        "number, size, position and background. So what a code of an ID means can be measured: Codes says what its "
        "items have in common, and Reports how much each level tells about each factor.",
        "Everything was trained from scratch on this collection alone, in minutes on two processor cores, with "
        "python -m training.toy_run. The model knows only the words and the pictures of this world: ask it about "
        "shapes. Some pairs of shape and colour, such as purple stars, were in no picture that it learned from.",
    ],
    "ask": [instructions(task)[0] for task in (3, 4)],
    "ask_with_text": [instructions(task)[0] for task in (7, 6, 8)],
    "ask_by_text": [instructions(task)[0] for task in (0, 1, 2)],
}
EXAMPLES: tuple[tuple[str, str, Scene | None, tuple[int, ...]], ...] = (  # title, text, what the picture shows, tasks
    ("In words", "Two large brown stars at the top on stripes.", None, (0,)),
    ("What does it show?", "", Scene("heart", "red", 3, "large", "left", "striped"), (3,)),
    ("The same shapes elsewhere", "", Scene("heart", "blue", 2, "small", "top", "dotted"), (4,)),
    (
        "The same, but …",
        "The same, but blue and at the right.",
        Scene("cross", "green", 4, "large", "top", "black"),
        (7,),
    ),
    ("A question", "How many: blue hearts on stripes?", None, (1, 2)),
    ("A question about a picture", "What colour?", Scene("ring", "purple", 2, "small", "bottom", "white"), (6, 8)),
    ("A pair that training lacked", "Purple stars on black.", None, (0,)),
    ("One word", "Diamonds.", None, (0, 2)),
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.toy_run", __doc__)
    add_shipping_arguments(parser, "toy")
    options = parser.parse_args(arguments)
    settings = replace(TOY, seed=options.seed)
    make(options.destination, options.work, settings, str(usable_device(options.device)))


def make(destination: Path, work: Path, settings: Settings, device: str, scenes: int = SCENES) -> None:
    """Draw, train, ship and measure; steps that are done are skipped.

    Raises UserError, before it starts, if the destination is not a run.
    """
    check_destination(destination)
    world, run = work / "toy-world", work / "run"
    if not world.exists():
        for row in write_world(world, scenes, settings.seed):
            print(row)
    train(Arguments(world, run, "toy", settings, device))
    finished = finish_run(world, run, device)
    facts = {"collection": world.name, "about": ABOUT}
    ship_run(finished, destination, facts, partial(add_examples, work=work))
    evaluation.main([str(destination), "--collection", str(world), "--device", device])
    size = sum(file.stat().st_size for file in destination.rglob("*") if file.is_file()) / 1e6
    print(f"{destination}: {size:.1f} MB of {LARGEST:.0f}{'' if size <= LARGEST else ': too large'}")
    print(f"done: python app.py --run {destination}")


def add_examples(run: Path, work: Path) -> None:
    """Draw the pictures of the examples, and write these into the run."""
    examples, files = [], {}
    for number, (title, text, scene, tasks) in enumerate(EXAMPLES):
        name = f"example-{number}.png" if scene else ""
        if scene:
            files[name] = work / name
            picture(scene, random.Random(number), framed=4 in tasks or 7 in tasks).save(files[name])
        asked = [{"instruction": instructions(task)[0], "target": TASKS[task][1].mbeir} for task in tasks]
        examples.append({"title": title, "text": text, "picture": name, "asked": asked})
    write_examples(run, examples, files)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
