"""Credits of pictures, CREDITS.md, and the worked examples of the photo run."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from genius.collections.layout import TASKS
from genius.errors import UserError
from genius.examples import read_examples
from genius.schema import Item, Modality
from tests.training.photos.sets import write_sets
from training.example_writing import Worked
from training.photos import credits, worked_examples
from training.photos.licenses import SETS, photo_facts
from training.photos.worked_examples import WORKED, write_photo_examples

DATA = os.environ.get("GENIUS_DATA")


def item(name: str, image: str | None, text: str = "", **facts: str) -> Item:
    return Item(name, Modality.of(text, image), text, image, json.dumps(facts))


def test_a_picture_s_own_credit_license_and_address_come_first():
    flower = {"set": "flower_photos", "credit": "CC-BY by Ann B - https://example.org/1/"}
    assert photo_facts(flower, {}, "1.webp") == {
        "credit": "Ann B", "licence": "CC BY 2.0", "origin": "https://example.org/1/"
    }  # fmt: skip
    animal = {"set": "npc_animals", "licence": "CC0", "credit": "By Bob - Own work, CC0, https://example.org/2"}
    assert photo_facts(animal, {}, "2.webp") == {
        "credit": "By Bob - Own work, CC0", "licence": "CC0", "origin": "https://example.org/2"
    }  # fmt: skip
    street = {"set": "coco_mini_ccby", "licence": "CC BY 2.0"}
    assert photo_facts(street, {"3.webp": "http://flickr/3"}, "3.webp")["origin"] == "http://flickr/3"
    assert photo_facts({"set": "clothing"}, {}, "4.webp") == SETS["clothing"].facts


def test_credits_list_pictures_with_a_credit_of_their_own_and_sets_that_do_not_ship(tmp_path, monkeypatch):
    items = [
        item("5:1", "images/photos/a.webp", set="flower_photos", title="rose", credit="Ann | B", licence="CC BY 2.0",
             origin="https://example.org/1"),
        item("5:2", "images/photos/a.webp", "Rose: a flower.", set="flower_photos", credit="both"),
        item("5:3", "images/photos/b.webp", set="clothing", **SETS["clothing"].facts),
        item("6:1", None, "Dog: an animal.", set="wordnet"),
    ]  # fmt: skip

    index = SimpleNamespace(n=len(items), items=lambda rows: [items[row] for row in rows])
    shown = Worked("Owl", WORKED[1].rows, "What?", "photos/npc_owl")
    monkeypatch.setattr(worked_examples, "WORKED", (shown, WORKED[2]))
    monkeypatch.setattr(credits.Index, "load", lambda folder: index)
    monkeypatch.setattr(credits.Run, "folder", lambda run, part: tmp_path)
    assert credits.write_credits(tmp_path, write_sets(tmp_path / "sets")) == 2
    text = (tmp_path / "CREDITS.md").read_text()
    assert "| a.webp | rose | Ann / B | CC BY 2.0 | https://example.org/1 |" in text and "b.webp" not in text
    assert "| npc_owl.png | owl | By Bob - Own work, CC BY-SA 3.0 | CC BY-SA 3.0 | https://example.org/Owl |" in text
    assert "Princeton University" in text and "Flickr8k" in text and "Apache-2.0" in text

    items.append(item("0:1", "images/flickr8k/c.jpg", set="flickr8k"))
    index.n = len(items)
    with pytest.raises(UserError, match="0:1 is of the set flickr8k, which may not ship; set index.pool=shipped"):
        credits.write_credits(tmp_path, tmp_path / "sets")


def test_the_worked_examples_have_every_task_and_fit_their_instructions():
    assert len(WORKED) == 12
    assert {row.task for worked in WORKED for row in worked.rows} == set(TASKS)
    for worked in WORKED:
        modality = Modality.of(worked.text, worked.picture or None)
        assert {TASKS[row.task][0] for row in worked.rows} == {modality}, worked.title


def test_examples_are_written_with_their_pictures(tmp_path, monkeypatch):
    data, row = write_sets(tmp_path / "sets"), WORKED[1].rows[0]
    monkeypatch.setattr(worked_examples, "WORKED", (Worked("Owl", (row,), "What?", "photos/npc_owl"), WORKED[2]))
    write_photo_examples(tmp_path / "run", data)
    first, second = read_examples(tmp_path / "run")
    assert first.picture.size == (16, 12) and first.instructions[0].target == Modality.TEXT
    assert second.picture is None and second.text == WORKED[2].text

    monkeypatch.setattr(worked_examples, "WORKED", (Worked("Dog", (row,), "What?", "photos/npc_dog"),))
    with pytest.raises(UserError, match="has no picture photos/npc_dog"):
        write_photo_examples(tmp_path / "run", data)


@pytest.mark.skipif(not DATA, reason="GENIUS_DATA is not set: no real sets here")
def test_every_picture_of_the_worked_examples_exists():
    pictures = [worked.picture for worked in WORKED if worked.picture]
    assert worked_examples.picture_files(Path(DATA)).keys() == set(pictures)
