"""The rows of the world: what M-BEIR has, how often, and what training never sees."""

import json
from collections import Counter

import numpy as np
import pytest

from genius.collections.layout import TASKS
from genius.demo_world.datasets import DATASETS, make_entry
from genius.demo_world.knowledge import entity
from genius.demo_world.phrasings import PHRASINGS
from genius.demo_world.sampling import is_held_out
from genius.demo_world.write import SCALE, plan
from genius.schema import Modality

PAPER_ROWS = {  # Table 2 of the paper
    ("visualnews", 0),
    ("mscoco", 0),
    ("fashion200k", 0),
    ("webqa", 1),
    ("edis", 2),
    ("webqa", 2),
    ("visualnews", 3),
    ("mscoco", 3),
    ("fashion200k", 3),
    ("nights", 4),
    ("oven", 6),
    ("infoseek", 6),
    ("fashioniq", 7),
    ("cirr", 7),
    ("oven", 8),
    ("infoseek", 8),
}


@pytest.fixture(scope="module")
def entries():
    """A few entries of every dataset and role, as the default scale plans them."""
    return [
        (task.role, make_entry(0, task.dataset_id, number, task.role))
        for task in plan(SCALE)
        for number in range(task.start, min(task.start + 1, task.stop))
    ]


def test_the_sixteen_rows_are_those_of_the_paper():
    assert {(dataset.name.removeprefix("drawn_"), task) for dataset in DATASETS for task in dataset.tasks} == PAPER_ROWS
    assert set(PHRASINGS) == {(dataset.name, task) for dataset in DATASETS for task in dataset.tasks}


def test_every_row_has_four_training_instructions_and_two_held_out():
    for training, testing in PHRASINGS.values():
        assert (len(set(training)), len(set(testing))) == (4, 2)
        assert not set(training) & set(testing)
    every = [text for both in PHRASINGS.values() for texts in both for text in texts]
    assert len(set(every)) == len(every)


def test_queries_and_candidates_have_the_modalities_of_their_task(entries):
    for _, entry in entries:
        items = {item.id: item for item, _, _ in entry.candidates}
        for _, query in entry.queries:
            asks, wants = TASKS[query.task]
            assert query.modality == asks
            assert query.positives
            assert {items[name].modality for name in query.positives} == {wants}


def test_exactly_the_pictures_in_the_records_are_drawn(entries):
    for _, entry in entries:
        named = {item.image for item, _, _ in entry.candidates} | {query.image for _, query in entry.queries}
        assert named - {None} <= set(entry.drawings)
        if entry.role.query_splits:
            assert set(entry.drawings) <= named


def test_positives_are_in_the_pools_of_every_split_of_their_query(entries):
    for _, entry in entries:
        pools = {item.id: pools for item, _, pools in entry.candidates}
        for split, query in entry.queries:
            assert all(split in pools[name] for name in query.positives)


def test_the_default_world_has_the_stated_size():
    planned = Counter()
    for task in plan(SCALE):
        entry = make_entry(0, task.dataset_id, task.start, task.role)
        for split, _ in entry.queries:
            planned[split] += task.stop - task.start
        planned["pool"] += (task.stop - task.start) * sum("test" in pools for _, _, pools in entry.candidates)
    assert planned["train"] >= 25_000 * 0.9  # the entries of one task differ a little
    assert planned["val"] >= 2_000
    assert planned["test"] >= 3_000
    assert planned["pool"] >= 12_000


@pytest.mark.parametrize("scale", [1_000, 50_000, 1_000_000])
def test_a_larger_world_has_more_candidates_and_no_more_queries(scale):
    each = [
        np.mean([len(make_entry(0, dataset_id, number, "extra").candidates) for number in range(40)])
        for dataset_id in range(len(DATASETS))
    ]
    pooled = sum((task.stop - task.start) * each[task.dataset_id] for task in plan(scale) if task.role != "train")
    assert pooled == pytest.approx(scale, rel=0.1)
    asking = [task for task in plan(scale) if task.role.endswith("test")]
    assert len({task.dataset_id for task in asking}) == len(DATASETS)


def test_each_entry_number_is_used_once():
    for scale in (1_000, SCALE, 100_000):
        used = Counter()
        for task in plan(scale):
            used.update((task.dataset_id, number) for number in range(task.start, task.stop))
        assert max(used.values()) == 1


def test_an_entry_is_a_function_of_seed_and_number():
    one, again, other = (make_entry(seed, 1, 7, "train") for seed in (3, 3, 4))
    assert one.candidates == again.candidates
    assert one.queries == again.queries
    assert one.drawings == again.drawings
    assert one.drawings != other.drawings


def test_training_never_sees_a_held_out_combination():
    seen = 0
    for dataset_id, dataset in enumerate(DATASETS):
        for number in range(60):
            if dataset.train:
                entry = make_entry(0, dataset_id, number, "train")
                made = [query.source for split, query in entry.queries if split == "train"]
                made += [item.source for item, _, _ in entry.candidates]
            else:
                entry = make_entry(0, dataset_id, number, "known test")
                made = [query.source for split, query in entry.queries if split == "train"]
            for text in made:
                factors = json.loads(text)
                assert not is_held_out(factors["kind"], factors["colour"])
                seen += 1
    assert seen > 500


def test_held_out_combinations_are_tested():
    drawn = [json.loads(query.source) for number in range(150) for _, query in make_entry(0, 1, number, "test").queries]
    assert any(is_held_out(factors["kind"], factors["colour"]) for factors in drawn)


def test_kinds_are_long_tailed():
    kinds = Counter(
        json.loads(make_entry(0, 1, number, "train").candidates[0][0].source)["kind"] for number in range(600)
    ).most_common()
    assert kinds[0][1] > 5 * kinds[-1][1]


def test_a_text_query_avoids_the_words_of_its_target():
    """Looks can be said in other words; names of towns cannot."""
    shared = total = 0
    for number in range(100):
        entry = make_entry(0, 3, number, "known test")
        texts = {item.id: item.text for item, _, _ in entry.candidates}
        known = entity(0, "drawn_webqa", number).figure
        for _, query in entry.queries:
            total += 1
            shared += known.color in query.text.split() and known.color in texts[query.positives[0]].split()
    assert total > 300
    assert shared < 0.02 * total


def test_a_nights_decoy_differs_in_its_figures_and_the_target_in_place_and_time():
    entry = make_entry(0, 5, 2, "test")
    target, decoy = (json.loads(item.source) for item, _, _ in entry.candidates)
    query = json.loads(entry.queries[0][1].source)
    assert {name for name in query if query[name] != target[name]} <= {"scene", "time", "weather"}
    assert [name for name in ("pattern", "colour", "count") if query[name] != decoy[name]]


def test_items_carry_their_factors():
    item = make_entry(0, 1, 0, "test").candidates[0][0]
    assert item.modality is Modality.IMAGE
    assert {"kind", "family", "colour", "pattern", "count", "scene", "time", "weather"} <= set(json.loads(item.source))
