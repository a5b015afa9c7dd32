import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import code_search as module
from genius.explore.code_profile import Profiles
from genius.explore.code_search import CodeSearch
from genius.explore.word_fits import MIN_ITEMS, singular
from genius.schema import Modality
from tests.trie.test_code_table import matching
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
        means = random.normal(size=(20, DIM))
        kinds = 5 * random.normal(size=(3, DIM))
        vectors = means[first] + kinds[self.modalities] + 0.1 * random.normal(size=(N, DIM))
        self.embeddings = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(
            np.float16
        )


@pytest.fixture(scope="module")
def profiles():
    engine = FakeEngine()
    engine.index = Branches()
    return Profiles(engine, engine.index)


@pytest.fixture(scope="module")
def search(profiles):
    return CodeSearch(profiles)


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_a_code_is_the_mean_of_its_items_whatever_their_kind(profiles, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    search = CodeSearch(profiles)
    codes = search.index.codes(range(N))
    modalities = search.index.modalities
    vectors = search.index.embeddings[:].astype(np.float32)
    for kind in range(3):
        vectors[modalities == kind] -= vectors[modalities == kind].mean(0)
    expected = set()
    for depth in range(2, codes.shape[1] + 1):
        prefixes, counts = np.unique(codes[:, 1:depth], axis=0, return_counts=True)
        expected |= {(None, *prefix) for prefix in prefixes[counts >= MIN_ITEMS].tolist()}
    assert set(search.patterns) == expected and len(search.patterns) == len(expected)
    for pattern, vector, items in zip(search.patterns, search.vectors, search.items, strict=True):
        rows = matching(codes, pattern)
        assert len(rows) == items
        np.testing.assert_allclose(vector, unit(vectors[rows].mean(0)), atol=1e-4)


def test_of_many_codes_those_of_most_items_are_kept(profiles, search, monkeypatch):
    monkeypatch.setattr(module, "MOST_CODES", 5)
    few = CodeSearch(profiles)
    assert sorted(few.items) == sorted(search.items)[-5:] and set(few.patterns) <= set(
        search.patterns
    )


def test_a_code_ranks_by_how_many_of_its_items_fit_and_their_share(search, monkeypatch):
    """Of one kind's centre taken off, the items nearest to a query are those of its code."""
    code = search.index.codes([0])[0, 1]
    rows = np.flatnonzero(search.index.codes(range(N))[:, 1] == code)
    monkeypatch.setattr(module, "LEAST_FITTING", len(rows))
    for text, picture, center in (
        ("wheel", False, search.words.center),
        ("a wheel beside a house", False, search.words.centers[Modality.TEXT]),
        ("", True, search.words.centers[Modality.IMAGE]),
        ("in red", True, search.words.centers[Modality.PAIR]),
    ):
        vector = search.words.centered(rows).mean(0) + center
        found = search.find(vector, text, picture, 4)
        best = found[0]
        assert best.pattern == (None, code) and best.items == best.fitting == len(rows)
        assert set(best.rows) <= set(rows) and best.name.checked == len(rows)


def test_a_code_that_fits_as_a_whole_comes_before_a_larger_one_of_which_more_items_fit(
    search, monkeypatch
):
    second = search.index.codes(range(N))[:, 1]
    sizes = np.bincount(second)
    small, large = int(sizes.argmin()), int(sizes.argmax())
    part = np.flatnonzero(second == large)[: sizes[small] + 1]
    nearest = np.concatenate([np.flatnonzero(second == small), part])
    assert sizes[small] < len(part) < sizes[large]
    monkeypatch.setattr(search, "_nearest", lambda vector, rows: nearest)
    first, other = search.find(np.ones(search.vectors.shape[1]), "", True, 20)[:2]
    assert (first.pattern, first.fitting) == ((None, small), sizes[small])
    assert other.pattern[1] == large


def test_items_whose_texts_have_the_words_fit_however_far_they_lie(search, monkeypatch):
    monkeypatch.setattr(module, "LEAST_FITTING", 1)
    words = search.words
    rows = np.arange(N)
    known = words.words[0]
    fits = words.fitting(known, rows)
    assert fits.sum() > 1
    far = -words.vectors[words.number[singular(known)]]
    assert sum(code.fitting for code in search.find(far, known, False, 20)) > 5
    assert search.rows_for(np.ones(words.center.shape), known).tolist() == rows[fits].tolist()
    assert len(search.rows_for(np.ones(words.center.shape), "xyzzy")) == max(
        1, int(module.FITTING * N)
    )


def test_the_codes_near_to_another_are_of_other_branches(search):
    own = search.patterns[0]
    for pattern in (own, (0, *own[1:])):
        near = search.near(pattern, 3)
        assert near and all(code.pattern[: len(own)] != own for code in near)
    assert search.near((), 3) == [] == search.near((1,), 3)
    assert search.by_chance() in search.patterns


def test_without_codes_of_several_items_nothing_is_found(profiles, monkeypatch):
    monkeypatch.setattr(module, "MIN_ITEMS", N + 1)
    search = CodeSearch(profiles)
    assert search.find(np.ones(search.vectors.shape[1]), "wheel", False, 3) == []
    with pytest.raises(UserError, match="No code has"):
        search.by_chance()
