"""genius/explore/code_profile.py over a tiny run, against doing it item by item."""

import numpy as np
import pytest

from genius.explore import code_profile as module
from genius.explore import distinctive_words as words
from genius.explore.code_profile import Profiles
from genius.schema import Modality
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run
from tests.trie.test_code_table import matching

N = 60


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("run"), N).path, "cpu")


@pytest.fixture
def profiles(engine) -> Profiles:
    return Profiles(engine, engine.index)


@pytest.fixture(scope="module")
def codes(engine) -> np.ndarray:
    return engine.index.codes(range(N))


def test_an_overview_counts_what_matches(profiles, engine, codes):
    for pattern in ((), (1,), (None, int(codes[4, 1])), tuple(codes[7].tolist())):
        overview, rows = profiles.overview(profiles.table.match(pattern)), matching(codes, pattern)
        assert overview.items == len(rows)
        assert overview.modalities == np.bincount(engine.index.modalities[rows], minlength=3).tolist()
        assert overview.siblings == len(matching(codes, pattern[:-1]))
        if len(pattern) == codes.shape[1]:
            assert overview.next_level is None
        else:
            following = np.unique(codes[rows, len(pattern)])
            assert overview.next_level["used"] == len(following)


def test_typical_items_are_nearest_to_the_mean_and_borderline_ones_farthest(profiles, engine, codes):
    rows = matching(codes, (1,))
    vectors = np.array(engine.index.embeddings[rows], dtype=np.float32)
    cosines = vectors @ vectors.mean(0) / np.linalg.norm(vectors.mean(0))

    found = profiles.nearness(profiles.table.match((1,)), top=3)

    assert {row for row, _ in found.typical} == {rows[place] for place in np.argsort(-cosines)[:3]}
    assert {row for row, _ in found.borderline} == {rows[place] for place in np.argsort(cosines)[:3]}
    assert found.typical[0][1] == pytest.approx(cosines.max(), abs=1e-5) and found.sampled == len(rows)


def test_words_of_a_code_with_texts_come_from_these_texts(profiles, engine, codes):
    for code in np.unique(codes[codes[:, 0] == Modality.TEXT, 1]).tolist():
        found = profiles.meaning((int(Modality.TEXT), code))
        rows = matching(codes, (Modality.TEXT, code))
        own = " ".join(item.text.lower() for item in engine.index.items(rows))
        assert found.texts == len(rows) and found.words
        assert all(word.word in own and word.share > 0 for word in found.words)


def test_a_code_of_pictures_gets_words_from_the_encoder(profiles, codes, monkeypatch):
    monkeypatch.setattr(words, "MIN_WORDS", 5)
    codes_of_pictures = np.unique(codes[codes[:, 0] == Modality.IMAGE, 1]).tolist()
    found = [profiles.meaning((int(Modality.IMAGE), code)) for code in codes_of_pictures]
    assert all(one.texts == 0 and one.siblings == len(codes_of_pictures) for one in found)
    assert any(one.words for one in found)
    assert all(word.share is None for one in found for word in one.words)


def test_words_of_siblings_are_read_once(profiles, engine, monkeypatch):
    first = profiles.meaning((1, 0))
    monkeypatch.setattr(module, "distinctive_words", None)
    assert profiles.meaning((1, 0)) == first


def test_items_are_sampled_evenly_over_codes(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_SIZE", 40)
    codes = np.repeat([3, 5, 8], [100, 7, 30])
    sampled = dict(module._sampled(codes, np.arange(137)))
    assert {code: len(rows) for code, rows in sampled.items()} == {3: 13, 5: 7, 8: 13}
    assert (sampled[3][0], sampled[3][-1]) == (0, 99) and set(np.diff(sampled[3])) <= {8, 9}
