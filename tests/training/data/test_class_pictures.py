"""The class bridge in training: heads learn beside it, and every stage sees pseudo-pictures that no
index holds.
"""

import shutil

import numpy as np
import pytest
import torch

from genius.collections.images import open_image
from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.index.store import load_index
from genius.models.class_bridge import BridgedHead, ClassTexts
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Modality
from tests.training.tiny import arguments, train_stage
from tests.training.tiny_towers import locked_settings, write_color_collection
from training import __main__ as pipeline
from training.command_line import Arguments
from training.data.class_pictures import ClassCollection, class_outputs
from training.data.pairs import CandidateTable, Pairs
from training.paper.ablations.trainer import Trainer
from training.settings import with_values

PICTURES = 2


@pytest.fixture(scope="module")
def bridged(towers, colors, tmp_path_factory) -> Arguments:
    """Of a run that was trained with a bridge, by all stages."""
    bridge = {"bridge": True, "bridge_gain": 1.5}
    pictures = {"class_pictures": PICTURES}
    encoder = locked_settings(*towers, epochs=1, towers=bridge, locked=pictures)
    once = {"batch": 512, "epochs": 1}  # over thousands of pairs
    settings = with_values(
        encoder, {"features": {"batch": 256}, "quantizer": once, "decoder": once}
    )
    given = arguments(colors, tmp_path_factory.mktemp("run") / "run", settings)
    pipeline.train(given)
    return given


def test_the_stored_bridge_has_the_embeddings_of_the_names_and_definitions(bridged):
    encoder = Encoder.load(Run(bridged.run).folder("encoder"))
    texts = ClassTexts.of("imagenet-1k")
    assert encoder.config.model["bridge"] == {
        "labels": "imagenet-1k",
        "temperature": 1.0,
        "gain": 1.5,
    }
    split = encoder.split()
    assert isinstance(split.image_head, BridgedHead)
    for class_ in (0, 776):
        both = encoder.encode(
            [None] * 2, [", ".join(texts.names[class_]), texts.definitions[class_]]
        ).text
        expected = torch.nn.functional.normalize(both.mean(0), dim=-1)
        torch.testing.assert_close(split.image_head.prototypes[class_], expected, atol=2e-3, rtol=0)


def test_known_outputs_give_the_features_of_the_encoder(bridged, colors):
    encoder = Encoder.load(Run(bridged.run).folder("encoder"))
    files = FeatureFiles(bridged.run / "features" / "candidates")
    items = list(colors.all_candidates())
    images = [item.image and open_image(colors.image_path(item.image)) for item in items]
    expected = encoder.encode(images, [item.text for item in items])
    found = files.features(slice(0, len(items)))
    for kind in ("image", "text"):
        torch.testing.assert_close(
            getattr(found, kind), getattr(expected, kind), atol=5e-3, rtol=5e-3
        )


def test_every_stage_sees_the_classes_and_the_index_does_not(bridged, colors):
    files = FeatureFiles(bridged.run / "features" / "candidates")
    items = list(colors.all_candidates())
    assert len(files) == len(items) + 1000 * (1 + 2 * PICTURES)
    assert load_index(Run(bridged.run)).n == len(items)
    assert files.features(slice(len(items), None)).image.isfinite().all()
    # which ablations look for behind the features
    with pytest.raises(UserError, match="no test queries"):
        Trainer(Run(bridged.run), colors, bridged.settings, 5, "cpu")


def test_pseudo_pictures_without_the_outputs_of_towers_are_refused_before_anything_is_encoded(
    bridged, tmp_path
):
    run = tmp_path / "run"
    shutil.copytree(bridged.run, run, ignore=shutil.ignore_patterns("towers", "features"))
    with pytest.raises(UserError, match="lacks the outputs of its towers.*class_pictures=0$"):
        train_stage("features", bridged.collection, run, bridged.settings)
    assert not (run / "features").exists()


def test_a_pool_is_indexed_without_the_classes(bridged):
    settings = with_values(bridged.settings, {"index": {"pool": "union_val"}})
    train_stage("index", bridged.collection, bridged.run, settings)
    assert load_index(Run(bridged.run)).n == 72


def test_words_ask_for_pseudo_pictures_and_these_for_entries(colors):
    collection = ClassCollection(colors.root, "imagenet-1k", PICTURES)
    items = {item.id: item for item in collection.all_candidates()}
    assert len(items) == 360 + 1000 * (1 + 2 * PICTURES)
    rows = [row for row in collection.rows() if row.dataset == "classes"]
    assert [row.task for row in rows] == [0, 3], "the collection has instructions for these alone"
    by_text, by_picture = (list(collection.queries("train", row)) for row in rows)
    assert {query.text for query in by_text[776 * 4 : 777 * 4]} == {
        "sax",
        "a photo of a sax",
        "sax, saxophone",
        "a single-reed woodwind with a conical bore",
    }
    assert all(items[id].image.startswith("classes:776:") for id in by_text[776 * 4].positives)
    assert (
        items[by_picture[776].positives[0]].text
        == "Sax (saxophone): a single-reed woodwind with a conical bore."
    )
    assert (
        len(by_picture) == 1000 * (PICTURES - 1)
        and len(list(collection.queries("val", rows[1]))) == 200
    )
    pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
    assert len(pairs) == 2 * 144 + len(by_text) + len(by_picture)


def test_a_pair_asks_for_other_pairs(tmp_path):
    colors = write_color_collection(tmp_path / "collection")
    with (colors.root / "instructions" / "query_instructions.tsv").open("a") as stream:
        stream.write("image,text\timage,text\tcolors\t0\tfind the page\n")
    collection = ClassCollection(colors.root, "imagenet-1k", 3)
    items = {item.id: item for item in collection.all_candidates()}
    (row,) = (row for row in collection.rows() if row.task == 8)
    query = next(collection.queries("train", row))
    assert query.image == "classes:0:0" and query.text and query.modality == Modality.PAIR
    assert [items[id].image for id in query.positives] == ["classes:0:1", "classes:0:2"]


def test_pseudo_pictures_are_taken_for_their_class_as_photographs_are():
    torch.manual_seed(0)
    head = BridgedHead(torch.nn.Identity(), 30, 64, 8, temperature=1.0, gain=1.0)
    head.set_classifier(torch.nn.Linear(64, 30))
    head.classifier.mul_(20)
    photographs = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float16)
    made = class_outputs(photographs, head, PICTURES, 3, seed=1)
    assert made.shape == (30 * PICTURES * 3, 64) and np.isfinite(made).all()
    assert np.array_equal(made, class_outputs(photographs, head, PICTURES, 3, seed=1))
    of_class = head.probabilities(torch.from_numpy(made.astype(np.float32)))
    classes = torch.arange(30).repeat_interleave(PICTURES * 3)
    assert (of_class[torch.arange(len(classes)), classes] > 0.25).all()
    assert (of_class.argmax(1) == classes).float().mean() > 0.8
