"""What the three modes of the beam search and its certificate guarantee, against slow searches in Python."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.search.beam import FAST_BEAM_DIVISOR, SURPLUS, beam_search
from genius.trie.ids import IDTable
from genius.trie.trie import Trie
from tests.search.fixed_decoder import FixedDecoder

SIZES = (3, 4, 5, 6)
QUERIES = 4
WEIGHTS = pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])


def build(n: int, seed: int = 0, sizes=SIZES) -> tuple[IDTable, Trie]:
    table = IDTable.build(np.random.default_rng(seed).integers(sizes, size=(n, len(sizes))), sizes)
    return table, Trie(table)


def found_ids(table: IDTable, beams, query: int) -> list[tuple[int, ...]]:
    """The whole IDs below the prefixes that were found, in their order, each once."""
    ids = [
        tuple(codes)
        for low, high in zip(beams.low[query].tolist(), beams.high[query].tolist(), strict=True)
        for codes in table.codes(np.arange(low, high)).tolist()
    ]
    return list(dict.fromkeys(ids))


def all_ids(table: IDTable) -> list[tuple[int, ...]]:
    return list(dict.fromkeys(tuple(codes) for codes in table.codes(np.arange(len(table.packed))).tolist()))


@WEIGHTS
@pytest.mark.parametrize("beams", [1, 4, 9, 40])
@pytest.mark.parametrize("n, seed", [(1, 0), (2, 0), (25, 1), (80, 2), (400, 3)])
def test_mode_set_finds_the_ids_of_mode_exact_and_at_most_a_tenth_more(n, seed, beams, weight):
    table, trie = build(n, seed)
    decoder = FixedDecoder(SIZES, QUERIES, seed=seed)
    exact, some = (
        beam_search(decoder, decoder.features, trie, beams, mode=mode, decoder_weight=weight)
        for mode in ("exact", "set")
    )
    for query in range(QUERIES):
        found, expected = (set(found_ids(table, result, query)) for result in (some, exact))
        assert found >= expected and (found == expected or len(found) <= beams + beams // SURPLUS)
    assert (some.scored <= exact.scored).all()


def test_mode_set_stops_decoding_a_query_whose_beams_have_one_id_left_and_scores_what_it_decoded():
    sizes = (3, 50, 6, 6, 6)
    table, trie = build(60, sizes=sizes)
    decoder, beams = FixedDecoder(sizes, QUERIES), 7
    found = beam_search(decoder, decoder.features, trie, beams, mode="set")
    exact = beam_search(decoder, decoder.features, trie, beams)
    assert (exact.depth == 5).all() and (exact.scored == 1 + 3 + 3 * beams).all()
    assert (found.depth < 5).any()
    for query in range(QUERIES):
        depth = int(found.depth[query, 0])
        assert found.depth[query].tolist() == [depth] * beams
        assert found.scored[query] == 1 + sum(min(beams, 3) if level == 1 else beams for level in range(1, depth))
        for codes, score in zip(found_ids(table, found, query), found.scores[query].tolist(), strict=True):
            expected = sum(decoder.gains(query, codes[:level], 1.0)[0][codes[level]] for level in range(depth))
            assert score == pytest.approx(expected, abs=1e-4)


def test_mode_set_returns_an_item_more_rather_than_decoding_another_level():
    sizes, beams = (3, 50, 6, 6), 10
    codes = [(n % 3, n, n % 6, n % 5) for n in range(20)] + [(0, 0, 1, 0), (1, 1, 2, 0)]  # two prefixes have two IDs
    table = IDTable.build(np.array(codes), sizes)
    decoder = FixedDecoder(sizes, 40)
    found = beam_search(decoder, decoder.features, Trie(table), beams, mode="set")
    numbers = set()
    for query in range(40):
        ids, depth = found_ids(table, found, query), int(found.depth[query, 0])
        assert len(ids) <= beams + 1 and (len(ids) == beams or depth == 2)
        assert depth == 2 or len({codes[:2] for codes in ids} & {(0, 0), (1, 1)}) > 0
        numbers.add((depth, len(ids)))
    assert numbers == {(2, beams), (2, beams + 1), (3, beams)}
    traced = beam_search(decoder, decoder.features, Trie(table), beams, mode="set", trace=True)
    exact = beam_search(decoder, decoder.features, Trie(table), beams)
    for query in range(40):
        assert set(found_ids(table, traced, query)) == set(found_ids(table, exact, query))


def slow_fast_search(decoder, query: int, ids: list[tuple], items: dict, beams: int, weight: float, budget: int):
    """Mode fast for one query: (score, prefix) of its beams, and how many beams were decoded."""
    kept, decoded = [(0.0, ())], 0
    for level in range(len(ids[0])):
        grown = []
        for score, prefix in kept:
            below = [codes for codes in ids if codes[: len(prefix)] == prefix]
            if len(below) == 1 and level:
                grown.append((score, below[0]))  # closed: keeps its score
                continue
            decoded += 1
            log_probs, odds = (decoder.gains(query, prefix, w)[1] for w in (1.0, 0.0))
            log_probs = log_probs - np.log(np.exp(log_probs).sum())  # over the level's own codes
            gains = weight * log_probs + (1 - weight) * odds
            gains = gains - np.log(np.exp(gains).sum())
            grown += [(score + gains[code], prefix + (code,)) for code in {codes[level] for codes in below}]
        grown.sort(key=lambda pair: (-pair[0], pair[1]))
        kept = grown[:beams]
        branches = [prefix for _, prefix in kept if sum(codes[: len(prefix)] == prefix for codes in ids) > 1]
        held = np.cumsum(
            [sum(count for codes, count in items.items() if codes[: len(prefix)] == prefix) for _, prefix in grown]
        )
        if not branches or level == len(ids[0]) - 1 or held[len(kept) - 1] <= budget:
            return grown[: max(1, int((held <= budget).sum()))], decoded
    raise AssertionError("the last level ends every search")


@WEIGHTS
@pytest.mark.parametrize("budget", [1, 12, 60])
@pytest.mark.parametrize("n, seed", [(2, 0), (40, 1), (300, 2)])
@pytest.mark.parametrize("prefixes", [None, 1, 11])
def test_mode_fast_stops_at_few_items_and_does_not_decode_prefixes_with_one_id(n, seed, budget, weight, prefixes):
    table, trie = build(n, seed)
    decoder, beams = FixedDecoder(SIZES, QUERIES, seed=seed), 8
    found = beam_search(
        decoder,
        decoder.features,
        trie,
        beams * FAST_BEAM_DIVISOR,
        mode="fast",
        decoder_weight=weight,
        shortlist_size=budget,
        shortlist_prefixes=prefixes,
    )
    ids = all_ids(table)
    everything = [tuple(codes) for codes in table.codes(np.arange(len(table.packed))).tolist()]
    items = {codes: everything.count(codes) for codes in ids}
    for query in range(QUERIES):
        kept, decoded = slow_fast_search(decoder, query, ids, items, beams, weight, budget)
        kept = kept[: max(prefixes, beams) if prefixes else None]
        there = found.high[query] > found.low[query]
        assert found.scored[query] == decoded and there.sum() == len(kept)
        np.testing.assert_allclose(found.scores[query][there], [score for score, _ in kept], rtol=1e-4, atol=1e-4)
        for low, high, (_, prefix) in zip(found.low[query].tolist(), found.high[query].tolist(), kept, strict=False):
            assert everything[low:high] == [codes for codes in everything if codes[: len(prefix)] == prefix]
        assert torch.isneginf(found.scores[query][~there]).all() and (found.high[query][~there] == 0).all()


@WEIGHTS
def test_a_certificate_is_given_only_for_the_best_ids_of_all(weight):
    given = []
    for seed, beams in itertools.product(range(6), (1, 4, 30)):
        table, trie = build(70, seed)
        decoder = FixedDecoder(SIZES, QUERIES, seed=seed, shrink=0.3)  # as those of a residual quantizer do
        for factor in (1, 6):  # unsure and sure
            decoder.tables = [(values * factor).log_softmax(-1) for values in decoder.tables]
            found = beam_search(decoder, decoder.features, trie, beams, decoder_weight=weight)
            everything = beam_search(decoder, decoder.features, trie, 1000, decoder_weight=weight)
            assert everything.certified(1000).all()  # nothing was discarded
            for query, certified in enumerate(found.certified(beams).tolist()):
                given.append(certified)
                best = set(found_ids(table, everything, query)[:beams])
                assert not certified or set(found_ids(table, found, query)) == best
    assert set(given) == {False, True}


@pytest.mark.parametrize("score", [-0.5, -1.0, -40.0])
def test_a_certificate_needs_a_gap_that_rounding_cannot_close(score):
    """Rounding grows with the numbers that are summed: where logits reach 120 it was measured as 1.2e-4."""
    _, trie = build(40)
    decoder = FixedDecoder(SIZES, 2)
    found = beam_search(decoder, decoder.features, trie, 1)
    scores, margin = torch.full_like(found.scores, score), 2e-4 * max(1, abs(score))
    bound = torch.tensor([score - 0.9 * margin, score - 1.1 * margin])
    assert replace(found, scores=scores, bound=bound).certified(1).tolist() == [False, True]


@pytest.mark.parametrize("mode", ["set", "fast"])
def test_a_certificate_is_given_in_mode_exact_alone(mode):
    _, trie = build(40)
    decoder = FixedDecoder(SIZES, QUERIES)
    assert beam_search(decoder, decoder.features, trie, 5, mode=mode, shortlist_size=9).certified(5) is None
    assert beam_search(decoder, decoder.features, trie, 5).certified(5) is not None


def test_an_unknown_mode_is_refused_with_the_choices():
    _, trie = build(5)
    decoder = FixedDecoder(SIZES, 1)
    with pytest.raises(ValueError, match="exact, set, fast"):
        beam_search(decoder, decoder.features, trie, 5, mode="quick")


def test_mode_fast_without_the_size_of_its_shortlist_is_refused():
    _, trie = build(5)
    decoder = FixedDecoder(SIZES, 1)
    with pytest.raises(ValueError, match="mode fast needs the size of the shortlist"):
        beam_search(decoder, decoder.features, trie, 5, mode="fast")
