"""genius/evaluation/speed/vector_index.py and fused_pool.py on the micro run: vectors, IDs and what finds them."""

import faiss
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.errors import UserError
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.fused_items import encoded_features
from genius.evaluation.speed import faiss_indexes, vector_index
from genius.evaluation.speed.fused_pool import make_pool
from genius.evaluation.speed.vector_index import by_ids, main, ordered
from genius.evaluation.speed.vector_index_report import markdown
from genius.reading import read_json


def untrained_ivf(vectors: np.ndarray, dims_per_byte: int) -> faiss.Index:
    """In place of IVF-PQ; one list, so it is exact."""
    coarse = faiss.IndexFlatIP(vectors.shape[1])
    index = faiss.IndexIVFFlat(coarse, vectors.shape[1], 1, faiss.METRIC_INNER_PRODUCT)
    index.own_fields, _ = True, coarse.this.disown()
    index.train(np.asarray(vectors, dtype=np.float32))
    index.add(np.asarray(vectors, dtype=np.float32))
    return index


@pytest.fixture(scope="module")
def z(engine, collection, tmp_path_factory) -> np.ndarray:
    return np.array(encoded_features(engine, collection, tmp_path_factory.mktemp("z")))


@pytest.fixture(scope="module")
def pool(engine, z, tmp_path_factory):
    codes = engine.index.codes(np.arange(engine.index.n))
    return make_pool(z, codes, engine.quantizer, 3 * engine.index.n, 0, tmp_path_factory.mktemp("pool"))


def test_the_first_items_are_those_of_the_run(engine, z, pool):
    n = engine.index.n
    np.testing.assert_allclose(pool.vectors[:n], z, atol=1e-3)
    np.testing.assert_array_equal(pool.codes[:n], engine.index.codes(np.arange(n)))
    assert len(pool.vectors) == len(pool.pool.table) == 3 * n


def test_further_vectors_continue_the_beginning_of_one_item_with_the_rest_of_another(engine, z, pool):
    n, levels, books = engine.index.n, len(engine.index.code_sizes), engine.quantizer.codebooks
    codes = torch.from_numpy(engine.index.codes(np.arange(n)).astype(np.int64))
    made = []
    for kept in range(2, levels):
        prefix = sum(books[level][codes[:, level]] for level in range(kept))
        rest = torch.from_numpy(z.astype(np.float32)) - prefix
        made.append(F.normalize(prefix[:, None] + rest, dim=-1).flatten(0, 1))
    further = torch.from_numpy(pool.vectors[n:].astype(np.float32))

    assert torch.cdist(further, torch.cat(made)).amin(1).max() < 5e-3


def test_further_ids_are_those_that_the_quantizer_gives(engine, pool):
    n = engine.index.n
    further = torch.from_numpy(pool.vectors[n:].astype(np.float32))
    expected = engine.quantizer.encode(further, torch.from_numpy(pool.codes[n:, 0].astype(np.int64)))
    np.testing.assert_array_equal(pool.codes[n:], expected.numpy())


def test_rows_are_ordered_by_the_vectors_and_padding_stays_behind():
    rng = np.random.default_rng(0)
    vectors, z = rng.standard_normal((20, 4)).astype(np.float16), rng.standard_normal((2, 4)).astype(np.float32)
    rows = np.array([[3, 7, 1, -1, -1], [19, 0, 4, 5, 6]])

    found = ordered(rows, vectors, z)

    products = vectors.astype(np.float32) @ z.T
    assert found[0, :3].tolist() == sorted([3, 7, 1], key=lambda row: -products[row, 0])
    assert found[0, 3:].tolist() == [-1, -1]
    assert found[1].tolist() == sorted([19, 0, 4, 5, 6], key=lambda row: -products[row, 1])


def test_ids_alone_order_by_the_quantized_vectors(engine, collection, pool):
    queries = EncodedSplit.read(engine, collection, "test", 3, seed=0).encoded
    settings = {setting.name: setting for setting in by_ids(engine, pool).settings}
    codes = torch.from_numpy(pool.codes.astype(np.int64))
    distances = torch.cdist(queries.z, engine.quantizer.decode(codes))

    for name in ("geometry, fast, 1000", "scan of quantized vectors"):
        found = torch.from_numpy(settings[name].search(queries)[:, :5])
        np.testing.assert_allclose(distances.gather(1, found), distances.sort(1).values[:, :5], atol=1e-3)


def test_the_command_counts_hits_of_the_run_and_nearest_vectors_of_larger_pools(
    run, collection, tmp_path, monkeypatch, engine
):
    monkeypatch.setattr(vector_index, "build_scaled_ivf_pq", untrained_ivf)
    monkeypatch.setattr(vector_index, "ROUNDS", 1)
    monkeypatch.setattr(vector_index, "build_hnsw", lambda vectors: untrained_hnsw(vectors))
    n = engine.index.n
    for module in (vector_index, faiss_indexes):  # the larger pool is kept in half precision, without HNSW
        monkeypatch.setattr(module, "MAX_IN_MEMORY", n)

    main(
        [str(tmp_path), "--run", str(run), "--collection", str(collection.root), "--items", str(2 * n), "--limit", "2"]
    )

    report = read_json(tmp_path / "vector_index.json", dict)
    own, larger = report["pools"]
    rates = {system["system"]: system["hit_rate"] for system in larger["systems"]}
    assert (own["items"], own["own"], larger["items"], larger["own"]) == (n, True, 2 * n, False)
    assert rates["flat, fp16"] == rates["geometry, fast, 1000 + vectors"] == 1
    assert "HNSW" not in {index["system"] for index in larger["indexes"]}
    costs = {index["system"]: index for index in (*own["indexes"], *larger["indexes"])}
    assert costs["HNSW"]["remove_seconds"] is None and costs["IDs"]["remove_seconds"] > 0
    assert costs["flat, fp16"]["bytes_per_item"] == pytest.approx(2 * report["dim"], rel=0.5)
    text = markdown(report)
    assert f"## {2 * n:,} items" in text and "nearest@5" in text and text == (tmp_path / "vector_index.md").read_text()


def untrained_hnsw(vectors: np.ndarray) -> faiss.Index:
    index = faiss.IndexHNSWFlat(vectors.shape[1], 8, faiss.METRIC_INNER_PRODUCT)
    index.add(np.asarray(vectors, dtype=np.float32))
    return index


def test_fewer_items_than_the_run_has_are_refused(run, collection, tmp_path):
    with pytest.raises(UserError, match="expected at least the"):
        main([str(tmp_path), "--run", str(run), "--collection", str(collection.root), "--items", "3"])
