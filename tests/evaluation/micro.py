"""A micro collection of three (task, dataset) rows, and an untrained run over it."""

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image

from genius.collections.mbeir import Collection
from genius.collections.writer import new_collection
from genius.run import Run
from genius.schema import Item, LabeledQuery, Modality
from tests.search.tiny import publish_run

SPLIT_OF = ("train", "train", "val", "test")  # of item number i, by i % 4
PER_KIND = 16
PHRASINGS = ["Find the picture.", "Show me an image of this.", "Which photograph fits?"]
COLOURS = ["red", "green", "blue", "yellow", "black", "white", "purple", "orange"]
THINGS = ["boat", "tree", "house", "dog"]


def write_micro_collection(root: Path) -> Collection:
    """Dataset 0: pictures (task 0) and their texts (task 3). Dataset 1: pictures with titles (task
    2).

    Test queries of task 0 differ in what training saw: the first has a test item for its answer,
    the second a training item, the third one of each. An item of dataset 1 is a candidate in every
    split.
    """
    rng = np.random.default_rng(5)
    with new_collection(root) as writer:
        for number in range(2 * PER_KIND):
            split = SPLIT_OF[number % 4]
            text = f"A {COLOURS[number % 8]} {THINGS[number // 8]}."
            made = json.dumps({"colour": COLOURS[number % 8], "thing": THINGS[number // 8]})
            pixels = rng.integers(0, 255, (3, 4, 3), dtype=np.uint8)
            stream = io.BytesIO()
            Image.fromarray(pixels).resize((40, 30)).save(stream, "PNG")
            path = f"images/{number}.png"
            writer.image(path, stream.getvalue())
            if number < PER_KIND:
                picture = f"0:{number}"
                words = f"0:{100 + number}"
                writer.candidate(Item(picture, Modality.IMAGE, image=path), "shapes", [0], [split])
                writer.candidate(Item(words, Modality.TEXT, text), "shapes", [3], [split])
                answers = {7: ("0:0",), 11: ("0:11", "0:4")}.get(number, (picture,))
                asked = LabeledQuery(
                    f"0:{number}", Modality.TEXT, 0, text, positives=answers, source=made
                )
                shown = LabeledQuery(
                    f"0:{100 + number}",
                    Modality.IMAGE,
                    3,
                    image=path,
                    positives=(words,),
                    source=made,
                )
                writer.query(asked, "shapes", split)
                writer.query(shown, "shapes", split)
            else:
                splits = ("train", "val", "test") if number == PER_KIND else (split,)
                writer.candidate(
                    Item(f"1:{number}", Modality.PAIR, text, path), "titled", [2], splits
                )
                writer.query(
                    LabeledQuery(
                        f"1:{number}",
                        Modality.TEXT,
                        2,
                        text,
                        positives=(f"1:{number}",),
                        source=made,
                    ),
                    "titled",
                    split,
                )
        writer.instructions(0, "shapes", Modality.TEXT, Modality.IMAGE, PHRASINGS)
        writer.instructions(0, "shapes", Modality.IMAGE, Modality.TEXT, ["Describe this."])
        writer.instructions(1, "titled", Modality.TEXT, Modality.PAIR, ["Find the titled picture."])
    return Collection(root)


def publish_micro_run(path: Path, collection: Collection) -> Run:
    """Tiny models with random weights, codebooks that fit the items, and an index of the whole
    collection.
    """
    items = list(collection.all_candidates())
    run = publish_run(path, items, collection.image_path, fitted=True)
    run.record(collection=str(collection.root))
    return run
