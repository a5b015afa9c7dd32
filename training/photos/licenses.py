"""Whose pictures and texts may ship, under which license, and whom to credit.

A picture's own credit, license and source in its manifest come first; SETS says what holds for a whole set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADDRESS = re.compile(r"https?://\S+")

STATED = "as stated for each picture"


@dataclass(frozen=True)
class Terms:
    """What holds for the pictures of a set, or for its texts."""

    title: str
    license: str
    credit: str
    origin: str
    ships: bool
    reason: str  # why it may ship, or why not

    @property
    def facts(self) -> dict[str, str]:
        """For src_content: a card shows them."""
        return {"credit": self.credit, "licence": self.license, "origin": self.origin}


SETS = {  # by the name of the dataset, or by the field `set` of a photograph
    "flower_photos": Terms(
        "TensorFlow flower_photos",
        "CC BY 2.0",
        "the photographers on Flickr",
        "https://www.tensorflow.org/datasets/catalog/tf_flowers",
        True,
        "CC BY: may be shared with credit, which each picture has",
    ),
    "ffml_food": Terms(
        "FFML food database",
        "MIT",
        "Fülöp Bettina-Elena and Cristea Ioan",
        "https://github.com/cristeaioan/ffml_dataset",
        True,
        "MIT: may be shared with its notice",
    ),
    "clothing": Terms(
        "Clothing dataset",
        "CC0 1.0",
        "Alexey Grigorev and contributors",
        "https://github.com/alexeygrigorev/clothing-dataset",
        True,
        "CC0: in the public domain",
    ),
    "trashnet": Terms(
        "TrashNet",
        "MIT",
        "Gary Thung and Mindy Yang",
        "https://github.com/garythung/trashnet",
        True,
        "MIT: may be shared with its notice",
    ),
    "npc_animals": Terms(
        "Animals of Wikimedia Commons",
        STATED,
        STATED,
        "https://commons.wikimedia.org",
        True,
        "CC BY, CC BY-SA, CC0 or public domain: may be shared with credit, which each picture has",
    ),
    "gcompris": Terms(
        "Photographs of GCompris",
        STATED,
        STATED,
        "https://gcompris.net",
        True,
        "CC BY, CC BY-SA, CC0 or public domain: may be shared with credit, which each picture has",
    ),
    "coco_mini_ccby": Terms(
        "MS COCO, pictures under CC BY",
        "CC BY 2.0",
        "the photographer at the Flickr address; captions: COCO Consortium, CC BY 4.0",
        "https://cocodataset.org",
        True,
        "CC BY: may be shared with credit, which each picture has",
    ),
    "pd_recipes": Terms(
        "Public Domain Recipes",
        "Unlicense (public domain)",
        "Public Domain Recipes contributors",
        "https://github.com/ronaldl29/public-domain-recipes",
        True,
        "in the public domain",
    ),
    "grocery": Terms(
        "GroceryStoreDataset",
        "MIT",
        "Marcus Klasson, Cheng Zhang and Hedvig Kjellström",
        "https://github.com/marcusklasson/GroceryStoreDataset",
        True,
        "MIT: may be shared with its notice",
    ),
    "emoji": Terms(
        "Noto Emoji, names and keywords of emojilib",
        "Apache-2.0; keywords MIT",
        "Google (Noto Emoji); Mu-An Chiou and contributors (emojilib)",
        "https://github.com/googlefonts/noto-emoji",
        True,
        "Apache-2.0 and MIT: may be shared with their notices",
    ),
    "wordnet": Terms(
        "WordNet",
        "WordNet license",
        "WordNet, Princeton University",
        "https://wordnet.princeton.edu",
        True,
        "the WordNet license permits redistribution with its notice",
    ),
    "definitions": Terms(
        "Definitions of this project",
        "MIT",
        "the GENIUS Explorer authors",
        "training/photos/everyday.tsv",
        True,
        "written for this project",
    ),
    "flickr8k": Terms(
        "Flickr8k",
        "non-commercial research use",
        "Hodosh, Young and Hockenmaier, 2013",
        "https://hockenmaier.cs.illinois.edu/8k-pictures.html",
        False,
        "for research only, without a right to share",
    ),
    "fashion": Terms(
        "Fashion Product Images",
        "not stated",
        "Param Aggarwal",
        "https://www.kaggle.com/datasets/paramaggarwal/fashion-product-images-small",
        False,
        "no license is stated",
    ),
    "visual7w": Terms(
        "Visual7W",
        "of each picture's photographer",
        "Zhu, Groth, Bernstein and Fei-Fei, 2016; pictures of MS COCO",
        "http://ai.stanford.edu/~yukez/visual7w/",
        False,
        "the licenses of its pictures are not known",
    ),
}


def photo_facts(attributes: dict[str, Any], flickr: dict[str, str], name: str) -> dict[str, str]:
    """Credit, license and origin of a picture of `photos`.

    flickr: file name -> address of the photograph, for the pictures whose manifest has no credit. name: its file's.
    """
    terms = SETS[attributes["set"]]
    facts = dict(terms.facts)
    credit = str(attributes.get("credit", ""))
    address = ADDRESS.search(credit)
    if attributes["set"] == "flower_photos":  # "CC-BY by NAME - ADDRESS"
        facts["credit"] = credit.removeprefix("CC-BY by ").split(" - http")[0].strip()
    elif credit and attributes["set"] != "clothing":
        facts["credit"] = ADDRESS.sub("", credit).strip(" ,-")
    if address:
        facts["origin"] = address[0]
    if name in flickr:
        facts["origin"] = flickr[name]
    for name, field in (("licence", "licence"), ("origin", "source")):
        if attributes.get(field):
            facts[name] = str(attributes[field])
    return facts


def read_flickr_addresses(folder: Path) -> dict[str, str]:
    """File name -> address, from the table of the pictures of COCO: file, license, address, …"""
    file = folder / "licences" / "coco_mini_ccby-attribution.txt"
    if not file.is_file():
        return {}
    lines = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {fields[0]: fields[2] for fields in lines if len(fields) > 2}
