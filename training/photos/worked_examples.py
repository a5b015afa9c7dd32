"""The worked examples of the photo run: twelve queries on photographs, one click each.

    python -m training.photos.worked_examples RUN DATA

Every task has at least one. Pictures are test pictures of sets that may ship, in no pool that ships; they are named by
set and id. Instructions are phrasings of the training split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from genius.collections.images import thumbnail
from genius.collections.layout import TASKS
from genius.collections.sources import Record, read_source
from genius.errors import UserError, exit_on_user_error
from genius.evaluation.arguments import command_parser
from genius.examples import FOLDER, LIST
from genius.files import write_json
from training.distributed import expect_one_process
from training.photos.phrasings import PHRASINGS

PIXELS = 256
QUALITY = 88


@dataclass(frozen=True)
class PhotoRow:
    """A (dataset, task) row of the collection, and the number of the phrasing to use."""

    dataset: str
    task: int
    phrasing: int = 0

    @property
    def request(self) -> dict[str, str]:
        training, _ = PHRASINGS[self.dataset, self.task]
        return {"instruction": training[self.phrasing], "target": TASKS[self.task][1].mbeir}


@dataclass(frozen=True)
class WorkedPhoto:
    """An example before its picture is read."""

    title: str
    rows: tuple[PhotoRow, ...]
    text: str = ""
    picture: str = ""  # SET/ID


WORKED = (
    WorkedPhoto(
        "Three questions to one photo",
        (PhotoRow("encyclopedia", 3, 1), PhotoRow("photos", 4), PhotoRow("photos", 3, 1)),
        picture="photos/flower_2427626706_ffdf697f84_n",
    ),
    WorkedPhoto("What is this?", (PhotoRow("encyclopedia", 6, 1),), "What is this?", "photos/npc_dog"),
    WorkedPhoto("In your own words", (PhotoRow("photos", 0, 1),), "an old mill with four sails under a blue sky"),
    WorkedPhoto("More like this", (PhotoRow("photos", 4, 1),), picture="photos/gcompris_categorization_windmill5"),
    WorkedPhoto(
        "Like this, but …",
        (PhotoRow("photos", 7),),
        "the same kind of thing, but a sunflower",
        "photos/flower_7285188160_49d84b95a3_m",
    ),
    WorkedPhoto("Look it up", (PhotoRow("encyclopedia", 1),), "a stringed instrument that one plays with a bow"),
    WorkedPhoto("An illustrated page", (PhotoRow("encyclopedia", 2, 1),), "a black and white bear that eats bamboo"),
    WorkedPhoto("On the plate", (PhotoRow("photos", 3, 1),), picture="photos/ffml_00993"),
    WorkedPhoto("See and read", (PhotoRow("encyclopedia", 8, 3),), "What is this?", "photos/clothing_3b86d877-2b9e"),
    WorkedPhoto("Name it", (PhotoRow("photos", 6),), "What is that called?", "photos/gcompris_categorization_fish19"),
    WorkedPhoto(
        "In the shop",
        (PhotoRow("photos", 8, 1), PhotoRow("encyclopedia", 6, 1)),
        "What is this?",
        "grocery/val_Fruit_Pineapple_Pineapple_003",
    ),
    WorkedPhoto("Something to wear", (PhotoRow("photos", 2, 1),), "a warm cap for the winter"),
)


def write_photo_examples(run: Path, data: Path) -> None:
    """Write the examples into a run. Raises UserError if a picture is missing."""
    folder = run / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    files = picture_files(data)
    records = []
    for number, worked in enumerate(WORKED, 1):
        name = f"{number:02d}.webp" if worked.picture else ""
        if worked.picture:
            (folder / name).write_bytes(thumbnail(files[worked.picture], PIXELS, QUALITY))
        records.append(
            {"title": worked.title, "text": worked.text, "picture": name, "asked": [row.request for row in worked.rows]}
        )
    write_json(folder / LIST, records)


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
