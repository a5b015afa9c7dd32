"""Regions of a map over items whose places and words are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from genius.explore.map_data import Region
from genius.explore.word_fits import WordFits, kind_centers
from tests.explore.test_word_fits import THINGS, Things, encode
from training.stages import map_regions
from training.stages.map_regions import moved_regions, named_regions, nested_groups


@pytest.fixture(scope="module")
def things():
    return Things()


@pytest.fixture(scope="module")
def profiles(things):
    return SimpleNamespace(index=things, words=WordFits(things, kind_centers(things), encode))


@pytest.fixture(scope="module")
def places(things):
    """Each thing at a place of its own, in rows of ten."""
    noise = np.random.default_rng(0).normal(0, 0.02, (things.n, 2))
    return np.stack([things.thing % 10, things.thing // 10], axis=1) / 5 - 0.9 + noise


@pytest.fixture(scope="module")
def named(profiles, things, places):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map_regions, "SIZES", (4, len(THINGS), len(THINGS)))
        patch.setattr(map_regions, "MIN_SHARE", (0.05, 0.25, 0.3))
        return named_regions(profiles, np.arange(things.n), places, set(profiles.words.words), 0)


def test_groups_of_one_size_lie_in_one_of_the_size_before(places):
    large, middle, small = nested_groups(places, 0)
    assert large.max() < middle.max() <= small.max()
    for inner, outer in ((middle, large), (small, middle)):
        assert all(len(set(outer[inner == group])) == 1 for group in range(inner.max() + 1))


def test_a_region_has_the_word_that_fits_its_items_once_a_size(named, profiles, things):
    regions, _ = named
    middle = [region for region in regions if region.tier == 1]
    assert len(middle) == len(THINGS)
    words = [word for region in middle for word in region.words]
    assert len(set(words)) == len(words) == len(THINGS)
    assert all((region.items, region.fits) == (20, 20) for region in middle)
    assert not any(region.words for region in regions if region.tier == 2)  # their words are taken
    for region in regions:
        assert len(region.words) <= 2 and (region.parent is None) == (region.tier == 0)


def test_words_that_no_code_has_name_nothing(profiles, things, places):
    regions, _ = named_regions(profiles, np.arange(things.n), places, {"dogs"}, 0)
    assert {word for region in regions for word in region.words} == {"dogs"}


def test_a_portrait_is_a_picture_of_the_region(named, things):
    regions, region_of = named
    for point, number in enumerate(region_of.tolist()):
        while regions[number].tier > 1:
            number = regions[number].parent
        row = int(regions[number].portrait.split(":")[1])
        assert things.modalities[row] == 0 and things.thing[row] == things.thing[point]


def test_a_region_whose_neighbours_changed_is_told_with_the_old_and_the_new_ones():
    names = ("dog", "cat", "boat")
    regions = tuple(Region(1, None, (name,), 30, 30, "") for name in names)
    region_of = np.repeat([0, 1, 2], 30)
    before = np.repeat([[0.0, 0], [0, 0], [5, 5]], 30, axis=0)  # dogs among cats
    after = np.repeat([[5.0, 5], [0, 0], [5, 5]], 30, axis=0)  # dogs among boats
    found = moved_regions(regions, region_of, np.stack([before, after]), 1)
    assert {one.region for one in found[:3]} == {0, 1, 2} and moved_regions(
        regions, region_of, before[None], 0
    ) == ()
    dog = next(one for one in found if one.region == 0)
    assert (dog.left, dog.joined) == (1, 2) and dog.share > 0.3
    apart = np.repeat([[-9.0, -9], [0, 0], [5, 5]], 30, axis=0)  # dogs alone, then among boats
    found = moved_regions(regions, region_of, np.stack([apart, after]), 1)
    dog = next(one for one in found if one.region == 0)
    assert (dog.left, dog.joined) == (None, 2)
