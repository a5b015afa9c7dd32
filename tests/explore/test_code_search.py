import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import code_search as module
from genius.explore.code_names import MIN_ITEMS
from genius.explore.code_profile import Profiles
from genius.explore.code_search import CodeSearch
from genius.schema import Modality
from tests.ui.fake_engine import CODE_SIZES, DIM, FakeEngine, FakeIndex

N = 400


class Branches(FakeIndex):
    """Items of 20 codes, each near to what its code stands for, and of their kind."""

    n = N
    modalities = (np.arange(N) % 3).astype(np.uint8)

    def __init__(self):
        random = np.random.default_rng(0)
        first, second = random.integers(0, 20, N), random.integers(0, 4, N)
        deeper = random.integers(0, 256, (N, len(CODE_SIZES) - 3))
        self._codes = np.column_stack([self.modalities, first, second, deeper]).astype(np.int64)
        means, kinds = random.normal(size=(20, DIM)), 5 * random.normal(size=(3, DIM))
        vectors = means[first] + kinds[self.modalities] + 0.1 * random.normal(size=(N, DIM))
        self.embeddings = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture(scope="module")
def profiles():
    engine = FakeEngine()
    engine.index = Branches()
    return Profiles(engine, engine.index)


@pytest.fixture(scope="module")
def search(profiles):
    return CodeSearch(profiles)


def rows_of(search, pattern):
    codes = search.index.codes(range(N))
    return np.flatnonzero(np.all([codes[:, at] == code for at, code in enumerate(pattern) if code is not None], axis=0))


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_a_code_is_the_mean_of_its_items_whatever_their_kind(profiles, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)
    search = CodeSearch(profiles)
    codes, modalities = search.index.codes(range(N)), search.index.modalities
    vectors = search.index.embeddings[:].astype(np.float32)
    for kind in range(3):
        vectors[modalities == kind] -= vectors[modalities == kind].mean(0)
    expected = set()
    for depth in range(2, codes.shape[1] + 1):
        prefixes, counts = np.unique(codes[:, 1:depth], axis=0, return_counts=True)
        expected |= {(None, *prefix) for prefix in prefixes[counts >= MIN_ITEMS].tolist()}
    assert set(search.patterns) == expected and len(search.patterns) == len(expected)
    for pattern, vector, items in zip(search.patterns, search.vectors, search.items, strict=True):
        rows = rows_of(search, pattern)
        assert len(rows) == items
        np.testing.assert_allclose(vector, unit(vectors[rows].mean(0)), atol=1e-4)


def test_of_many_codes_those_of_most_items_are_kept(profiles, search, monkeypatch):
    monkeypatch.setattr(module, "MOST_CODES", 5)
    few = CodeSearch(profiles)
    assert sorted(few.items) == sorted(search.items)[-5:] and set(few.patterns) <= set(search.patterns)


def test_the_nearest_code_of_each_branch_is_found(search):
    vector = np.random.default_rng(0).normal(size=search.vectors.shape[1])
    cosines = dict(zip(search.patterns, search.vectors @ unit(vector), strict=True))
    found = search.find(vector, 4)
    assert found[0].pattern == max(cosines, key=cosines.get)
    assert [code.similarity for code in found] == sorted((code.similarity for code in found), reverse=True)
    for place, code in enumerate(found):
        assert code.similarity == pytest.approx(cosines[code.pattern], abs=1e-5)
        assert code.items == len(rows_of(search, code.pattern)) and set(code.rows) <= set(rows_of(search, code.pattern))
        for other in found[:place]:
            shared = min(len(code.pattern), len(other.pattern))
            assert code.pattern[:shared] != other.pattern[:shared]


def test_the_codes_near_to_another_are_of_other_branches(search):
    own = search.patterns[0]
    for pattern in (own, (0, *own[1:])):
        near = search.near(pattern, 3)
        assert near and all(code.pattern[: len(own)] != own for code in near)
    assert search.near((), 3) == [] == search.near((1,), 3)
    assert search.by_chance() in search.patterns


def test_a_name_is_tried_on_items_that_it_was_not_made_from(search, monkeypatch):
    centered = search.centered

    def scrambled(rows):
        vectors = centered(rows).copy()
        vectors[1::2] *= -1
        return vectors

    found = search.find(search.vectors[0], 5)
    assert any(code.words for code in found)
    assert all(code.tried == code.items // 2 and 0 <= code.fits <= code.tried for code in found)
    monkeypatch.setattr(search, "centered", scrambled)
    again = search.find(search.vectors[0], 5)
    assert [code.words for code in again] == [code.words for code in found]
    assert sum(code.fits for code in again) < sum(code.fits for code in found)


def test_codes_of_texts_alone_have_names_too():
    engine = FakeEngine()
    engine.index = Branches()
    engine.index.modalities = np.full(N, Modality.TEXT, np.uint8)
    search = CodeSearch(Profiles(engine, engine.index))
    assert any(code.words for code in search.find(search.vectors[0], 5))


def test_without_codes_of_several_items_nothing_is_found(profiles, monkeypatch):
    monkeypatch.setattr(module, "MIN_ITEMS", N + 1)
    search = CodeSearch(profiles)
    assert search.find(np.ones(search.vectors.shape[1]), 3) == []
    with pytest.raises(UserError, match="No code has"):
        search.by_chance()
