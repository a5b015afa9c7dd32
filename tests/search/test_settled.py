"""A beam search that stops when its candidates are settled, against one that goes on."""

import numpy as np
import pytest

from genius.search.beam import SURPLUS, beam_search
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


@WEIGHTS
@pytest.mark.parametrize("beams", [1, 4, 9, 40])
@pytest.mark.parametrize("n, seed", [(1, 0), (2, 0), (25, 1), (80, 2), (400, 3)])
def test_settled_candidates_are_the_ids_of_the_whole_search_and_at_most_a_tenth_more(
    n, seed, beams, weight
):
    table, trie = build(n, seed)
    decoder = FixedDecoder(SIZES, QUERIES, seed=seed)
    exact, some = (
        beam_search(decoder, decoder.features, trie, beams, settle=settle, decoder_weight=weight)
        for settle in (False, True)
    )
    for query in range(QUERIES):
        found, expected = (set(found_ids(table, result, query)) for result in (some, exact))
        assert found >= expected and (found == expected or len(found) <= beams + beams // SURPLUS)
    assert (some.scored <= exact.scored).all()


def test_a_search_that_settles_stops_decoding_a_query_whose_beams_have_one_id_left():
    sizes = (3, 50, 6, 6, 6)
    table, trie = build(60, sizes=sizes)
    decoder = FixedDecoder(sizes, QUERIES)
    beams = 7
    found = beam_search(decoder, decoder.features, trie, beams, settle=True)
    exact = beam_search(decoder, decoder.features, trie, beams)
    assert (exact.depth == 5).all() and (exact.scored == 1 + 3 + 3 * beams).all()
    assert (found.depth < 5).any()
    for query in range(QUERIES):
        depth = int(found.depth[query, 0])
        assert found.depth[query].tolist() == [depth] * beams
        assert found.scored[query] == 1 + sum(
            min(beams, 3) if level == 1 else beams for level in range(1, depth)
        )
        for codes, score in zip(
            found_ids(table, found, query), found.scores[query].tolist(), strict=True
        ):
            expected = sum(
                decoder.gains(query, codes[:level], 1.0)[0][codes[level]] for level in range(depth)
            )
            assert score == pytest.approx(expected, abs=1e-4)


def test_a_search_that_settles_returns_an_item_more_rather_than_decoding_another_level():
    sizes = (3, 50, 6, 6)
    beams = 10
    # two prefixes have two IDs
    codes = [(n % 3, n, n % 6, n % 5) for n in range(20)] + [(0, 0, 1, 0), (1, 1, 2, 0)]
    table = IDTable.build(np.array(codes), sizes)
    decoder = FixedDecoder(sizes, 40)
    found = beam_search(decoder, decoder.features, Trie(table), beams, settle=True)
    numbers = set()
    for query in range(40):
        ids = found_ids(table, found, query)
        depth = int(found.depth[query, 0])
        assert len(ids) <= beams + 1 and (len(ids) == beams or depth == 2)
        assert depth == 2 or len({codes[:2] for codes in ids} & {(0, 0), (1, 1)}) > 0
        numbers.add((depth, len(ids)))
    assert numbers == {(2, beams), (2, beams + 1), (3, beams)}
