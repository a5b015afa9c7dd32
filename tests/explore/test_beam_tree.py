from collections import Counter

import numpy as np
import pytest

from genius.explore.beam_tree import DEAD_ENDS, Fate, beam_tree, explain
from genius.schema import Query, SearchOptions
from genius.search.beam import beam_search
from genius.trie.ids import IDTable
from genius.trie.trie import Trie
from tests.search.fixed_decoder import FixedDecoder

SIZES = (3, 4, 5, 6)
BEAMS = 6


@pytest.fixture(scope="module")
def decoder():
    return FixedDecoder(SIZES, queries=2)


@pytest.fixture(scope="module")
def codes():
    return np.random.default_rng(0).integers(SIZES, size=(70, len(SIZES)))


@pytest.fixture(scope="module")
def found(decoder, codes):
    """The beams of two queries, and the IDs they stand for."""
    table = IDTable.build(codes, SIZES)
    beams = beam_search(
        decoder, decoder.features, Trie(table), BEAMS, decoder_weight=0.5, trace=True
    )
    return beams, [
        [tuple(table.codes(number).tolist()) for number in row] for row in beams.low.tolist()
    ]


@pytest.fixture(scope="module", params=[0, 1])
def query(request):
    return request.param


@pytest.fixture
def tree(found, query):
    return beam_tree(found[0].trace[query])


def test_every_prefix_continues_its_parent_and_counts_its_items(tree, codes):
    prefixes = tree.prefixes()
    for number, prefix in enumerate(prefixes):
        parent = tree.parent[number]
        assert len(prefix) == tree.level[number] + 1
        assert prefix[:-1] == (prefixes[parent] if parent >= 0 else ())
        assert tree.items[number] == (codes[:, : len(prefix)] == prefix).all(1).sum()
    assert len(set(prefixes)) == len(tree)


def test_log_probabilities_are_those_of_the_decoder_among_the_codes_of_a_level(
    tree, decoder, query
):
    for prefix, step, log_prob, score in zip(
        tree.prefixes(), tree.step, tree.log_prob, tree.score, strict=True
    ):
        steps = [
            decoder.readable(query, prefix[:level], 0.5)[code] for level, code in enumerate(prefix)
        ]
        assert step == pytest.approx(steps[-1], abs=1e-4) and log_prob == pytest.approx(
            sum(steps), abs=1e-4
        )
        assert score == pytest.approx(decoder.score(query, prefix, 0.5), abs=1e-4)


def test_prefixes_of_generated_ids_are_found_and_all_others_ended_or_were_dropped(
    tree, found, query
):
    ids = found[1][query]
    for prefix, fate, place in zip(tree.prefixes(), tree.fate, tree.place, strict=True):
        begins = any(codes[: len(prefix)] == prefix for codes in ids)
        expected = Fate.FOUND if begins else Fate.ENDED if place <= BEAMS else Fate.DROPPED
        assert fate == expected
    assert {Fate.FOUND, Fate.ENDED, Fate.DROPPED} == set(tree.fate)


def test_masked_is_the_probability_of_the_level_outside_the_valid_continuations(
    tree, decoder, codes, query
):
    prefixes = tree.prefixes()
    for number, prefix in enumerate(prefixes):
        valid = {
            row[len(prefix) - 1]
            for row in codes.tolist()
            if tuple(row[: len(prefix) - 1]) == prefix[:-1]
        }
        log_probs = decoder.readable(query, prefix[:-1], 1)
        assert tree.masked[number] == pytest.approx(
            1 - np.exp(log_probs[sorted(valid)]).sum(), abs=1e-4
        )
    assert tree.mass[0] == pytest.approx(tree.masked[0])
    beams = [
        number
        for number, level in enumerate(tree.level)
        if level == 1 and tree.place[number] <= BEAMS
    ]
    weights = np.exp(tree.log_prob[beams])
    masked = [
        1
        - sum(
            np.exp(decoder.readable(query, prefixes[beam], 1)[code])
            for code in {row[2] for row in codes.tolist() if tuple(row[:2]) == prefixes[beam]}
        )
        for beam in beams
    ]
    assert tree.mass[2] == pytest.approx((weights * masked).sum() / weights.sum(), abs=1e-4)


def test_a_lineage_goes_as_far_as_the_search_considered_it(tree, found, query):
    prefixes = tree.prefixes()
    best = found[1][query][0]
    assert [prefixes[number] for number in tree.lineage(best)] == [
        best[:length] for length in (1, 2, 3, 4)
    ]
    ended = prefixes[np.flatnonzero((tree.fate == Fate.DROPPED) & (tree.level == 2))[0]]
    assert [prefixes[number] for number in tree.lineage((*ended, 99))] == [
        ended[:length] for length in (1, 2, 3)
    ]
    assert not len(tree.lineage((9, 9, 9, 9)))


def test_the_best_are_few_lineages_and_little_else(tree, found, query):
    ids = found[1][query]
    drawn = tree.best(2, ids[4])
    prefixes = drawn.prefixes()
    places = dict(zip(tree.prefixes(), tree.place.tolist(), strict=True))
    wanted = {codes[:length] for codes in (*ids[:2], ids[4]) for length in (1, 2, 3, 4)}
    assert wanted <= set(prefixes) <= set(places)
    assert [places[prefix] for prefix in prefixes] == drawn.place.tolist()
    others = [
        (len(prefix), fate)
        for prefix, fate in zip(prefixes, drawn.fate, strict=True)
        if prefix not in wanted
    ]
    assert (
        others
        and Fate.FOUND not in {fate for _, fate in others}
        and max(Counter(others).values()) <= DEAD_ENDS
    )
    assert drawn.mass is tree.mass


# the path of a hit

QUERY = Query(text="A red dog.")


def test_an_explanation_agrees_with_the_search(engine):
    (result,) = engine.search([QUERY], SearchOptions(beams=7, k=20, trace=True))
    tree = beam_tree(result.trace)
    ids = [generated.codes for generated in result.generated]
    for hit in result.hits:
        told = explain(hit, tree, engine.index.n, dense_rank=3)
        generated = result.generated[told.beam - 1]
        assert generated.codes == hit.codes and generated.bucket == told.bucket
        assert tree.log_prob[told.path[-1]] == pytest.approx(generated.log_prob, abs=1e-5)
        assert hit.codes[: told.shared] == ids[0][: told.shared]
        assert told.shared == 4 or hit.codes[told.shared] != ids[0][told.shared]
        assert (told.best, told.dense_rank, told.items) == (ids[0], 3, 40)


def test_a_hit_that_exact_search_does_not_generate_has_no_beam(engine):
    narrow, whole = (
        engine.search([QUERY], SearchOptions(beams=beams, k=40, trace=True))[0]
        for beams in (4, 200)
    )
    tree = beam_tree(narrow.trace)
    bucket = {generated.codes: generated.bucket for generated in whole.generated}
    reasons = [explain(hit, tree, 40, 1) for hit in whole.hits]
    assert {told.beam for told in reasons} == {None, 1, 2, 3, 4}
    for told in reasons:
        assert (told.bucket is None) == (len(told.path) < 4) and told.bucket in (
            None,
            bucket[told.hit.codes],
        )
    assert {told.bucket is None for told in reasons if told.beam is None} == {True, False}
