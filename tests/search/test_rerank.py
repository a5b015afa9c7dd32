"""genius/search/rerank.py, and the ranker's order, against sums worked out one candidate at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.models.ranker import Ranker, RankerConfig
from genius.schema import MODES, ORDERS, RANKER_PARTS, Modality, Query, SearchOptions
from genius.search import rerank
from genius.search.beam_state import Beams
from genius.search.candidates import Candidates, expand_beams
from genius.search.engine import Engine
from genius.search.rerank import rank_candidates
from genius.trie.ids import IDTable
from tests.search.tiny import DIM, publish_tiny_run, tiny_decoder

SIZES, N, QUERIES, WIDTH = (3, 4, 4), 90, 4, 6
ASKED = [Query(text="a red dog"), Query(text="a small house", instruction="Find the picture.")]


@pytest.fixture(params=["ids", "prefixes"])
def world(request):
    """Items of which many share an ID, and for each of four queries six generated IDs, or prefixes of one code more
    or less."""
    rng = np.random.default_rng(0)
    table = IDTable.build(rng.integers(SIZES, size=(N, 3)), SIZES)
    begins = table.ids if request.param == "ids" else table.ids[table.ids % 3 == 0]  # of leaves of one or more IDs
    begins[0] = 0
    ends = np.append(begins[1:], N)
    chosen = np.stack([rng.permutation(len(begins))[:WIDTH] for _ in range(QUERIES)])
    scores = -np.sort(rng.random((QUERIES, WIDTH)).astype(np.float32))
    embeddings, queries = (unit(rng.normal(size=(count, 8))) for count in (N, QUERIES))
    return table, beams_of(begins[chosen], ends[chosen], scores), embeddings.astype(np.float16), queries


def beams_of(low: np.ndarray, high: np.ndarray, scores: np.ndarray) -> Beams:
    low, high, scores = (torch.from_numpy(values) for values in (low, high, scores))
    return Beams(
        low,
        high,
        scores,
        scores,
        torch.full_like(low, 3),
        torch.zeros(len(low), 3),
        torch.zeros(len(low), dtype=torch.long),
    )


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def candidates_of(beams: Beams, table: IDTable, **limits: int) -> Candidates:
    query, position = expand_beams(beams, **limits)
    return Candidates.at(query, position, len(beams.low), table)


def slow_candidates(table, beams, query) -> list[tuple[int, int]]:
    """(row, id) in generated order."""
    codes = table.codes(np.arange(N)).tolist()
    return [
        (table.rows[position], codes.index(codes[position]))
        for low, high in zip(beams.low[query].tolist(), beams.high[query].tolist(), strict=True)
        for position in range(low, high)
    ]


def test_every_item_below_every_beam_is_considered_once_in_generated_order(world):
    table, beams, _, _ = world
    found = candidates_of(beams, table)
    for query in range(QUERIES):
        mine = found.query == query
        expected = slow_candidates(table, beams, query)
        assert list(zip(found.row[mine], found.id[mine], strict=True)) == expected
        assert found.generated_rank[mine].tolist() == list(range(1, len(expected) + 1))
        assert found.counts[query] == len(expected) == len(set(found.row[mine]))


@pytest.mark.parametrize("k", [1, 5, 60])
def test_reranking_orders_all_candidates_by_cosine(world, k):
    table, beams, embeddings, queries = world
    ranked = rank_candidates(candidates_of(beams, table), embeddings, queries, k)
    for query in range(QUERIES):
        candidates = slow_candidates(table, beams, query)
        cosines = [float(embeddings[row].astype(np.float64) @ queries[query]) for row, _ in candidates]
        order = sorted(range(len(candidates)), key=lambda i: -cosines[i])[:k]
        count = len(order)
        assert ranked.rows[query, :count].tolist() == [candidates[i][0] for i in order]
        assert ranked.ids[query, :count].tolist() == [candidates[i][1] for i in order]
        assert ranked.generated_rank[query, :count].tolist() == [i + 1 for i in order]
        np.testing.assert_allclose(ranked.cosines[query, :count], [cosines[i] for i in order], atol=1e-6)
        assert (ranked.rows[query, count:] == -1).all() and (ranked.ids[query, count:] == -1).all()
        assert (ranked.generated_rank[query, count:] == 0).all()
        assert np.isneginf(ranked.cosines[query, count:]).all()


def test_without_reranking_items_keep_the_generated_order_and_still_get_a_cosine(world):
    table, beams, embeddings, queries = world
    ranked = rank_candidates(candidates_of(beams, table), embeddings, queries, 7, rerank=False)
    for query in range(QUERIES):
        rows = [row for row, _ in slow_candidates(table, beams, query)][:7]
        assert ranked.rows[query].tolist() == rows
        assert ranked.generated_rank[query].tolist() == list(range(1, 8))
        cosines = embeddings[rows].astype(np.float32) @ queries[query]
        np.testing.assert_allclose(ranked.cosines[query], cosines, atol=1e-6)


def test_embeddings_are_normalized_again_only_on_request(world):
    table, beams, embeddings, queries = world
    scaled = (embeddings * np.linspace(0.5, 1, N)[:, None]).astype(np.float32)
    expected = rank_candidates(candidates_of(beams, table), embeddings, queries, 20)
    plain, normalized = (
        rank_candidates(candidates_of(beams, table), scaled, queries, 20, normalize=on) for on in (False, True)
    )
    assert not np.array_equal(plain.rows, expected.rows)
    assert np.array_equal(normalized.rows, expected.rows)
    np.testing.assert_allclose(normalized.cosines, expected.cosines, atol=1e-3)


def test_equal_cosines_keep_the_generated_order(world):
    table, beams, embeddings, queries = world
    alike = np.repeat(embeddings[:1], N, axis=0)
    ranked = rank_candidates(candidates_of(beams, table), alike, queries, 10)
    assert ranked.generated_rank.tolist() == [list(range(1, 11))] * QUERIES


def test_a_query_is_ranked_alike_alone_and_in_a_batch(world, monkeypatch):
    table, beams, embeddings, queries = world
    together = rank_candidates(candidates_of(beams, table), embeddings, queries, 5)
    monkeypatch.setattr(rerank, "BLOCK", 7)
    for query in range(QUERIES):
        one = beams_of(*(values[query : query + 1].numpy() for values in (beams.low, beams.high, beams.scores)))
        alone = rank_candidates(candidates_of(one, table), embeddings, queries[query : query + 1], 5)
        assert np.array_equal(alone.rows[0], together.rows[query])
        assert np.array_equal(alone.cosines[0], together.cosines[query])


def test_only_the_embeddings_of_candidates_are_read(world):
    table, beams, embeddings, queries = world
    candidates = candidates_of(beams, table)
    others = np.setdiff1d(np.arange(N), candidates.row)
    assert len(others)
    broken = embeddings.copy()
    broken[others] = np.nan
    assert np.isfinite(rank_candidates(candidates, broken, queries, 5).cosines).all()


@pytest.mark.parametrize("limit", [1, 4, 9])
def test_crowded_ids_are_cut_at_the_limit_in_generated_order(world, limit):
    table, beams, _, _ = world
    whole = candidates_of(beams, table)
    cut = candidates_of(beams, table, at_most=limit)
    assert cut.counts.tolist() == [limit] * QUERIES
    assert np.array_equal(cut.row, whole.row[whole.generated_rank <= limit])


def test_padding_beams_hold_no_items(world):
    table, beams, _, _ = world
    whole = candidates_of(beams, table)
    beams.low[1, 2:], beams.high[1, 2:], beams.scores[1, 2:] = 0, 0, -torch.inf
    padded = candidates_of(beams, table)
    kept = int((beams.high - beams.low)[1].sum())
    assert np.array_equal(padded.row, whole.row[(whole.query != 1) | (whole.generated_rank <= kept)])


def drawn_ranker(seed: int = 3) -> Ranker:
    torch.manual_seed(seed)
    ranker = Ranker(RankerConfig(DIM))
    with torch.no_grad():
        for values in (ranker.weight, ranker.bias, ranker.residual_map, ranker.residual_bias):
            values.copy_(torch.randn(values.shape))
    return ranker.eval()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = publish_tiny_run(tmp_path_factory.mktemp("ranked") / "run")
    run.publish("ranker", drawn_ranker().save, ("encoder", "fusion", "quantizer", "decoder"))
    return run


@pytest.fixture(scope="module")
def engine(run):
    return Engine.load(run.path, "cpu")


def by_hand(engine, encoded, number, candidates, at):
    """The parts of candidate `at` of query `number`, in float64."""
    ranker, index = drawn_ranker(), engine.index
    row = int(candidates.row[at])
    kind = int(index.modalities[row])
    e, z = (vectors[number].numpy().astype(np.float64) for vectors in (encoded.embeddings, encoded.z))
    item, codes = index.embeddings[row].astype(np.float64), index.codes([row])[0]
    quantized = sum(book[code].numpy().astype(np.float64) for book, code in zip(engine.quantizer.codebooks, codes))
    maps = ranker.residual_map.view(len(Modality), DIM, 2 * DIM).numpy().astype(np.float64)
    derived = quantized + maps[kind] @ np.concatenate([item, quantized]) + ranker.residual_bias[kind].numpy()
    first, second, *_ = [level[code] for level, code in zip(engine.code_log_probs(z, codes), codes, strict=True)]
    return np.array([e @ item, z @ derived, (z**2).sum() - ((z - quantized) ** 2).sum(), first + second, first]), kind


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("modality", [None, Modality.TEXT])
def test_parts_and_order_are_those_of_sums_by_hand(engine, mode, modality, monkeypatch):
    monkeypatch.setattr("genius.search.candidates.SCANNED", 9)
    encoded, ranker = engine.encode(ASKED), drawn_ranker()
    found = engine.retrieve(encoded, SearchOptions(beams=5, k=9, mode=mode, modality=modality))
    candidates, weight, bias = found.candidates, ranker.weight.detach().numpy(), ranker.bias.detach().numpy()
    for number in range(len(ASKED)):
        own = np.flatnonzero(candidates.query == number)
        parts, kinds = zip(*(by_hand(engine, encoded, number, candidates, at) for at in own), strict=True)
        shares = np.array([[*(weight * values), bias[kind]] for values, kind in zip(parts, kinds, strict=True)])
        order = np.argsort(-shares.sum(1), kind="stable")[:9]
        count = len(order)
        assert found.ranked.rows[number][:count].tolist() == candidates.row[own][order].tolist()
        assert (found.ranked.rows[number][count:] == -1).all()
        np.testing.assert_allclose(found.ranked.shares[number][:count], (shares - shares.mean(0))[order], atol=2e-3)
        np.testing.assert_allclose(found.ranked.cosines[number][:count], np.array(parts)[order, 0], atol=1e-4)


@pytest.mark.parametrize("mode", ["generate", "scan"])
def test_what_was_found_can_be_ordered_in_every_way_without_another_search(engine, mode, monkeypatch):
    encoded, options = engine.encode(ASKED), SearchOptions(beams=5, k=100, mode=mode, trace=True)
    orders = [replace(options, order=order) for order in ORDERS]
    expected = [engine.retrieve(encoded, order) for order in orders]
    monkeypatch.setattr("genius.search.candidates.beam_search", None)
    monkeypatch.setattr("genius.search.candidates.Scan", None)
    for order, found in zip(orders, expected, strict=True):
        again = engine.reorder(expected[0], order)
        assert again.ranked.rows.tolist() == found.ranked.rows.tolist()
        np.testing.assert_allclose(again.ranked.cosines, found.ranked.cosines)


def test_hits_carry_the_shares_and_the_result_names_the_order(engine):
    (ranked,), (plain,), (generated,) = (
        engine.search(ASKED[:1], SearchOptions(beams=8, k=4, **how))
        for how in ({}, {"order": "cosine"}, {"order": "score"})
    )

    assert (ranked.order, plain.order, generated.order) == ORDERS
    assert all(len(hit.shares) == len(RANKER_PARTS) + 1 for hit in ranked.hits)
    scores = [sum(hit.shares) for hit in ranked.hits]
    assert scores == sorted(scores, reverse=True)
    assert not any(hit.shares for hit in (*plain.hits, *generated.hits))


def test_the_published_order_is_that_of_a_run_without_a_ranker(engine, tmp_path):
    without = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    options = SearchOptions(beams=8, k=9)

    plain = engine.search(ASKED, replace(options, order="cosine"))
    today = without.search(ASKED, options)

    assert not without.has_ranker and engine.has_ranker
    assert [[hit.item.id for hit in one.hits] for one in plain] == [[hit.item.id for hit in one.hits] for one in today]
    with pytest.raises(UserError, match="This run has no ranker"):
        without.search(ASKED, replace(options, order="ranker"))
    with pytest.raises(UserError, match="order must be one of ranker, cosine, score"):
        engine.search(ASKED, replace(options, order="best"))


def test_a_ranker_of_other_parts_is_refused(tmp_path):
    run = publish_tiny_run(tmp_path / "run", n=6)
    run.publish("ranker", drawn_ranker().save, ("encoder", "fusion", "quantizer", "decoder"))
    run.publish("decoder", tiny_decoder(seed=5).save, ("quantizer",))
    with pytest.raises(UserError, match="was built from another decoder.*python -m training.ranker"):
        Engine.load(run.path, "cpu")
