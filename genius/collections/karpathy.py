"""Karpathy's splits of Flickr8k, Flickr30K and MSCOCO: one JSON file beside the images.

    {"images": [{"filepath": "val2014", "filename": "…jpg", "split": "restval", "sentences": [{"raw": "…"}, …]}, …]}

`filepath` is optional. `restval`, the part of MSCOCO's validation images that is trained on, becomes train.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from genius.collections.lines import LineError, validate
from genius.collections.tables import Cells

NAMES = ("dataset.json", "dataset_flickr8k.json", "dataset_flickr30k.json", "dataset_coco.json")
TRAINED = {"restval": "train"}


class Sentence(BaseModel):
    raw: str


class Image(BaseModel):
    """An image; other fields, such as tokens and numbers, are not read."""

    filename: str
    filepath: str = ""
    split: str
    sentences: list[Sentence]


IMAGE = TypeAdapter(Image)


def find_karpathy(folder: Path) -> Path | None:
    """The file of splits in a folder of images; None if there is none, or several."""
    files = [folder / name for name in NAMES if (folder / name).is_file()]
    return files[0] if len(files) == 1 else None


def karpathy_rows(file: Path) -> Iterator[Cells]:
    """Yield the rows of a table, by the number of the image. Raises LineError for another layout."""
    try:
        images = json.loads(file.read_text(encoding="utf-8"))["images"]
        if not isinstance(images, list):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise LineError(file, 0, 'expected {"images": […]}, the layout of Karpathy’s splits') from None
    for number, record in enumerate(images, start=1):
        image = validate(IMAGE, file, number, record)
        path = f"{image.filepath}/{image.filename}" if image.filepath else image.filename
        captions = [sentence.raw for sentence in image.sentences]
        yield number, {"filename": path}, {}, {"captions": captions, "split": TRAINED.get(image.split, image.split)}
