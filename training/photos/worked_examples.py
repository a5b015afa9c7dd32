"""The worked examples of the photo run: twelve queries on photographs, one click each.

    python -m training.photos.worked_examples RUN DATA

Every task has at least one. Pictures are test pictures of sets that may ship, in no pool that ships; they are named by
SET/ID. Instructions are phrasings of the training split.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from genius.collections.images import thumbnail
from genius.collections.sources import Record, read_source
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from training.distributed import expect_one_process
from training.example_writing import PIXELS, QUALITY, Row, Worked, write_worked
from training.photos.phrasings import PHRASINGS

WORKED = (
    Worked(
        "Three questions to one photo",
        (Row("encyclopedia", 3, 1), Row("photos", 4), Row("photos", 3, 1)),
        picture="photos/flower_2427626706_ffdf697f84_n",
    ),
    Worked("What is this?", (Row("encyclopedia", 6, 1),), "What is this?", "photos/npc_dog"),
    Worked("In your own words", (Row("photos", 0, 1),), "an old mill with four sails under a blue sky"),
    Worked("More like this", (Row("photos", 4, 1),), picture="photos/gcompris_categorization_windmill5"),
    Worked(
        "Like this, but …",
        (Row("photos", 7),),
        "the same kind of thing, but a sunflower",
        "photos/flower_7285188160_49d84b95a3_m",
    ),
    Worked("Look it up", (Row("encyclopedia", 1),), "a stringed instrument that one plays with a bow"),
    Worked("An illustrated page", (Row("encyclopedia", 2, 1),), "a black and white bear that eats bamboo"),
    Worked("On the plate", (Row("photos", 3, 1),), picture="photos/ffml_00993"),
    Worked("See and read", (Row("encyclopedia", 8, 3),), "What is this?", "photos/clothing_3b86d877-2b9e"),
    Worked("Name it", (Row("photos", 6),), "What is that called?", "photos/gcompris_categorization_fish19"),
    Worked(
        "In the shop",
        (Row("photos", 8, 1), Row("encyclopedia", 6, 1)),
        "What is this?",
        "grocery/val_Fruit_Pineapple_Pineapple_003",
    ),
    Worked("Something to wear", (Row("photos", 2, 1),), "a warm cap for the winter"),
)


def write_photo_examples(run: Path, data: Path) -> None:
    """Write the examples into a run. Raises UserError if a picture is missing."""
    files = picture_files(data)
    write_worked(run, WORKED, PHRASINGS, lambda picture: thumbnail(files[picture], PIXELS, QUALITY))


def picture_files(data: Path) -> dict[str, Path]:
    """SET/ID -> file, of the pictures that the examples name. Raises UserError if a set lacks one."""
    return {
        picture: data / picture.partition("/")[0] / record.image for picture, record in picture_records(data).items()
    }


def picture_records(data: Path) -> dict[str, Record]:
    """SET/ID -> row of the table, of the pictures that the examples name. Raises UserError if a set lacks one."""
    pictures = [worked.picture for worked in WORKED if worked.picture]
    records = {}
    for name in sorted({picture.partition("/")[0] for picture in pictures}):
        records |= {f"{name}/{record.id}": record for record in read_source(data / name).records}
    for picture in pictures:
        if picture not in records:
            raise UserError(f"{data} has no picture {picture}; give the folder of the six sets")
    return {picture: records[picture] for picture in pictures}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("training.photos.worked_examples", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="a trained run")
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the six sets")
    options = parser.parse_args(arguments)
    write_photo_examples(options.run, options.data)


if __name__ == "__main__":
    with exit_on_user_error():
        expect_one_process()
        main()
