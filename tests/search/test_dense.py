import faiss
import numpy as np
import pytest

from genius.search import dense
from genius.search.dense import build_hnsw, build_ivf_pq, flat_search


def unit(n: int, dim: int = 16, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.mark.parametrize("block", [7, 100, 16_384])
def test_streamed_flat_search_equals_faiss_over_everything(monkeypatch, block):
    monkeypatch.setattr(dense, "VECTORS_IN_MEMORY", block)
    embeddings = unit(300)
    queries = unit(5, seed=1).astype(np.float32)
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
    monkeypatch.setattr(dense, "VECTORS_IN_MEMORY", 3)
    _, rows = flat_search(np.repeat(unit(1), 8, axis=0), unit(2, seed=1), 8)
    assert rows.tolist() == [list(range(8))] * 2


def test_approximate_indexes_find_most_of_what_flat_search_finds():
    centres = np.random.default_rng(0).normal(size=(20, 16))
    points = centres[np.arange(2000) % 20] + 0.2 * np.random.default_rng(1).normal(size=(2000, 16))
    embeddings = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float16)
    queries = embeddings[:50].astype(np.float32)
    _, exact = flat_search(embeddings, queries, 10)
    hnsw = build_hnsw(embeddings)
    ivf = build_ivf_pq(embeddings, lists=8, code_bytes=8, training=2000)
    ivf.nprobe = 4
    for index, least in ((hnsw, 0.95), (ivf, 0.4)):
        _, rows = index.search(queries, 10)
        assert index.ntotal == 2000
        assert (
            np.mean([len(set(a) & set(b)) / 10 for a, b in zip(rows, exact, strict=True)]) > least
        )


@pytest.mark.parametrize("n", [2, 3, 100, 255])
def test_an_approximate_index_can_be_trained_on_few_vectors(n):
    embeddings = unit(n)
    index = build_ivf_pq(embeddings, lists=1, code_bytes=8, training=n)
    _, rows = index.search(embeddings.astype(np.float32), 1)
    assert index.ntotal == n and 2**index.pq.nbits <= n
    assert (rows[:, 0] == np.arange(n)).mean() > 0.9
