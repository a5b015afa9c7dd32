import numpy as np
import pytest
import torch

from genius.explore import explanation as why
from genius.explore.beam_tree import beam_tree
from genius.explore.explanation import dense_ranks, explain
from genius.schema import Query, SearchOptions
from genius.search.dense import flat_search
from tests.explore.test_items import CountingRows

QUERY = Query(text="A red dog.")


@pytest.fixture(scope="module")
def traced(engine):
    (result,) = engine.search([QUERY], SearchOptions(beams=7, k=20, trace=True))
    return result, beam_tree(result.trace)


def vectors(n: int, dim: int = 5) -> np.ndarray:
    return torch.nn.functional.normalize(
        torch.randn(n, dim, generator=torch.Generator().manual_seed(n)), dim=1
    ).numpy()


@pytest.mark.parametrize("block", [7, 50, 1000])
def test_dense_ranks_agree_with_dense_search(block, monkeypatch):
    monkeypatch.setattr(why, "BLOCK_ROWS", block)
    embeddings = vectors(200).astype(np.float16)
    query = vectors(1)
    _, rows = flat_search(embeddings, query, 200)
    asked = np.array([3, 199, 0, 77, 3])
    places = {row: place for place, row in enumerate(rows[0].tolist(), start=1)}
    assert dense_ranks(embeddings, query[0], asked).tolist() == [
        places[row] for row in asked.tolist()
    ]


def test_in_a_large_index_dense_ranks_are_estimated_from_a_sample(monkeypatch):
    monkeypatch.setattr(why, "SAMPLE", 4_000)
    embeddings = vectors(20_000).astype(np.float16)
    query = vectors(1)
    _, rows = flat_search(embeddings, query, 20_000)
    asked = rows[0, [0, 99, 4_999, 19_999]]
    exact = dense_ranks(embeddings, query[0], asked)
    monkeypatch.setattr(why, "EXACT_ITEMS", 19_999)
    counted = CountingRows(embeddings)
    estimated = dense_ranks(counted, query[0], asked)
    assert exact.tolist() == [1, 100, 5_000, 20_000] and counted.read <= 4_004
    np.testing.assert_allclose(estimated, exact, rtol=0.1, atol=40)


def test_an_explanation_agrees_with_the_search(engine, traced):
    result, tree = traced
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
