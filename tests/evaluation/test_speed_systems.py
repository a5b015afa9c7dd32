"""genius/evaluation/speed/systems.py: every system against a slow, obvious search of the same
collection.
"""

import faiss
import numpy as np
import pytest
import torch

from genius.evaluation.speed import systems
from genius.evaluation.speed.systems import SYSTEMS, K, by_faiss, flat, trie_callback
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from tests.evaluation.tiny_speed import CONFIG, tiny_setup


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "geometry"])
def setup(request, tmp_path_factory):
    return tiny_setup(tmp_path_factory.mktemp("work"), beams=7, geometry=request.param)


@pytest.fixture(scope="module")
def queries(setup):
    return setup.workload.draw_queries(4, 1)


@pytest.fixture(scope="module")
def generated(setup, queries) -> list[dict[tuple[int, ...], float]]:
    """The IDs of `generate` with their scores, of each query."""
    codes, scores = SYSTEMS["transformers"](setup).search(queries)
    return [
        dict(zip(map(tuple, ids), values, strict=True))
        for ids, values in zip(codes.tolist(), scores.tolist(), strict=True)
    ]


def ids_of(setup, rows: np.ndarray) -> set[tuple[int, ...]]:
    """The IDs of rows of the collection."""
    codes = setup.pool.table.codes(np.argsort(setup.pool.table.rows)[rows])
    return set(map(tuple, codes.tolist()))


def test_the_allowed_tokens_are_those_that_follow_the_prefix_in_an_id(setup):
    tokens = setup.pool.table.codes(np.arange(setup.items)) + np.array(CONFIG.offsets)
    allowed = trie_callback(setup.pool, setup.workload.decoder)
    for length in range(CONFIG.levels):
        for prefix in {tuple(row[:length]) for row in tokens.tolist()[::37]}:
            following = {int(row[length]) for row in tokens if tuple(row[:length]) == prefix}
            assert sorted(allowed(0, torch.tensor([0, *prefix]))) == sorted(following)
    # invalid: a dead end
    assert allowed(0, torch.tensor([0, 1])) == allowed(0, torch.tensor([0, 3, 2])) == [0]


def test_exact_search_finds_the_ids_and_scores_of_generate(setup, queries, generated):
    beams = beam_search(
        IncrementalDecoder(setup.workload.decoder), queries.z, setup.pool.trie, setup.beams
    )
    rows = SYSTEMS["generate"](setup).search(queries)

    for query, expected in enumerate(generated):
        codes = map(tuple, setup.pool.table.codes(beams.low[query].numpy()).tolist())
        scores = dict(zip(codes, beams.scores[query].tolist(), strict=True))
        assert scores.keys() == expected.keys() and len(scores) == setup.beams
        assert all(score == pytest.approx(expected[ids], abs=1e-4) for ids, score in scores.items())
        assert ids_of(setup, rows[query][rows[query] >= 0]) == expected.keys()


def test_what_settles_finds_all_ids_of_generate(setup, queries, generated):
    rows = SYSTEMS["settled"](setup).search(queries)
    assert all(
        ids_of(setup, row[row >= 0]) >= set(ids) for row, ids in zip(rows, generated, strict=True)
    )


def decoded(setup, prefix: tuple[int, ...]) -> torch.Tensor:
    return sum(codebook[code] for codebook, code in zip(setup.workload.decoder.codebooks, prefix))


def test_a_scan_orders_by_the_distances_of_the_quantized_vectors(setup, queries):
    table = setup.pool.table
    # by row
    vectors = [decoded(setup, ids) for ids in table.codes(np.argsort(table.rows)).tolist()]
    distances = torch.cdist(queries.z, torch.stack(vectors))
    rows = torch.from_numpy(SYSTEMS["scan"](setup).search(queries)).long()
    nearest = distances.sort(1).values[:, : rows.shape[1]]
    np.testing.assert_allclose(distances.gather(1, rows), nearest, atol=1e-3)


@pytest.mark.parametrize("name", ["flat", "HNSW", "IVF-PQ"])
def test_dense_systems_find_the_highest_cosines(setup, queries, name, monkeypatch):
    monkeypatch.setattr(systems, "build_ivf_pq", exact_ivf)
    cosines = queries.embeddings.numpy() @ setup.embeddings.astype(np.float32).T
    best = np.argsort(-cosines, axis=1)[:, :5]

    rows = SYSTEMS[name](setup).search(queries)

    # equal cosines in half precision
    assert rows.shape == (4, K) and (rows[:, :5] == best).mean() > 0.9


def exact_ivf(embeddings: np.ndarray, lists: int, code_bytes: int, training: int) -> faiss.Index:
    """In place of IVF-PQ, whose training takes long: one list, whole vectors."""
    coarse = faiss.IndexFlatIP(embeddings.shape[1])
    index = faiss.IndexIVFFlat(coarse, embeddings.shape[1], 1, faiss.METRIC_INNER_PRODUCT)
    index.own_fields = True
    _ = coarse.this.disown()
    index.train(np.asarray(embeddings, dtype=np.float32))
    index.add(np.asarray(embeddings, dtype=np.float32))
    return index


def test_vectors_too_many_for_memory_are_streamed_with_the_same_results(
    setup, queries, monkeypatch
):
    in_memory = flat(setup.embeddings)
    monkeypatch.setattr(systems, "MAX_IN_MEMORY", 100)
    streamed = flat(setup.embeddings)

    # equal cosines in half precision
    assert (in_memory.search(queries) == streamed.search(queries)).mean() > 0.9
    assert in_memory.bytes_per_item == pytest.approx(4 * CONFIG.dim, rel=0.05)
    assert streamed.bytes_per_item == 2 * CONFIG.dim


def test_the_memory_of_a_mode_is_that_of_its_arrays_and_of_an_index_what_faiss_writes(setup):
    table = setup.pool.table.nbytes
    trie = setup.pool.trie.nbytes
    norms = 4 * setup.items
    for name, size in (
        ("generate", table + trie),
        ("scan", table + norms),
        ("both", table + trie + norms),
    ):
        assert SYSTEMS[name](setup).bytes_per_item == size / setup.items
    index = exact_ivf(setup.embeddings, 1, 1, 1)
    built = by_faiss(index, "nprobe", (1, 2))
    assert [system.bytes_per_item for system in built] == [
        len(faiss.serialize_index(index)) / setup.items
    ] * 2
