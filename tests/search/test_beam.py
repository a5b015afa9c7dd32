import numpy as np
import pytest
import torch

from genius.search.beam import TRACE_FACTOR, Continuations, Prefixes, Recorder, beam_search
from genius.trie.ids import IDTable
from genius.trie.trie import Trie
from tests.search.fixed_decoder import FixedDecoder

SIZES = (3, 4, 5, 6)
QUERIES = 3


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


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_a_wide_beam_agrees_with_scoring_every_id(n, weight):
    _, trie, ids = build(n)
    decoder = FixedDecoder(SIZES, QUERIES)
    found = beam_search(decoder, decoder.features, trie, beams=len(ids) + 3, decoder_weight=weight)
    for query in range(QUERIES):
        scores = {number: decoder.score(query, codes, weight) for number, codes in ids.items()}
        best = sorted(scores, key=lambda number: -scores[number])
        assert found.low[query].tolist() == best
        np.testing.assert_allclose(
            found.scores[query], [scores[number] for number in best], rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
@pytest.mark.parametrize("beams", [1, 2, 7])
def test_a_narrow_beam_keeps_what_a_slow_beam_search_keeps(beams, weight):
    _, trie, ids = build(60)
    decoder = FixedDecoder(SIZES, QUERIES)
    found = beam_search(decoder, decoder.features, trie, beams, decoder_weight=weight)
    for query in range(QUERIES):
        kept, _ = slow_beam_search(decoder, query, ids, beams, weight)
        assert [ids[i] for i in found.low[query].tolist()] == [codes for _, codes in kept]
        np.testing.assert_allclose(
            found.scores[query], [score for score, _ in kept], rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
def test_each_id_carries_its_log_probability_whatever_the_ranking(weight):
    _, trie, ids = build(40)
    decoder = FixedDecoder(SIZES, QUERIES)
    found = beam_search(decoder, decoder.features, trie, 9, decoder_weight=weight)
    for query in range(QUERIES):
        expected = [
            sum(
                decoder.readable(query, ids[i][:level], weight)[ids[i][level]]
                for level in range(len(SIZES))
            )
            for i in found.low[query].tolist()
        ]
        np.testing.assert_allclose(found.log_probs[query], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
def test_probabilities_of_the_first_code_sum_to_one_though_other_tokens_have_a_share(weight):
    _, trie, _ = build(40)
    decoder = FixedDecoder(SIZES, QUERIES)
    assert decoder.tables[0].exp().sum(-1).max() < 0.9
    for settle in (False, True):
        found = beam_search(
            decoder, decoder.features, trie, 9, decoder_weight=weight, settle=settle
        )
        torch.testing.assert_close(found.first_log_probs.exp().sum(1), torch.ones(QUERIES))


def test_what_the_trie_masks_and_what_it_leaves_add_up_to_one():
    _, trie, _ = build(60)
    decoder = FixedDecoder(SIZES, QUERIES)
    everything = 1_000
    found = beam_search(decoder, decoder.features, trie, everything, trace=True)
    for query in found.trace:
        for level in query:
            left = np.bincount(level.parent, np.exp(level.step_log_prob), len(level.masked))
            np.testing.assert_allclose(left + level.masked, 1, atol=1e-5)


def test_a_query_is_answered_alike_alone_and_in_a_batch():
    _, trie, _ = build(50)
    decoder = FixedDecoder(SIZES, QUERIES)
    together = beam_search(decoder, decoder.features, trie, 6)
    for query in range(QUERIES):
        alone = beam_search(decoder, decoder.features[query : query + 1], trie, 6)
        assert torch.equal(alone.low[0], together.low[query])
        assert torch.equal(alone.first_log_probs[0], together.first_log_probs[query])


def test_geometry_alone_never_runs_the_decoder_and_finds_the_nearest_quantized_vectors():
    _, trie, ids = build(80)
    decoder = FixedDecoder(SIZES, QUERIES)
    decoder.start = decoder.step = None
    found = beam_search(decoder, decoder.features, trie, beams=len(ids), decoder_weight=0)
    vectors = torch.stack(
        [
            sum(book[code] for book, code in zip(decoder.codebooks, codes, strict=True))
            for codes in ids.values()
        ]
    )
    nearest = torch.tensor(list(ids))[torch.cdist(decoder.features, vectors).argsort(dim=1)]
    assert torch.equal(found.low, nearest)
    torch.testing.assert_close(found.first_log_probs.exp().sum(1), torch.ones(QUERIES))


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


@pytest.mark.parametrize("weight", [1.0, 0.4, 0.0])
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
