"""Tiny versions of the seven sets, with pictures of noise, for the tests of the photo
collection.
"""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.collections.samples import write_jsonl

HIDDEN = "coco_000000000370"  # the child with broccoli of not_shown.tsv


def write_sets(folder: Path) -> Path:
    """All seven sets, with the fields that the real ones have."""
    _write(
        folder / "flickr8k",
        [
            {
                "id": f"f{n}",
                "captions": [
                    f"A dog runs over the snow {n} .",
                    f"The dogs play in snow {n} .",
                    "Two animals",
                ],
                "split": "train" if n < 8 else "dev",
            }
            for n in range(10)
        ],
    )
    _write(
        folder / "fashion",
        [
            {
                "id": f"s{n}",
                "txt": f"Red shirt {n}",
                "attributes": {"articleType": "Shirts", "baseColour": "Red"},
                "split": "train" if n < 8 else "dev",
            }
            for n in range(10)
        ],
    )
    _write(
        folder / "grocery",
        [
            {
                "id": f"iconic_{n}",
                "txt": f"About {name}",
                "split": "candidates",
                "attributes": {
                    "kind": "iconic",
                    "class_id": n,
                    "class_name": name,
                    "coarse": "Apple",
                },
            }
            for n, name in enumerate(("Royal-Gala", "Pink-Lady"))
        ]
        + [
            {
                "id": f"natural_{n}",
                "txt": f"About {('Royal-Gala', 'Pink-Lady')[n % 2]}",
                "split": "train" if n < 8 else "dev",
                "attributes": {
                    "kind": "natural",
                    "class_id": n % 2,
                    "coarse": "Apple",
                    "class_name": ("Royal-Gala", "Pink-Lady")[n % 2],
                },
            }
            for n in range(10)
        ],
    )
    _write(
        folder / "visual7w",
        [
            {
                "id": f"v{n}",
                "qa": [
                    {"q": "What has the man?", "a": f"A ball {n}"},
                    {"q": "Who is it?", "a": "A man"},
                ],
                "split": "train" if n < 8 else "dev",
            }
            for n in range(10)
        ],
    )
    _write(
        folder / "emoji",
        [
            {
                "id": f"e{n}",
                "txt": name,
                "attributes": {"keywords": [name, "sign"]},
                "split": "train" if n < 3 else "dev",
            }
            for n, name in enumerate(("dog", "registered", "red car", "copyright"))
        ],
    )
    _write(folder / "photos", photo_records())
    _write(folder / "scenes", scene_records())
    return folder


def photo_records() -> list[dict]:
    """Flowers, clothes, dishes of two views, animals and captioned pictures."""
    records = []
    for n in range(40):
        name = ("rose", "tulip")[n % 2]
        records.append(
            {
                "id": f"flower_{n}",
                "set": "flower_photos",
                "txt": name,
                "attributes": {"kind": "plant", "category": name},
                "credit": f"CC-BY by Ann {n} - https://example.org/{n}/",
            }
        )
        kids = n % 4 < 2
        word = ("skirt", "hat")[n % 2]
        records.append(
            {
                "id": f"clothing_{n}",
                "set": "clothing",
                "txt": f"{word} for children" if kids else word,
                "attributes": {"kind": "clothing", "category": word, "kids": kids},
            }
        )
        dish = f"cake with {('nuts', 'jam', 'plums', 'cream')[n // 2 % 4]} {n // 8}"
        records.append(
            {
                "id": f"ffml_{n}",
                "set": "ffml_food",
                "txt": dish,
                "attributes": {"kind": "food", "category": dish},
            }
        )
    for name in ("Koala", "Zebra", "Owl"):
        records.append(
            {
                "id": f"npc_{name.lower()}",
                "set": "npc_animals",
                "txt": name,
                "attributes": {"kind": "animal", "category": name.lower()},
                "licence": "CC BY-SA 3.0",
                "credit": f"By Bob - Own work, CC BY-SA 3.0, https://example.org/{name}",
            }
        )
    records.append(
        {
            "id": "coco_1",
            "set": "coco_mini_ccby",
            "captions": ["A cat on a bed.", "The cat sleeps."],
            "licence": "CC BY 2.0",
        }
    )
    return records


def scene_records() -> list[dict]:
    """Pictures with five sentences, with the title and description of a book, and with a name; some
    are not shown.
    """
    terms = {
        "credit": "Ann",
        "licence": "CC BY 2.0",
        "source": "https://example.org/1",
        "may_ship": True,
    }
    records = []
    for n in range(40):
        thing = ("bus", "horse")[n % 2]
        captions = [
            f"A {thing} stands on street {n}.",
            f"There is one {thing} {n}.",
            f"The {thing} waits {n}.",
            f"A street {n}.",
            f"People and a {thing} {n}.",
        ]
        records.append(
            {
                "id": f"coco_{n:03}",
                "set": "coco_free",
                "txt": captions[0][:-1],
                "captions": captions,
                "attributes": {"kind": "vehicle", "category": thing},
            }
            | terms
        )
        records.append(
            {
                "id": f"os_{n}",
                "set": "openstax",
                "txt": f"A pyramid in desert {n}",
                "captions": [
                    f"A photo shows a pyramid in desert {n}. Two tourists on camels "
                    "ride towards it.",
                    "A legend.",
                ],
                "attributes": {"kind": "building", "category": "pyramid"},
            }
            | terms
        )
    records.append(
        {
            "id": "anim_crow",
            "set": "commons_animals",
            "txt": "crow",
            "captions": [],
            "attributes": {"kind": "animal", "category": "crow"},
        }
        | terms
        | {"may_ship": False}
    )
    records[0]["id"] = HIDDEN
    return records


def _write(folder: Path, records: list[dict]) -> None:
    """Write the table and a picture of noise for each row."""
    rng = np.random.default_rng(list(folder.name.encode()))
    for record in records:
        record["img_path"] = f"images/{record['id']}.png"
        write_picture(
            folder / record["img_path"], rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        )
    write_jsonl(folder / "manifest.jsonl", records)


def write_picture(file: Path, pixels: np.ndarray) -> Path:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(stream.getvalue())
    return file
