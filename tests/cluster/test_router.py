"""Shards give what one index gives, to the last bit: their scan and its merging, without Ray."""

from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from genius.cluster import shard as shard_module
from genius.cluster.router import KnownSimilarity, RouterEngine
from genius.cluster.shard import OtherSnapshotError, Shard
from genius.errors import UserError
from genius.index.item_source import uploaded_items
from genius.index.partitions import Share
from genius.index.update import Models, add, remove
from genius.run import Run, shipped_run
from genius.schema import Modality, Query, SearchOptions
from genius.search.engine import Engine
from genius.search.rerank import Similarity
from tests.cluster.equal import (
    BATCH,
    LocalShards,
    assert_equal,
    assert_same_answers,
    every_option,
    on_shards,
    orders_of,
    vectors,
)
from tests.index.changes import add_items, texts
from tests.waiting import wait_until

WORDS = ["A red dog.", "small house", "a boat in the street"]


@pytest.mark.parametrize("count", [2, 7])
@pytest.mark.parametrize("mode", ["scan", "generate", "both"])
def test_parts_give_what_one_index_gives(run, count, mode, monkeypatch):
    add_items(run, texts("7:1", "7:2", "7:3"))
    remove(run, ["0:3", "0:20", "0:39"])
    one = Engine.load(run, "cpu")
    parts = on_shards(run, count)
    # of 40: the cut is between those of different parts
    monkeypatch.setattr("genius.search.candidates.SCANNED", 9)
    for order in orders_of(one):
        for options in every_option(one, order, mode):
            assert_same_answers(parts, one, vectors(one, 20), options)
            assert_same_answers(parts, one, [Query(text=word) for word in WORDS], options)


@pytest.mark.parametrize("name", [pytest.param("photos", marks=pytest.mark.slow), "toy"])
def test_some_queries_of_the_shipped_runs_are_answered_as_on_one_machine(name):
    compare_shipped(name, 2, 8)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", ["photos", "toy"])
def test_200_queries_of_the_shipped_runs_are_answered_as_on_one_machine(name, count, tmp_path):
    compare_shipped(name, count, 200)
    changed = tmp_path / "changed"
    Run(shipped_run(name)).copy(changed)
    uploads = [(f"{word} {number}", None) for word in WORDS for number in range(20)]
    add(changed, partial(uploaded_items, uploads), Models.load(changed, "cpu"))
    remove(
        changed, [item.id for item in loaded(shipped_run(name)).index.items([0, 5, 100, 101, 102])]
    )
    compare_shipped(changed, count, 200)


@cache
def loaded(run: Path) -> Engine:
    return Engine.load(run, "cpu")


def compare_shipped(name: str | Path, count: int, queries: int) -> None:
    """With all orders and filters; of texts with what was read in them, and of vectors."""
    run = shipped_run(name) if isinstance(name, str) else name
    one = loaded(run)
    parts = on_shards(run, count)
    rows = np.random.default_rng(1).integers(0, one.index.n, queries)
    asked = [Query(text=item.text or "a picture without people") for item in one.index.items(rows)]
    worded = [one.encode(asked[start : start + BATCH]) for start in range(0, queries, BATCH)]
    for order in orders_of(one):
        for options in every_option(one, order):
            some = worded[:2] if options.k == 300 else worded
            for encoded in (*some, vectors(one, queries)):
                assert_same_answers(parts, one, encoded, options)
    assert_same_answers(parts, one, asked[:4])


def test_nothing_that_shards_have_compared_is_read_again(run, monkeypatch):
    parts = on_shards(run, 2)
    read = []
    of = Similarity.of

    def counted(similarity, rows, query):
        if isinstance(similarity, KnownSimilarity):
            read.append(len(rows))
        return of(similarity, rows, query)

    monkeypatch.setattr(Similarity, "of", counted)
    assert parts.search(WORDS[0], SearchOptions(mode="scan")).hits and read and not sum(read)


def test_a_pool_that_only_the_caller_knows_is_scanned_by_the_router(run):
    one = Engine.load(run, "cpu")
    parts = on_shards(run, 2)
    rows = np.arange(3, 30)
    encoded = vectors(one, 4)
    found = [
        each.retrieve(encoded, SearchOptions(mode="scan"), each.index.pool(rows))
        for each in (one, parts)
    ]
    assert (
        np.array_equal(found[0].ranked.rows, found[1].ranked.rows)
        and found[1].ranked.rows.min() >= 3
    )
    again = [
        each.reorder(kept, SearchOptions(order="cosine")) for each, kept in zip((one, parts), found)
    ]
    assert np.array_equal(again[0].ranked.rows, again[1].ranked.rows)


def test_without_a_part_the_answer_says_so_and_has_what_the_others_hold(run):
    one = Engine.load(run, "cpu")
    parts = on_shards(run, 3)
    shards = parts.retriever.shards
    options = SearchOptions(mode="scan", k=40)
    assert isinstance(shards, LocalShards)
    shards.silent = {1}
    (found,), (whole,) = (
        parts.search([Query(WORDS[0])], options),
        one.search([Query(WORDS[0])], options),
    )
    assert found.missing == "2 of 3 parts answered" and not whole.missing
    lost = range(*Share(2, 3).bounds(40))
    expected = [hit.item.id for hit in whole.hits if hit.row not in lost]
    assert [hit.item.id for hit in found.hits] == expected and len(expected) < len(whole.hits)
    shards.silent = {0, 1, 2}
    with pytest.raises(UserError, match="no part of the index answers; start it again"):
        parts.search(WORDS[0], options)
    shards.silent = set()
    assert_equal(parts.search([Query(WORDS[0])], options), [whole])


def test_a_router_changes_to_a_newer_index_when_all_parts_have_it(run, monkeypatch):
    parts = on_shards(run, 2)
    shards = parts.retriever.shards
    assert isinstance(shards, LocalShards)
    before = parts.index.folder.name
    add_items(run, texts("7:1"))
    with monkeypatch.context() as context:
        context.setattr(
            shards.shards[1], "take", lambda name: (_ for _ in ()).throw(UserError("not yet"))
        )
        with pytest.raises(UserError, match="not yet"):
            parts.snapshots.reload()
    # the first part has both
    assert parts.index.folder.name == before and parts.search(WORDS[0]).hits
    assert parts.snapshots.reload() and parts.index.n == 41
    assert_same_answers(parts, Engine.load(run, "cpu"), [Query(WORDS[0])])


def test_a_part_lets_an_older_version_go_and_says_which_it_has(run, monkeypatch):
    monkeypatch.setattr(shard_module, "LINGER", 0.0)
    shard = Shard(run, Share(1, 2))
    (before,) = shard._snapshots
    remove(run, ["0:3"])
    shard.reload()
    (newest,) = wait_for_one(shard)
    with pytest.raises(OtherSnapshotError, match=f"part 1/2 of .* has {newest}, not {before}"):
        shard.take(before)
    wait_until(lambda: not (run / before).exists())


def wait_for_one(shard: Shard) -> dict:
    wait_until(lambda: len(shard._snapshots) == 1)
    return shard._snapshots


def test_more_parts_than_items_are_refused(run):
    with pytest.raises(UserError, match="has 40 items; serve it in fewer parts than 41"):
        Shard(run, Share(1, 41))


def test_items_of_a_kind_that_a_part_lacks_are_found_in_the_others(run):
    remove(run, [f"0:{number}" for number in range(0, 20) if number % 3 == Modality.TEXT])
    parts = on_shards(run, 3)
    assert isinstance(parts, RouterEngine)
    options = SearchOptions(mode="scan", k=30, modality=Modality.TEXT)
    assert_same_answers(parts, Engine.load(run, "cpu"), [Query("a dog")], options)
