"""The toy world's judgments, texts and pictures follow from the factors of its scenes."""

import json
import random
from collections import defaultdict
from dataclasses import asdict

import numpy as np
import pytest
from scipy.ndimage import label

from genius.collections.__main__ import main as check_collection
from genius.collections.layout import SPLITS, TASKS
from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.schema import Modality
from training.toy_world import (
    BACKGROUNDS,
    CENTRE,
    COLOURS,
    DATASETS,
    FACTORS,
    HELD_OUT,
    NUMBERS,
    PIXELS,
    SHAPES,
    Scene,
    answer,
    caption,
    change,
    instructions,
    main,
    picture,
    question,
    write_world,
)

SCENES = 60
SCENE = Scene("star", "red", 3, "small", "left", "dotted")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy") / "world"
    write_world(root, SCENES, seed=5)
    return Collection(root)


@pytest.fixture(scope="module")
def items(world):
    return {item.id: item for item in world.all_candidates()}


def factors_of(item):
    return json.loads(item.source)


def coloured(scene, image):
    """(y, x) bool: pixels that have about the colour of the scene's shapes."""
    return np.abs(np.asarray(image, dtype=int) - COLOURS[scene.colour]).max(-1) < 20


def test_the_collection_passes_the_check(world, capsys):
    check_collection(["--check", str(world.root), "--images"])
    assert "problems: 0" in capsys.readouterr().out


def test_every_task_has_queries_and_both_kinds_of_instructions_in_every_split(world):
    rows = {row.task: row for row in world.rows()}
    assert set(rows) == set(TASKS)
    training, held_out = world.instructions(), world.held_out_instructions()
    for task, row in rows.items():
        key = (row.dataset_id, *TASKS[task])
        assert training[key] == instructions(task) and held_out[key] == instructions(task, held_out=True)
        assert not set(training[key]) & set(held_out[key])
        for split in SPLITS:
            assert len(list(world.queries(split, row))) >= 2


def test_the_positives_are_exactly_the_candidates_of_their_split_that_fit(world, items):
    pools = {split: [item.id for item in world.candidates(f"union_{split}")] for split in SPLITS}
    kept = ("shape", "colour", "number", "size")
    for row in world.rows():
        for split in SPLITS:
            for query in world.queries(split, row):
                targets = [factors_of(items[target]) for target in query.positives]
                assert {items[target].modality for target in query.positives} == {TASKS[row.task][1]}
                assert set(query.positives) <= set(pools[split])
                if row.task in (1, 2, 6, 8, 7):
                    assert all(target == targets[0] for target in targets)
                if row.task == 4:
                    shared = {factor: targets[0][factor] for factor in kept}
                    of_kind = {
                        id
                        for id in pools[split]
                        if id.startswith(f"{row.dataset_id}:") and shared.items() <= factors_of(items[id]).items()
                    }
                    assert set(query.positives) == of_kind


def test_captions_name_the_factors_in_their_source_and_no_others(items):
    captions = [item for item in items.values() if item.id.startswith("0:") and item.modality == Modality.TEXT]
    assert captions
    for item in captions:
        factors, text = factors_of(item), item.text.lower()
        for value in SHAPES:
            assert (value in text) == (factors["shape"] == value)
        for factor, words in (("colour", dict.fromkeys(COLOURS, "")), ("background", BACKGROUNDS), ("number", NUMBERS)):
            for value, phrase in words.items():
                assert ((phrase or value) in text) == (factors.get(factor) == value)
        for value in (*CENTRE, "small", "large"):
            assert (value in text) == (value in factors.values())


def test_training_has_no_held_out_pair_and_the_tests_have_some(world):
    pairs = defaultdict(set)
    for split in SPLITS:
        for item in world.candidates(f"union_{split}"):
            factors = factors_of(item)
            pairs[split].add((factors["shape"], factors["colour"]))
    assert not pairs["train"] & HELD_OUT
    assert pairs["test"] & HELD_OUT


def test_texts_say_what_they_are_made_of():
    assert caption(asdict(SCENE)) == "Three small red stars at the left on dots."
    assert caption({"shape": "cross", "number": 1, "background": "white"}) == "One cross on white."
    assert question("number", SCENE) == "How many: small red stars at the left on dots?"
    assert question("colour") == "What colour?"
    assert answer("position", SCENE) == "At the left: three small red stars at the left on dots."
    assert change({"colour": "blue", "position": "top"}) == "The same, but blue and at the top."
    assert change({"shape": "heart", "number": 2}) == "The same, but as hearts and two of them."


@pytest.mark.parametrize("shape", FACTORS["shape"])
@pytest.mark.parametrize("background", FACTORS["background"])
def test_a_picture_shows_its_factors(shape, background):
    rng = random.Random(shape + background)
    for number in FACTORS["number"]:
        for position in FACTORS["position"]:
            scene = Scene(shape, rng.choice(FACTORS["colour"]), number, "small", position, background)
            image = picture(scene, rng, framed=rng.random() < 0.5)
            pixels = coloured(scene, image)
            assert label(pixels, np.ones((3, 3)))[1] == number
            middle = np.argwhere(pixels).mean(0)[::-1] / PIXELS
            assert np.abs(middle - CENTRE[position]).max() < 0.06
            larger = coloured(scene, picture(Scene(**(asdict(scene) | {"size": "large"})), rng))
            assert larger.sum() > 1.7 * pixels.sum()


def test_shapes_and_backgrounds_look_different():
    def pixels(**factors):
        scene = Scene(**(asdict(SCENE) | {"number": 1, "size": "large"} | factors))
        return np.asarray(picture(scene, random.Random(0)), dtype=int)

    for factor in ("shape", "background", "colour"):
        drawn = [pixels(**{factor: value}) for value in FACTORS[factor]]
        for at, image in enumerate(drawn):
            for other in drawn[:at]:
                assert np.abs(image - other).max(-1).astype(bool).mean() > 0.005


def test_the_world_depends_on_the_seed_alone(world, tmp_path):
    def files(root):
        return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    write_world(tmp_path / "again", SCENES, seed=5)
    write_world(tmp_path / "other", SCENES, seed=6)
    assert files(tmp_path / "again") == files(world.root)
    assert files(tmp_path / "other") != files(world.root)


@pytest.mark.parametrize("arguments", [["--scenes", "10"], ["--scenes", "1000000"], ["--seed", "-1"]])
def test_sizes_out_of_range_are_refused(arguments, tmp_path):
    with pytest.raises((UserError, SystemExit), match="from 50 to 100,000|at least 0|2"):
        main([str(tmp_path / "world"), *arguments])
    assert not (tmp_path / "world").exists()


def test_the_command_prints_one_line_for_each_task(tmp_path, capsys):
    main([str(tmp_path / "world"), "--scenes", "50"])
    assert len(capsys.readouterr().out.splitlines()) == len(TASKS)
    assert {path.name for path in (tmp_path / "world" / "images").iterdir()} == set(DATASETS)
