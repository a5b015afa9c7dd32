"""The toy world's judgments, texts and pictures follow from the factors of its scenes."""

import json
import random
import re
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
from training.demo.toy_world import (
    BACKGROUNDS,
    CENTRE,
    COLOURS,
    DATASETS,
    FACTORS,
    HELD_OUT,
    NUMBERS,
    PIXELS,
    QUESTIONS,
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
    for task, row in rows.items():
        key = (row.dataset_id, *TASKS[task])
        training, held_out = world.instructions()[key], world.held_out_instructions()[key]
        assert training == instructions(task) and held_out == instructions(task, held_out=True)
        assert not set(training) & set(held_out)
        for split in SPLITS:
            assert len(list(world.queries(split, row))) >= 2


def named_in(text):
    """The factors that a text names."""
    words = set(re.findall("[a-z]+", text.lower()))
    named = {"shape": {value for value in SHAPES if words & {value, f"{value}s", f"{value}es"}}}
    named["number"] = {number for number, word in NUMBERS.items() if word in words}
    named["background"] = {value for value, phrase in BACKGROUNDS.items() if phrase in text.lower()}
    named |= {factor: words & set(FACTORS[factor]) for factor in ("colour", "size", "position")}
    assert all(len(values) <= 1 for values in named.values()), text
    return {factor: values.pop() for factor, values in named.items() if values}


def fitting(query, candidates: dict[str, set], pictures: dict[str, set]) -> set[str]:
    """The candidates, with their factors, that a query asks for by its own text or picture."""
    asked = {text: name for name, text in QUESTIONS.items()}.get(re.split("[:?]", query.text)[0])
    if query.task in (0, 1, 2):
        wanted = named_in(query.text) | ({"asked": asked} if asked else {})
        return {name for name, factors in candidates.items() if wanted.items() <= factors}
    if query.task == 3:
        return {name for name, own in candidates.items() if own <= pictures[query.image]}
    first = candidates[min(candidates.keys() & set(query.positives))]
    if query.task == 4:
        same = {pair for pair in first if pair[0] not in ("position", "background")}
        return {name for name, factors in candidates.items() if same <= factors}
    if query.task == 6:
        positives = candidates.keys() & set(query.positives)
        return {name for name in positives if ("asked", asked) in candidates[name]}
    return {name for name, factors in candidates.items() if factors == first}


def test_the_positives_are_exactly_the_candidates_that_fit(world):
    """Of test queries, among the test items: a query that training has too has also positives
    there.
    """
    pool = {item.id for item in world.candidates("union_test")}
    pictures = {
        item.image: factors_of(item).items()
        for item in world.all_candidates()
        if item.modality == Modality.IMAGE
    }
    for row in world.rows():
        candidates = {
            item.id: factors_of(item).items() for item in world.local_pool(row) if item.id in pool
        }
        for query in world.queries("test", row):
            assert pool & set(query.positives) == fitting(query, candidates, pictures), query


def test_captions_name_the_factors_in_their_source_and_no_others(world):
    captions = [item for item in world.all_candidates() if item.id.startswith("0:") and item.text]
    assert captions and all(named_in(item.text) == factors_of(item) for item in captions)


def test_training_has_no_held_out_pair_and_the_tests_have_some(world):
    pairs = defaultdict(set)
    for split in SPLITS:
        for item in world.candidates(f"union_{split}"):
            factors = factors_of(item)
            pairs[split].add(f"{factors['colour']} {factors['shape']}")
    assert not pairs["train"] & HELD_OUT
    assert pairs["test"] & HELD_OUT


def test_texts_say_what_they_are_made_of():
    assert caption(asdict(SCENE)) == "Three small red stars at the left on dots."
    assert caption({"shape": "cross", "number": 1, "background": "white"}) == "One cross on white."
    assert question("number", asdict(SCENE)) == "How many: small red stars at the left on dots?"
    assert question("colour") == "What colour?"
    assert (
        answer("position", asdict(SCENE))
        == "At the left: three small red stars at the left on dots."
    )
    assert change({"colour": "blue", "position": "top"}) == "The same, but blue and at the top."
    assert change({"shape": "heart", "number": 2}) == "The same, but as hearts and two of them."


@pytest.mark.parametrize("shape", FACTORS["shape"])
@pytest.mark.parametrize("background", FACTORS["background"])
def test_a_picture_shows_its_factors(shape, background):
    rng = random.Random(shape + background)
    for number in FACTORS["number"]:
        for position in FACTORS["position"]:
            scene = Scene(
                shape, rng.choice(FACTORS["colour"]), number, "small", position, background
            )
            image = picture(scene, rng, framed=rng.random() < 0.5)
            pixels = coloured(scene, image)
            assert label(pixels, np.ones((3, 3)))[1] == number
            middle = np.argwhere(pixels).mean(0)[::-1] / PIXELS
            assert np.abs(middle - CENTRE[position]).max() < 0.08
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
        return {
            path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()
        }

    write_world(tmp_path / "again", SCENES, seed=5)
    write_world(tmp_path / "other", SCENES, seed=6)
    assert files(tmp_path / "again") == files(world.root)
    assert files(tmp_path / "other") != files(world.root)


@pytest.mark.parametrize("scenes", ["10", "1000000"])
def test_sizes_out_of_range_are_refused(scenes, tmp_path):
    with pytest.raises(UserError, match="from 50 to 100,000"):
        main([str(tmp_path / "world"), "--scenes", scenes])
    assert not (tmp_path / "world").exists()


def test_the_command_prints_one_line_for_each_task(tmp_path, capsys):
    main([str(tmp_path / "world"), "--scenes", "50"])
    assert len(capsys.readouterr().out.splitlines()) == len(TASKS)
    assert {path.name for path in (tmp_path / "world" / "images").iterdir()} == set(DATASETS)
