"""genius/evaluation/speed/workloads.py: IDs, queries and vectors of both kinds."""

import numpy as np
import pytest
import torch

from genius.evaluation.queries import EncodedSplit
from genius.evaluation.speed import workloads
from genius.evaluation.speed.workloads import Setup, numeric_ids, realistic, structured_ids, uniform
from genius.schema import Modality
from genius.trie.ids import unpack
from tests.evaluation.tiny_speed import CONFIG, tiny_setup


@pytest.fixture(scope="module")
def queries(engine, collection):
    return EncodedSplit.read(engine, collection, "test", None, seed=0).encoded


def test_uniform_ids_use_every_code_equally_often():
    workload = uniform(20_000, CONFIG, 0, torch.device("cpu"))
    codes = unpack(workload.packed, CONFIG.code_sizes)

    for level, size in enumerate(CONFIG.code_sizes):
        np.testing.assert_allclose(
            np.bincount(codes[:, level], minlength=size), 20_000 / size, rtol=0.2
        )


def test_queries_differ_between_rounds_and_repeat_within_one(engine, queries):
    for workload in (
        uniform(30, CONFIG, 0, torch.device("cpu")),
        realistic(30, engine, queries, seed=0),
    ):
        first, again, second = [workload.draw_queries(3, number) for number in (1, 1, 2)]
        assert len(first.z) == len(first.embeddings) == 3
        assert torch.equal(first.z, again.z) and not torch.equal(first.z, second.z)


def test_realistic_queries_are_queries_of_the_run(engine, queries):
    drawn = realistic(30, engine, queries, seed=0).draw_queries(5, 1)

    for z, embedding in zip(drawn.z, drawn.embeddings):
        (number,) = torch.where((queries.z == z).all(1))[0][:1]
        assert torch.equal(queries.embeddings[number], embedding)


def test_realistic_ids_are_those_of_the_run_and_then_a_beginning_of_one_with_an_end_of_another(
    engine, queries
):
    n, sizes = engine.index.n, engine.index.code_sizes
    known = {tuple(codes) for codes in engine.index.codes(range(n)).tolist()}

    codes = unpack(realistic(4 * n, engine, queries, seed=0).packed, sizes).tolist()

    assert sorted(map(tuple, codes[:n])) == sorted(
        map(tuple, engine.index.codes(range(n)).tolist())
    )
    recombined = {tuple(code) for code in codes[n:]}
    assert recombined - known
    for code in recombined:
        assert any(
            any(code[:kept] == begin[:kept] for begin in known)
            and any(code[kept:] == end[kept:] for end in known)
            for kept in range(2, len(sizes))
        )


def test_a_small_collection_is_the_beginning_of_a_large_one(engine, queries):
    for few, many in ((20, 30), (100, 200)):
        small, large = (realistic(items, engine, queries, seed=0) for items in (few, many))
        known = min(few, engine.index.n)  # IDs of the run; the others are drawn for each size
        assert np.array_equal(small.packed[:known], large.packed[:known])


def test_embeddings_are_those_of_the_run_and_near_them_for_recombined_items(
    engine, queries, tmp_path
):
    n = engine.index.n
    workload = realistic(2 * n, engine, queries, seed=0)

    embeddings = Setup.build(workload, 2 * n, 5, tmp_path).embeddings.astype(np.float32)

    known = engine.index.embeddings.astype(np.float32)
    np.testing.assert_allclose(np.sort(embeddings[:n], axis=0), np.sort(known, axis=0), atol=1e-3)
    nearest = (embeddings[n:] @ known.T).max(1)
    assert (nearest > 0.95).all() and (nearest < 0.9999).any()


def test_embeddings_are_kept_in_half_precision_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(workloads, "BLOCK", 250)
    setup = tiny_setup(tmp_path)

    embeddings = setup.embeddings

    assert embeddings.shape == (600, CONFIG.dim) and embeddings.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(embeddings.astype(np.float32), axis=1), 1, atol=1e-3)
    assert setup.embeddings is embeddings and len(np.unique(embeddings, axis=0)) == 600


@pytest.mark.parametrize(
    ("n", "levels"), [(2, 1), (30, 1), (31, 2), (900, 2), (901, 3), (30_000, 4)]
)
def test_structured_ids_are_distinct_and_as_short_as_a_full_tree_allows(n, levels):
    codes, sizes = structured_ids(n)
    assert codes.shape == (n, levels) and sizes == (30,) * levels
    assert len(np.unique(codes, axis=0)) == n
    assert (codes.max(0) < sizes).all() and (codes.min(0) >= 0).all()


def test_numeric_ids_are_the_digits_of_the_numbers():
    codes, sizes = numeric_ids(1_234)
    assert sizes == (10,) * 4
    assert (codes @ [1000, 100, 10, 1] == np.arange(1_234)).all()


def test_other_ids_get_a_random_decoder_of_the_same_size():
    workload = uniform(50, CONFIG, 0, torch.device("cpu"))
    codes, sizes = structured_ids(50)
    random = workload.with_random_decoder(codes, sizes, seed=0)
    assert (random.decoder.config.width, random.decoder.config.layers) == (
        CONFIG.width,
        CONFIG.layers,
    )
    assert random.decoder.config.code_sizes == sizes and not random.decoder.config.geometry
    assert np.array_equal(unpack(random.packed, sizes), codes)


def test_candidates_of_one_modality_are_ids_of_that_modality_alone(engine, queries):
    images = np.flatnonzero(engine.index.modalities == Modality.IMAGE)
    some = realistic(len(images), engine, queries, 0, images)
    whole = realistic(engine.index.n, engine, queries, 0)
    assert len(some.packed) == len(images) < len(whole.packed)
    assert {row.tobytes() for row in some.packed} <= {row.tobytes() for row in whole.packed}
