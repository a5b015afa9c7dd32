import faiss
import numpy as np
import pytest
import torch

from genius.search import dense
from genius.search.beam import beam_search
from genius.search.dense import build_hnsw, build_ivf_pq, flat_search, norms_by_row, quantized_norms, quantized_search
from genius.trie.ids import IDTable
from genius.trie.trie import Trie
from tests.search.fixed_decoder import FixedDecoder


def unit(n: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.mark.parametrize("block", [7, 100, 16_384])
def test_streamed_flat_search_equals_faiss_over_everything(monkeypatch, block):
    monkeypatch.setattr(dense, "BLOCK", block)
    embeddings, queries = unit(300), unit(5, seed=1).astype(np.float32)
    index = faiss.IndexFlatIP(16)
    index.add(embeddings.astype(np.float32))
    cosines, rows = index.search(queries, 9)
    found = flat_search(embeddings, queries, 9)
    assert np.array_equal(found[1], rows)
    np.testing.assert_allclose(found[0], cosines, atol=1e-6)


def test_flat_search_keeps_to_the_given_rows_and_pads_where_there_are_fewer():
    embeddings, queries = unit(100), unit(3, seed=1)
    rows = np.array([90, 3, 50, 3])
    cosines, found = flat_search(embeddings, queries, 5, rows)
    assert [sorted(row) for row in found[:, :3].tolist()] == [[3, 50, 90]] * 3
    assert (found[:, 3:] == -1).all() and np.isneginf(cosines[:, 3:]).all()
    assert (np.diff(cosines[:, :3]) <= 0).all()


def test_equal_cosines_are_ordered_by_row(monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 3)
    _, rows = flat_search(np.repeat(unit(1), 8, axis=0), unit(2, seed=1), 8)
    assert rows.tolist() == [list(range(8))] * 2


def quantized_world(n: int = 200) -> tuple[FixedDecoder, IDTable]:
    sizes = (3, 4, 5, 6)
    return (FixedDecoder(sizes, queries=3), IDTable.build(np.random.default_rng(0).integers(sizes, size=(n, 4)), sizes))


@pytest.mark.parametrize("k", [10, 150, 1000])
@pytest.mark.parametrize("block", [11, 16_384])
def test_quantized_search_equals_an_exhaustive_comparison_in_float64(monkeypatch, block, k):
    monkeypatch.setattr(dense, "BLOCK", block)
    decoder, table = quantized_world()
    found = quantized_search(decoder.codebooks, table, decoder.features, k)
    vectors = sum(
        book.double().numpy()[codes] for book, codes in zip(decoder.codebooks, table.codes(table.ids).T, strict=True)
    )  # (u, d)
    for query, z in enumerate(decoder.features.double().numpy()):
        scores = (z**2).sum() - ((z - vectors) ** 2).sum(1)
        best = np.argsort(-scores)[:k]
        assert found.low[query].tolist() == table.ids[best].tolist()
        assert (found.high - found.low)[query].tolist() == table.bucket_sizes(table.ids[best]).tolist()
        np.testing.assert_allclose(found.scores[query], scores[best], rtol=1e-5, atol=1e-5)


def test_precomputed_norms_change_nothing_and_are_those_of_the_quantized_vectors():
    decoder, table = quantized_world()
    norms = quantized_norms(decoder.codebooks, table)
    vectors = sum(
        book[codes] for book, codes in zip(decoder.codebooks, torch.from_numpy(table.codes(table.ids)).T, strict=True)
    )
    torch.testing.assert_close(norms, vectors.square().sum(1))
    by_row = norms_by_row(norms, table)
    for place, id in enumerate(table.ids):
        rows = table.rows[id : id + table.bucket_sizes(id)]
        assert by_row[rows].tolist() == [norms[place]] * len(rows)
    with_norms, without = (
        quantized_search(decoder.codebooks, table, decoder.features, 20, given) for given in (norms, None)
    )
    assert torch.equal(with_norms.low, without.low) and torch.equal(with_norms.scores, without.scores)
    shifted = quantized_search(decoder.codebooks, table, decoder.features, 20, norms + 1)
    torch.testing.assert_close(shifted.scores, without.scores - 1)


def test_ids_with_equal_quantized_vectors_come_in_order(monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 3)
    books = [torch.ones(3, 5), torch.ones(8, 5)]
    table = IDTable.build(np.array([[i % 3, i % 8] for i in range(20)]), (3, 8))
    found = quantized_search(books, table, torch.randn(2, 5, generator=torch.Generator().manual_seed(0)), 24)
    assert found.low.tolist() == [table.ids.tolist()] * 2


@pytest.mark.parametrize("block", [11, 16_384])
def test_quantized_search_equals_a_beam_by_geometry_that_keeps_everything(monkeypatch, block):
    monkeypatch.setattr(dense, "BLOCK", block)
    decoder, table = quantized_world()
    beams = beam_search(decoder, decoder.features, Trie(table), beams=table.distinct, decoder_weight=0)
    for k in (10, table.distinct, 1000):
        found = quantized_search(decoder.codebooks, table, decoder.features, k)
        assert torch.equal(found.low, beams.low[:, :k]) and torch.equal(found.high, beams.high[:, :k])
        scaled = found.scores * decoder.blend_scale
        torch.testing.assert_close(scaled, beams.scores[:, :k], rtol=1e-4, atol=1e-4)
        assert (found.first_log_probs.exp().sum(1) - 1).abs().max() < 1e-5 and (found.depth == 4).all()


def test_approximate_indexes_find_most_of_what_flat_search_finds():
    centres = np.random.default_rng(0).normal(size=(20, 16))
    points = centres[np.arange(2000) % 20] + 0.2 * np.random.default_rng(1).normal(size=(2000, 16))
    embeddings = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
    queries = embeddings[:50].astype(np.float32)
    _, exact = flat_search(embeddings, queries, 10)
    hnsw, ivf = build_hnsw(embeddings), build_ivf_pq(embeddings, lists=8, code_bytes=8, training=2000)
    ivf.nprobe = 4
    for index, least in ((hnsw, 0.95), (ivf, 0.4)):
        _, rows = index.search(queries, 10)
        assert index.ntotal == 2000
        assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(rows, exact, strict=True)]) > least


@pytest.mark.parametrize("n", [2, 3, 100, 255])
def test_an_approximate_index_can_be_trained_on_few_vectors(n):
    embeddings = unit(n)
    index = build_ivf_pq(embeddings, lists=1, code_bytes=8, training=n)
    _, rows = index.search(embeddings.astype(np.float32), 1)
    assert index.ntotal == n and 2**index.pq.nbits <= n
    assert (rows[:, 0] == np.arange(n)).mean() > 0.9
