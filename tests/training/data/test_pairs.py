from dataclasses import replace

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from tests.training.tiny import other_texts
from training.data.pairs import CandidateTable, Pairs, read_candidates, split_batches


@pytest.fixture(scope="module")
def candidates(collection) -> CandidateTable:
    return CandidateTable.read(collection)


@pytest.fixture(scope="module")
def pairs(collection, candidates) -> Pairs:
    return Pairs.read(collection, "train", candidates)


def test_rows_of_candidates_are_their_positions_in_the_collection(collection, candidates):
    ids = [item.id for item in collection.all_candidates()]
    assert candidates.rows(ids).tolist() == list(range(len(ids)))
    assert candidates.rows(["0:999999", ids[3]]).tolist() == [-1, 3]


def test_a_drawn_positive_is_one_of_its_query(pairs):
    rng = np.random.default_rng(0)
    queries = rng.permutation(len(pairs))
    drawn = pairs.draw_positives(queries, rng)
    assert pairs.positive_mask(queries, drawn).diagonal().all()


def test_the_positive_mask_is_true_for_positives_only(pairs):
    queries = np.array([5, 0, 3])
    rows = np.arange(20)
    expected = [
        [row in pairs.positives[pairs.offsets[q] : pairs.offsets[q + 1]] for row in rows]
        for q in queries
    ]
    assert pairs.positive_mask(queries, rows).tolist() == expected


def test_an_epoch_draws_every_query_and_repeats_small_rows_at_most_four_times(pairs):
    once = pairs.epoch(np.random.default_rng(0), upsample_to=0)
    assert sorted(once) == list(range(len(pairs)))
    often = np.bincount(pairs.epoch(np.random.default_rng(0), upsample_to=10**6))
    assert set(often) == {4}


def test_the_named_datasets_are_upsampled_over_all_their_tasks(pairs):
    drawn = np.bincount(
        pairs.epoch(np.random.default_rng(0), {"shapes": 10 * len(pairs), "unknown": 10})
    )
    shapes = np.isin(
        pairs.rows, [row for row, name in enumerate(pairs.datasets) if name == "shapes"]
    )
    assert drawn[shapes].sum() == 10 * len(pairs) and np.ptp(drawn[shapes]) <= 1
    assert set(drawn[~shapes]) == {1}


def test_groups_of_a_batch_come_from_one_row_each(pairs):
    for batch in pairs.batches(np.random.default_rng(0), batch=8, group=4):
        for start in range(0, len(batch) - 3, 4):
            assert len(set(pairs.rows[batch[start : start + 4]])) == 1


def test_a_batch_of_nothing_is_refused(pairs):
    for alone in ({"batch": 1}, {"batch": 8, "row_names": ["no row"]}):
        with pytest.raises(UserError, match="no batch of two or more|no row"):
            pairs.batches(np.random.default_rng(0), **alone)


def test_batches_cover_an_epoch_except_a_last_single_query(pairs):
    seen = np.concatenate(list(pairs.batches(np.random.default_rng(0), batch=5)))
    assert len(seen) == len(set(seen)) >= len(pairs) - 1


def test_a_smaller_last_batch_is_dropped_where_asked_unless_it_is_the_only_one():
    order = np.arange(7)
    assert [list(batch) for batch in split_batches(order, 3, drop_last=True)] == [
        [0, 1, 2],
        [3, 4, 5],
    ]
    assert [list(batch) for batch in split_batches(order, 3, drop_last=False)] == [
        [0, 1, 2],
        [3, 4, 5],
        [6],
    ]
    assert [list(batch) for batch in split_batches(order, 9, drop_last=True)] == [list(range(7))]


def test_limited_pairs_are_the_queries_of_the_named_rows_with_their_positives(
    collection, candidates, pairs
):
    rows = [row for row in collection.rows() if next(collection.queries("train", row), None)]
    named = [f"{row.task}:{row.dataset}" for row in rows[::2]]
    limited = pairs.select_rows(named)
    expected = [query for row in rows[::2] for query in collection.queries("train", row)]
    assert 0 < len(limited) < len(pairs)
    assert (limited.texts, limited.images) == (
        [q.text for q in expected],
        [q.image for q in expected],
    )
    for number, query in enumerate(expected):
        found = limited.positives[limited.offsets[number] : limited.offsets[number + 1]]
        assert sorted(found) == sorted(candidates.rows(list(query.positives)))
    assert set(pairs.epoch(np.random.default_rng(0), 0, row_names=named)) == set(
        np.flatnonzero(pairs.row_mask(named))
    )


def test_queries_of_some_candidates_have_those_positives_alone(candidates, pairs):
    numbers = np.where(np.arange(len(candidates)) % 3, np.arange(len(candidates))[::-1], -1)
    some, kept = pairs.among(numbers)
    expected = [
        [
            numbers[row]
            for row in pairs.positives[pairs.offsets[query] : pairs.offsets[query + 1]]
            if numbers[row] >= 0
        ]
        for query in range(len(pairs))
    ]
    assert kept.tolist() == [
        query for query, positives in enumerate(expected) if positives
    ] and len(kept) < len(pairs)
    assert some.texts == [pairs.texts[query] for query in kept]
    assert [part.tolist() for part in np.split(some.positives, some.offsets[1:-1])] == [
        expected[q] for q in kept
    ]


def test_an_unknown_row_lists_the_known_ones(pairs):
    known = {f"{pairs.tasks[row]}:{pairs.datasets[row]}" for row in pairs.rows}
    with pytest.raises(UserError, match="no query is of the row '9:nowhere'") as error:
        pairs.select_rows(["shapes", "9:nowhere"])
    assert all(name in str(error.value) for name in known)


def test_the_digest_of_contents_changes_with_ids_texts_and_images(
    collection, candidates, monkeypatch
):
    first, *others = collection.all_candidates()
    for changes in ({}, {"text": "another text"}, {"image": "images/another.png"}, {"id": "9:9"}):
        read_candidates.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(
                Collection,
                "all_candidates",
                lambda _, changes=changes: [replace(first, **changes), *others],
            )
            digest = CandidateTable.read(collection).content_digest
        assert (digest != candidates.content_digest) == bool(changes)
    read_candidates.cache_clear()


def test_candidates_are_read_once_until_the_collection_changes(root):
    before = CandidateTable.read(Collection(root))
    assert CandidateTable.read(Collection(root)) is before
    other_texts(root)
    assert CandidateTable.read(Collection(root)).content_digest != before.content_digest


def test_the_digest_of_training_changes_with_what_is_drawn_and_that_of_features_does_not(pairs):
    moved = pairs.offsets.copy()
    other_row = pairs.rows.copy()
    moved[1] += 1  # the first positive of the second query is one of the first query now
    other_row[0] = pairs.rows[-1]
    changed = [
        {"offsets": moved},
        {"rows": other_row},
        {"tasks": pairs.tasks[::-1]},
        {"datasets": pairs.datasets[::-1]},
    ]
    found = [replace(pairs, **change) for change in changed]
    assert {own.digest for own in found} == {pairs.digest}
    assert len({own.training_digest for own in (pairs, *found)}) == 1 + len(found)
    assert replace(pairs).training_digest == pairs.training_digest
