"""The word lists of the photo collection, each a table beside this module, and whose pictures may
ship.

phrasings.tsv   instructions of each (dataset, task) row for training, and two that are held out;
                texts of queries
sets.tsv        license, credit and origin of each set, and whether it ships
names.tsv       better names of pictures than those of the sets
families.tsv    families of dishes, each with words of their names
not_meant.tsv   entries that a word of a dish does not mean ("zucchini boats"), or that are in
                scenes of every kind
not_shown.tsv   pictures of `scenes` that train but are not shown, each with what is recognizable
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from genius.evaluation.paper import read_published as read_table
from genius.texts import stable_hash

FOLDER = Path(__file__).parent
ADDRESS = re.compile(r"https?://\S+")
STATED = "as stated for each picture"
# sets whose texts have terms of their own
TEXTS = {"coco_free": "coco_captions", "openstax": "openstax_texts"}


@dataclass(frozen=True)
class Terms:
    """What holds for the pictures of a set, or for its texts."""

    set: str
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
    terms.set: terms
    for terms in TypeAdapter(list[Terms]).validate_python(read_table(FOLDER / "sets.tsv"))
}
# (dataset, task, "training" or "held out"), in their order
PHRASINGS: dict[tuple[str, int, str], list[str]] = {}
# of the texts of queries, by use; "question": they ask what a picture shows
TEMPLATES: dict[str, list[str]] = {}
for _row in read_table(FOLDER / "phrasings.tsv"):
    if _row["task"]:
        _key = _row["dataset"], int(_row["task"]), _row["use"]
        PHRASINGS.setdefault(_key, []).append(_row["text"])
    else:
        TEMPLATES.setdefault(_row["use"], []).append(_row["text"])
NAMES = {row["name in the set"]: row["better name"] for row in read_table(FOLDER / "names.tsv")}
NOT_SHOWN = {row["picture"] for row in read_table(FOLDER / "not_shown.tsv")}
NOT_MEANT = {row["of"]: row["entries"].split(", ") for row in read_table(FOLDER / "not_meant.tsv")}
FAMILIES = {row["family"]: row["words"].split() for row in read_table(FOLDER / "families.tsv")}


def choice(choices: Sequence[Any], key: str) -> Any:
    """One of the choices, the same one for the same key."""
    return choices[stable_hash(key) % len(choices)]


def with_text_facts(picture: dict[str, str], text: dict[str, str]) -> dict[str, str]:
    """The facts of a picture with a text: both are credited, if the text has terms of its own."""
    both = {
        name: f"picture: {picture[name]}; text: {text[name]}"
        for name in ("credit", "licence")
        if name in text
    }
    return picture | both


def photo_facts(attributes: dict[str, Any], flickr: dict[str, str], name: str) -> dict[str, str]:
    """Credit, license and origin of a picture of `photos`: its own come first, then those of its
    set.

    flickr: file name -> address of the photograph, for the pictures whose manifest has no credit.
    name: its file's.
    """
    facts = dict(SETS[attributes["set"]].facts)
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
    for fact, field in (("licence", "licence"), ("origin", "source")):
        if attributes.get(field):
            facts[fact] = str(attributes[field])
    return facts


def read_flickr_addresses(folder: Path) -> dict[str, str]:
    """File name -> address, from the table of the pictures of COCO: file, license, address, …"""
    file = folder / "licences" / "coco_mini_ccby-attribution.txt"
    if not file.is_file():
        return {}
    lines = [
        line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    return {fields[0]: fields[2] for fields in lines if len(fields) > 2}
