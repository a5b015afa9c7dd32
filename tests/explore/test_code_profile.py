"""genius/explore/code_profile.py over a tiny run, against doing it item by item."""

import numpy as np
import pytest

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
        overview = profiles.overview(profiles.table.match(pattern))
        rows = matching(codes, pattern)
        assert overview.items == len(rows)
        assert (
            overview.modalities == np.bincount(engine.index.modalities[rows], minlength=3).tolist()
        )
        assert overview.siblings == len(matching(codes, pattern[:-1]))
        if len(pattern) == codes.shape[1]:
            assert overview.next_level is None
        else:
            following = np.unique(codes[rows, len(pattern)])
            assert overview.next_level["used"] == len(following)


def test_typical_items_are_nearest_to_the_mean_and_borderline_ones_farthest(
    profiles, engine, codes
):
    rows = matching(codes, (1,))
    vectors = np.array(engine.index.embeddings[rows], dtype=np.float32)
    cosines = vectors @ vectors.mean(0) / np.linalg.norm(vectors.mean(0))

    found = profiles.nearness(profiles.table.match((1,)), top=3)

    assert {row for row, _ in found.typical} == {rows[place] for place in np.argsort(-cosines)[:3]}
    assert {row for row, _ in found.borderline} == {
        rows[place] for place in np.argsort(cosines)[:3]
    }
    assert found.typical[0][1] == pytest.approx(cosines.max(), abs=1e-5) and found.sampled == len(
        rows
    )


def test_words_of_a_code_fit_so_many_of_its_items(profiles, engine, codes):
    for code in np.unique(codes[codes[:, 0] == Modality.TEXT, 1]).tolist():
        found = profiles.meaning((int(Modality.TEXT), code))
        rows = matching(codes, (Modality.TEXT, code))
        assert found.checked == len(rows)
        for word in found.words:
            assert word.fits == profiles.words.fitting(word.word, rows).sum() > 0


def test_words_are_learned_once_and_what_nothing_matches_has_none(profiles):
    assert profiles.words is profiles.words
    assert profiles.meaning((1, 999 % profiles.table.code_sizes[1], None)[:2]).checked >= 0
