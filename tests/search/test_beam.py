import numpy as np
import pytest
import torch

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import SURPLUS, TRACE_FACTOR, Continuations, Prefixes, Recorder, beam_search
from genius.search.scan import Codewords, Scan
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import Trie
from tests.search.fixed_decoder import FixedDecoder
from tests.search.tiny import CODES, DIM, tiny_decoder

SIZES = (3, 4, 5, 6)
TINY_SIZES = (3, CODES, CODES, CODES)
QUERIES = 3
WEIGHTS = pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])


def build(n: int, sizes=SIZES, seed: int = 0) -> tuple[IDTable, Trie, dict[int, tuple[int, ...]]]:
    """-> table, trie, and number -> codes of every ID."""
    table = IDTable.build(np.random.default_rng(seed).integers(sizes, size=(n, len(sizes))), sizes)
    return (
        table,
        Trie(table),
        {number: tuple(table.codes(number).tolist()) for number in table.ids.tolist()},
    )


def slow_beam_search(decoder, query, ids, beams, weight):
    """One query, Python lists: (score, prefix) of every level's beams, and everything
    considered.
    """
    kept = [(0.0, ())]
    considered = []
    for level in range(len(SIZES)):
        valid = {codes[: level + 1] for codes in ids.values()}
        grown = [
            (score + decoder.gains(query, prefix, weight)[1][code], prefix + (code,))
            for score, prefix in kept
            for code in range(decoder.sizes[level])
            if prefix + (code,) in valid
        ]
        grown.sort(key=lambda pair: (-pair[0], pair[1]))
        kept = grown[:beams]
        considered.append(grown)
    return kept, considered


@WEIGHTS
@pytest.mark.parametrize("n, beams", [(60, 1), (60, 2), (60, 7), (1, 4), (2, 4), (300, 1_000)])
def test_a_beam_keeps_what_a_slow_beam_search_keeps(n, beams, weight):
    """With more beams than IDs the slow search scores every ID. Geometry alone runs no decoder."""
    _, trie, ids = build(n)
    decoder = FixedDecoder(SIZES, QUERIES)
    if weight == 0:
        decoder.start = decoder.step = None
    found = beam_search(decoder, decoder.features, trie, beams, decoder_weight=weight)
    for query in range(QUERIES):
        kept, _ = slow_beam_search(decoder, query, ids, beams, weight)
        assert [ids[i] for i in found.low[query].tolist()] == [codes for _, codes in kept]
        log_probs = [
            sum(
                decoder.readable(query, codes[:level], weight)[code]
                for level, code in enumerate(codes)
            )
            for _, codes in kept
        ]
        expected = [score for score, _ in kept], log_probs
        given = torch.stack([found.scores[query], found.log_probs[query]])
        np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-4)
        first = decoder.readable(query, (), weight)
        np.testing.assert_allclose(found.first_log_probs[query], first, atol=1e-4)


def test_a_query_is_answered_alike_alone_and_in_a_batch():
    _, trie, _ = build(50)
    decoder = FixedDecoder(SIZES, QUERIES)
    together = beam_search(decoder, decoder.features, trie, 6)
    for query in range(QUERIES):
        alone = beam_search(decoder, decoder.features[query : query + 1], trie, 6)
        assert torch.equal(alone.low[0], together.low[query])
        assert torch.equal(alone.first_log_probs[0], together.first_log_probs[query])


@pytest.mark.parametrize("beams", [1, 3, 8, 1000])
def test_every_query_finds_all_ids_or_as_many_as_requested_and_none_twice(beams):
    # lopsided: one modality holds a single ID, another most of them
    codes = [
        [0, 0, 0, 0],
        [1, 1, 1, 1],
        [1, 1, 1, 2],
        *([2, *rest] for rest in np.ndindex(4, 5, 6)),
    ]
    table = IDTable.build(np.array(codes), SIZES)
    decoder = FixedDecoder(SIZES, QUERIES)
    for query in range(QUERIES):
        decoder.tables[0][query, 0, query] = 0.0  # each query prefers another modality
    found = beam_search(decoder, decoder.features, Trie(table), beams)
    assert found.low.shape == (QUERIES, min(beams, len(table)))
    for ids in found.low.tolist():
        assert len(set(ids)) == len(ids) and min(ids) >= 0 and max(ids) < len(table)


def test_equal_scores_are_ordered_by_id_with_a_trace_and_without():
    _, trie, ids = build(200, seed=4)
    decoder = FixedDecoder(SIZES, QUERIES)
    decoder.tables = [torch.full_like(table, -1.0) for table in decoder.tables]
    for trace in (False, True):
        found = beam_search(decoder, decoder.features, trie, beams=9, trace=trace)
        assert found.low.tolist() == [list(ids)[:9]] * QUERIES


def test_the_order_of_scores_is_the_order_of_floats():
    values = torch.tensor([-torch.inf, -1e30, -2.5, -1e-30, 0.0, 1e-30, 3.0, torch.inf])
    decoder = FixedDecoder((8,), 1)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    decoder.tables = [values[order].reshape(1, 1, 8)]
    trie = Trie(IDTable.build(np.arange(8)[:, None], (8,)))
    found = beam_search(decoder, decoder.features, trie, beams=8)
    assert torch.equal(found.scores[0], values.flip(0))
    assert torch.equal(order[found.low[0]], torch.arange(8).flip(0))


@WEIGHTS
def test_the_trace_records_the_search(weight):
    table, trie, ids = build(120, seed=2)
    decoder = FixedDecoder(SIZES, QUERIES)
    beams = 5
    found = beam_search(decoder, decoder.features, trie, beams, decoder_weight=weight, trace=True)
    assert beam_search(decoder, decoder.features, trie, beams, decoder_weight=weight).trace is None
    for query in range(QUERIES):
        _, considered = slow_beam_search(decoder, query, ids, beams, weight)
        parents = [()]
        for level, (step, slow) in enumerate(zip(found.trace[query], considered, strict=True)):
            slow = slow[: TRACE_FACTOR * beams]
            prefixes = [
                parents[parent] + (code,)
                for parent, code in zip(step.parent, step.code.tolist(), strict=True)
            ]
            assert prefixes == [prefix for _, prefix in slow]
            np.testing.assert_allclose(
                step.score, [score for score, _ in slow], rtol=1e-4, atol=1e-4
            )
            assert step.kept.tolist() == [i < beams for i in range(len(prefixes))]
            for prefix, log_prob, items in zip(
                prefixes, step.step_log_prob, step.items, strict=True
            ):
                log_probs = decoder.readable(query, prefix[:-1], weight)
                below = [number for number, codes in ids.items() if codes[: level + 1] == prefix]
                assert log_prob == pytest.approx(log_probs[prefix[-1]], abs=1e-4)
                assert items == table.bucket_sizes(below).sum()
            for parent, masked in zip(parents, step.masked, strict=True):
                valid = {codes[level] for codes in ids.values() if codes[:level] == parent}
                log_probs = decoder.readable(query, parent, weight)
                assert masked == pytest.approx(1 - np.exp(log_probs[list(valid)]).sum(), abs=1e-5)
            parents = [prefix for prefix, kept in zip(prefixes, step.kept, strict=True) if kept]
        assert parents == [ids[i] for i in found.low[query].tolist()]
        np.testing.assert_array_equal(step.score[step.kept], found.scores[query])


def test_the_share_of_valid_codes_is_known_where_float32_cannot_hold_it():
    prefixes = Prefixes.empty(0, 2, torch.device("cpu"))._replace(score=torch.zeros(2, 3))
    query, beam = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 2, 1])
    log_prob = torch.tensor([-200.0, -201.0, -1.0, -0.5])
    found = Recorder._log_valid(
        prefixes, Continuations(query, beam, *[query] * 2, log_prob, log_prob)
    )
    both = np.logaddexp(-200, -201)
    nothing = -np.inf
    np.testing.assert_allclose(found, [[both, nothing, -1], [nothing, -0.5, nothing]], rtol=1e-6)


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
    table, trie, _ = build(n, seed=seed)
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
    table, trie, _ = build(60, sizes)
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


@pytest.mark.parametrize("geometry, weight", [(False, 1.0), (True, 1.0), (False, 0.3)])
@torch.inference_mode()
def test_a_wide_beam_agrees_with_teacher_forcing_and_scanning_every_id(geometry, weight):
    table, trie, ids = build(70, TINY_SIZES)
    decoder = tiny_decoder(geometry)
    drawn = torch.randn(QUERIES, DIM, generator=torch.Generator().manual_seed(3))
    z = torch.nn.functional.normalize(drawn, dim=-1)
    numbers = torch.tensor(list(ids))

    codes = torch.tensor(list(ids.values())).repeat(QUERIES, 1)
    logits = decoder(z.repeat_interleave(len(ids), dim=0), codes)
    tokens = codes + torch.tensor(decoder.config.offsets)
    forced = logits.log_softmax(-1).gather(-1, tokens[..., None]).sum((1, 2)).view(QUERIES, -1)
    scanned = Scan(Pool(table, trie), Codewords(decoder.codebooks)).best(z, len(table))
    of_items = torch.empty(QUERIES, len(table)).scatter_(1, scanned.positions, scanned.scores)
    distances = decoder.blend_scale * of_items[:, numbers]
    expected = (weight * forced + (1 - weight) * distances).sort(descending=True)

    found = beam_search(IncrementalDecoder(decoder), z, trie, len(table), decoder_weight=weight)
    torch.testing.assert_close(found.scores, expected.values, rtol=1e-4, atol=1e-4)
    assert torch.equal(found.low, numbers[expected.indices])
