"""Locked-tower training: heads learn on outputs of the towers that were computed once."""

import json
import shutil

import numpy as np
import pytest
import torch

from genius.collections.images import open_image
from genius.collections.layout import INSTRUCTIONS
from genius.collections.mbeir import Collection
from genius.collections.writer import new_collection
from genius.encoding.features import FeatureFiles
from genius.errors import UserError
from genius.models.encoder import Encoder
from genius.run import Run
from genius.schema import Item, LabeledQuery, Modality
from tests.search.tiny import tiny_encoder
from tests.training.tiny import Killed, arguments, killed_while, train_stage, weights_of
from tests.training.tiny_towers import COLORS, locked_settings, write_towers
from training.data.encoder_inputs import OWN_INSTRUCTION, InstructionSwaps
from training.data.pairs import CandidateTable, Pairs
from training.stages import features, tower_features
from training.stages.curves import read_curves
from training.stages.encoder import new_encoder
from training.stages.locked import LockedEncoder, LockedLoader
from training.stages.tower_features import known_features, statistics


def train(collection, run, settings):
    return weights_of(train_stage("encoder", collection, run, settings), "encoder")


def curve(run):
    return read_curves(Run(run))["encoder"]


@pytest.fixture(scope="module")
def trained(towers, colors, tmp_path_factory):
    """A run whose heads were trained, without interruption."""
    run = tmp_path_factory.mktemp("trained") / "run"
    train(colors, run, locked_settings(*towers))
    return run


def is_head(name):
    return name.startswith(("clip.visual.head", "clip.text.proj")) or name == "clip.logit_scale"


def test_heads_learn(trained):
    points = curve(trained)
    assert points[-1]["loss"] < 0.7 * points[0]["loss"]
    assert points[-1]["validation hit@5"] > 5 * 5 / (2 * len(COLORS) ** 2)


def test_towers_do_not_change(trained, towers):
    before = new_encoder(locked_settings(*towers).encoder).state_dict()
    after = weights_of(trained, "encoder")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all(map(is_head, changed))


def test_a_killed_run_resumes_to_the_same_average_of_weights(
    trained, towers, colors, tmp_path, monkeypatch
):
    settings = locked_settings(*towers, epochs=3, average=0.9)
    for run in ("whole", "killed", "last"):
        shutil.copytree(trained / "towers", tmp_path / run / "towers")
    expected = train(colors, tmp_path / "whole", settings)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        killed_while(patch, "encoder", "after an epoch")
        train(colors, tmp_path / "killed", settings)
    resumed = train(colors, tmp_path / "killed", settings)
    torch.testing.assert_close(resumed, expected, atol=0, rtol=0)
    assert not list((tmp_path / "killed" / "checkpoints").iterdir())
    last = train(colors, tmp_path / "last", locked_settings(*towers, epochs=3))
    assert any(not torch.equal(weight, expected[name]) for name, weight in last.items())


def test_a_second_training_opens_no_image(trained, towers, colors, tmp_path, opened):
    shutil.copytree(trained, tmp_path / "run")
    train(colors, tmp_path / "run", locked_settings(*towers, learning_rate=1e-3, epochs=1))
    assert not opened


def test_outputs_of_another_tower_are_replaced_in_the_run(
    trained, towers, colors, tmp_path, opened
):
    shutil.copytree(trained, tmp_path / "run")
    text = (tmp_path / "run" / "towers" / "texts" / "text.npy").read_bytes()
    other, _ = write_towers(tmp_path / "other", seed=1)
    train(colors, tmp_path / "run", locked_settings(other, towers[1], epochs=1))
    assert len(opened) == 2 * 180
    assert (tmp_path / "run" / "towers" / "texts" / "text.npy").read_bytes() == text


def test_folding_the_standardization_changes_only_the_last_digits(trained, towers):
    images = FeatureFiles(trained / "towers" / "images").image
    texts = FeatureFiles(trained / "towers" / "texts").text[:, 0]
    locked = LockedEncoder(new_encoder(locked_settings(*towers).encoder)).eval()
    locked.standardize(statistics(images), statistics(texts))
    every = torch.ones(9, dtype=torch.bool)
    inputs = torch.tensor(images[:9]).float(), every, torch.tensor(texts[:9]).float(), every
    with torch.no_grad():
        before = locked(*inputs)
        locked.fold()
        after = locked(*inputs)
    for one, two in ((before.image, after.image), (before.text, after.text)):
        torch.testing.assert_close(one, two, atol=1e-5 * one.abs().max().item(), rtol=0)


def test_an_open_clip_model_trains_its_projections(colors, tmp_path):
    given = tiny_encoder()
    given.save(tmp_path)
    settings = locked_settings("", "", pretrained=str(tmp_path), epochs=2)
    after = train(colors, tmp_path / "run", settings)
    before = given.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {"clip.logit_scale"} < changed and len(changed) <= 4, changed


@pytest.mark.parametrize("rounding", ["half", "eight_bit"])
def test_heads_learn_on_the_towers_as_they_are_stored(
    towers, colors, tmp_path, monkeypatch, rounding
):
    monkeypatch.setattr("genius.models.saving.LARGE", 64)
    settings = locked_settings(*towers, epochs=1, **{rounding: True})
    train(colors, tmp_path, settings)
    stored = Encoder.load(Run(tmp_path).folder("encoder"))
    known = known_features(Run(tmp_path), colors, settings.encoder, stored, 0)
    path = next(item.image for item in colors.all_candidates() if item.image)
    with torch.no_grad():
        expected = stored.encode([open_image(colors.image_path(path))], [""]).image[0]
    torch.testing.assert_close(known.images([path])[path], expected, atol=5e-3, rtol=5e-3)


def test_a_collection_without_images_is_refused(towers, tmp_path):
    with new_collection(tmp_path / "texts") as writer:
        for number in range(8):
            split = ("train", "val")[number % 2]
            writer.candidate(
                Item(f"0:{number}", Modality.TEXT, f"word {number}"), "texts", [1], [split]
            )
            query = LabeledQuery(
                f"0:{number}", Modality.TEXT, 1, f"word {number}", positives=(f"0:{number}",)
            )
            writer.query(query, "texts", split)
        writer.instructions(0, "texts", Modality.TEXT, Modality.TEXT, ["find it"])
    with pytest.raises(UserError, match="has no images among its training queries"):
        train(Collection(tmp_path / "texts"), tmp_path / "run", locked_settings(*towers))


@pytest.mark.parametrize("tower", ["", "no_such_tower"])
def test_a_missing_tower_is_one_sentence(towers, colors, tmp_path, tower):
    with pytest.raises(
        UserError, match=tower or "encoder.image_tower and encoder.text_tower, both or neither"
    ):
        train(colors, tmp_path / "run", locked_settings(tower, towers[1]))
    assert not (tmp_path / "run").exists()


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The paths of the images that are opened for the image tower."""
    paths = []
    open_item_image = tower_features.open_item_image

    def counted(collection, path):
        paths.append(path)
        return open_item_image(collection, path)

    monkeypatch.setattr(tower_features, "open_item_image", counted)
    return paths


def test_the_feature_stage_takes_known_tower_outputs(
    trained, towers, colors, tmp_path, monkeypatch
):
    shutil.copytree(trained, tmp_path / "run")
    known = []

    def counting(*inputs):
        known.append(known_features(*inputs))
        return known[0]

    monkeypatch.setattr(features, "known_features", counting)
    train_stage("features", colors, tmp_path / "run", locked_settings(*towers))
    items = list(colors.all_candidates())
    assert known[0].images(sorted(item.image for item in items if item.image)), (
        "no tower output was used"
    )
    views = FeatureFiles(tmp_path / "run" / "towers" / "images").image[:2]
    assert not np.array_equal(*views), "an image and a crop of it"


def test_some_phrasings_have_the_instruction_of_another_row(trained, towers, colors, tmp_path):
    shutil.copytree(colors.root, tmp_path / "collection")
    with (tmp_path / "collection" / INSTRUCTIONS).open("a") as stream:
        stream.write("text\ttext\tcolors\t0\tdescribe the picture\n")
    collection = Collection(tmp_path / "collection")
    shutil.copytree(trained / "towers", tmp_path / "towers")
    swapping = {"modality_weight": 0.5, "instruction_swap_prob": 0.5}
    settings = locked_settings(*towers, epochs=2, **swapping)
    candidates = CandidateTable.read(collection)
    splits = [Pairs.read(collection, split, candidates) for split in ("train", "val")]
    model = LockedEncoder(new_encoder(settings.encoder))
    swaps = InstructionSwaps(collection, splits[0], candidates, settings.encoder, model.encoder.dim)
    given = arguments(collection, tmp_path, settings)
    loader = LockedLoader(collection, splits, given, model, swaps)
    pairs = splits[0]
    queries = np.arange(len(splits[0]))

    ((inputs, _),) = loader.load_pairs(pairs, [queries], np.random.default_rng(0), training=True)

    swapped = inputs.instruction != OWN_INSTRUCTION
    asks_by_text = np.array([image is None for image in pairs.images])
    assert not swapped[~asks_by_text].any() and 0.35 < swapped[asks_by_text].mean() < 0.65
    assert swaps.keys[inputs.instruction[swapped]].tolist() == [
        [0, Modality.TEXT, Modality.TEXT]
    ] * sum(swapped)
    texts = json.loads((tmp_path / "towers" / "texts" / "names.json").read_text(encoding="utf-8"))
    rows = [
        texts.index(f"Describe the picture. {pairs.texts[query]}.")
        for query in np.flatnonzero(swapped)
    ]
    outputs = inputs.tokens[np.isin(np.flatnonzero(inputs.text_mask), np.flatnonzero(swapped))]
    torch.testing.assert_close(outputs, torch.tensor(loader.text_outputs[rows]).float())
    ((inputs, _),) = loader.load_pairs(
        splits[1], [np.arange(len(splits[1]))], np.random.default_rng(0), training=False
    )
    assert set(inputs.instruction) == {OWN_INSTRUCTION}
