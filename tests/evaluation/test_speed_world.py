"""genius/evaluation/speed/world.py: IDs, vectors and files of the benchmark."""

import numpy as np
import pytest

from genius.evaluation.speed import world as module
from genius.evaluation.speed.vectors import BLOCK
from genius.evaluation.speed.world import WORLDS
from genius.trie.ids import unpack
from tests.evaluation.tiny_speed import CONFIG, shrink, tiny_world


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.mark.parametrize("kind", WORLDS)
def test_a_small_collection_is_the_beginning_of_a_large_one(kind, tmp_path):
    small, _ = tiny_world(kind, tmp_path / "small", items=300)
    large, _ = tiny_world(kind, tmp_path / "large", items=BLOCK + 50)

    assert np.array_equal(small.packed, large.packed[:300])
    assert np.array_equal(small.embeddings(120), large.embeddings(BLOCK + 9)[:120])
    for mine, theirs in zip(small.decoder.codebooks, large.decoder.codebooks, strict=True):
        assert mine.equal(theirs)


@pytest.mark.parametrize("kind", WORLDS)
def test_vectors_are_those_of_the_blocks_in_half_precision(kind, tmp_path):
    world, _ = tiny_world(kind, tmp_path)

    embeddings = world.embeddings(BLOCK + 9)
    assert embeddings.shape == (BLOCK + 9, CONFIG.dim) and embeddings.dtype == np.float16
    np.testing.assert_array_equal(embeddings[BLOCK:], world.vectors.block(1)[:9].astype(np.float16))


def test_realistic_ids_are_the_nearest_codewords_level_by_level(tmp_path):
    world, _ = tiny_world("realistic", tmp_path)
    codes = unpack(np.asarray(world.packed), CONFIG.code_sizes)[:200]
    books = [codebook.numpy() for codebook in world.decoder.codebooks]
    left, modality = world.vectors.block(0)[:200], world.vectors.native_block(0)[1][:200]

    assert (codes[:, 0] == modality).all()
    for level, book in enumerate(books):
        distance = ((left[:, None] - book) ** 2).sum(-1)  # (n, k)
        if level:
            chosen = np.take_along_axis(distance, codes[:, level : level + 1], axis=1)[:, 0]
            np.testing.assert_allclose(chosen, distance.min(1), atol=1e-5)
        left = left - book[codes[:, level]]


def test_uniform_ids_use_every_code_alike(tmp_path):
    world, _ = tiny_world("uniform", tmp_path, items=BLOCK)
    codes = unpack(np.asarray(world.packed), CONFIG.code_sizes)

    for level, size in enumerate(CONFIG.code_sizes):
        counts = np.bincount(codes[:, level], minlength=size)
        np.testing.assert_allclose(counts, BLOCK / size, rtol=0.2)


@pytest.mark.parametrize("kind", WORLDS)
def test_a_second_call_makes_nothing_anew(kind, tmp_path, monkeypatch):
    first, _ = tiny_world(kind, tmp_path)
    vectors = np.array(first.embeddings(50))
    left_over = tmp_path / "killed.part"
    left_over.write_bytes(b"half")

    monkeypatch.setattr(module, "pack", None)
    monkeypatch.setattr(module.ResidualQuantizer, "initialise", None)
    monkeypatch.setattr(type(first.vectors), "block", None)
    second, _ = tiny_world(kind, tmp_path)

    assert np.array_equal(first.packed, second.packed)
    assert np.array_equal(vectors, second.embeddings(50))


def test_what_is_kept_cannot_be_changed_by_mistake(tmp_path):
    world, _ = tiny_world("uniform", tmp_path)
    world.packed[0] ^= 1

    assert not np.array_equal(world.packed, tiny_world("uniform", tmp_path)[0].packed)


def test_the_realistic_decoder_is_surer_of_the_first_codes_than_chance(tmp_path):
    world, _ = tiny_world("realistic", tmp_path)

    assert len(world.confidence) == CONFIG.levels
    assert world.confidence[0] > 0.8 and world.confidence[1] > 0.5
    assert tiny_world("uniform", tmp_path)[0].confidence is None
