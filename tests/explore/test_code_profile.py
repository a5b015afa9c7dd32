"""genius/explore/code_profile.py over a tiny run, against doing it item by item."""

import numpy as np
import pytest

from genius.explore.code_profile import Profiles
from tests.trie.test_code_table import matching


@pytest.fixture(scope="module")
def profiles(engine) -> Profiles:
    return Profiles(engine, engine.index)


@pytest.fixture(scope="module")
def codes(engine) -> np.ndarray:
    return engine.index.codes(range(engine.index.n))


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


def test_words_of_a_code_fit_so_many_of_its_items(profiles, codes):
    worded = 0
    for code in np.unique(codes[codes[:, 0] == 1, 1]).tolist():
        found = profiles.meaning((1, code))
        rows = np.array(matching(codes, (1, code)))
        assert found.checked == len(rows)
        for word in found.words:
            assert word.fits == profiles.words.fitting(word.word, rows).sum() > 0
        worded += bool(found.words)
    assert worded
