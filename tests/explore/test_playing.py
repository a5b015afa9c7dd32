"""genius/explore/playing.py over a made-up index, against looking through all IDs."""

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import playing
from genius.explore.code_profile import Profiles
from genius.explore.playing import (
    change_code,
    change_first,
    guess,
    longest,
    picture_to_guess,
    relatives,
    typical_rows,
)
from genius.schema import Item, Modality
from tests.explore.test_code_search import Branches, N
from tests.trie.test_code_table import matching
from tests.ui.fake_engine import FakeEngine


class Drawings(Branches):
    """Every other picture is a drawing; a picture and the pair before it show the same."""

    def item(self, row):
        item = super().item(row)
        kind = "emoji" if row // 3 % 2 else "photo"
        image = item.image and f"{(row + 1) // 3}.jpg"
        return Item(item.id, item.modality, item.text, image, f'{{"kind": "{kind}"}}')

    def thumbnail(self, row):
        return None


@pytest.fixture(scope="module")
def profiles():
    engine = FakeEngine()
    engine.index = Drawings()
    return Profiles(engine, engine.index)


@pytest.fixture(scope="module")
def codes(profiles):
    return profiles.index.codes(range(N))


def test_each_code_leaves_fewer_items_of_which_the_guessed_one_is_shown_last(profiles, codes):
    row = 0
    steps = guess(profiles, row)
    for level, step in enumerate(steps):
        left = np.flatnonzero((codes[:, :level] == codes[row, :level]).all(1))
        assert (step.pattern, step.items) == (tuple(codes[row, :level]), len(left))
        assert set(step.rows) <= set(left) and len(step.rows) <= playing.SHOWN
        assert (row in step.rows) == (len(left) <= playing.SHOWN)
    assert steps[-1].items == 1 < steps[-2].items


def test_photographs_come_before_drawings_and_texts_and_each_of_them_once(profiles):
    items = profiles.index.items(typical_rows(profiles, np.arange(60), 60))
    order = [2 if item.modality == Modality.TEXT else int(playing.is_drawn(item)) for item in items]
    assert order == sorted(order) and set(order) == {0, 1, 2}
    pictures = [item.image for item in items if item.image]
    all_pictures = {item.image for item in profiles.index.items(range(60)) if item.image}
    assert len(pictures) == len(set(pictures)) and set(pictures) == all_pictures
    assert typical_rows(profiles, np.zeros(0, int), 5) == []


def test_a_photograph_is_drawn_by_chance_and_the_same_number_gives_the_same(profiles):
    rows = {picture_to_guess(profiles, seed) for seed in range(8)}
    assert len(rows) > 2 and picture_to_guess(profiles, 3) == picture_to_guess(profiles, 3)
    for item in profiles.index.items(rows):
        assert item.modality == Modality.IMAGE and not playing.is_drawn(item)


def test_without_pictures_there_is_nothing_to_guess():
    engine = FakeEngine()
    engine.index = Branches()
    engine.index.modalities = np.full(N, Modality.TEXT, np.uint8)
    with pytest.raises(UserError, match="no pictures to guess"):
        picture_to_guess(Profiles(engine, engine.index), 0)


def test_a_changed_code_keeps_the_others_as_far_as_an_item_has_them(profiles, codes):
    own = codes[0].tolist()
    groups = change_code(profiles, own[:3], 1, 4)
    assert groups[0].pattern == tuple(own[:3]) and 1 < len(groups) <= 4
    for group in groups:
        assert group.pattern[0] == own[0] and group.items == len(matching(codes, group.pattern))
        whole = (own[0], group.pattern[1], own[2])
        assert group.pattern == whole or (
            group.pattern == whole[:2] and not len(matching(codes, whole))
        )
        assert set(group.rows) <= set(matching(codes, group.pattern))
    assert len({group.pattern[1] for group in groups}) == len(groups)


def test_the_same_codes_behind_another_first_code_are_of_another_kind(profiles, codes):
    groups = change_first(profiles, codes[0, :2].tolist())
    assert [group.pattern for group in groups] == [(kind, int(codes[0, 1])) for kind in range(3)]
    for kind, group in enumerate(groups):
        assert (profiles.index.modalities[group.rows] == kind).all() and group.rows


def test_the_codes_around_a_pattern_are_those_that_items_have(profiles, codes):
    table = profiles.table
    for pattern in ((0, int(codes[0, 1])), (None, int(codes[0, 1]))):
        around = relatives(table, pattern)
        known = matching(codes, pattern[:-1])
        siblings = sorted(set(codes[known, 1].tolist()))
        at = siblings.index(pattern[1])
        assert around.previous == ((pattern[0], siblings[at - 1]) if at else None)
        assert around.following == (
            (pattern[0], siblings[at + 1]) if at + 1 < len(siblings) else None
        )
        children, counts = np.unique(codes[matching(codes, pattern), 2], return_counts=True)
        assert around.child == (*pattern, int(children[counts.argmax()]))
    assert relatives(table, (0, 5)).parent == (0,) and relatives(table, (None, 5)).parent == ()
    top = relatives(table, ())
    assert (top.parent, top.previous, top.following) == (None, None, None) and len(top.child) == 1
    assert relatives(table, tuple(codes[0].tolist())).child is None


def test_the_longest_beginning_that_an_item_has(profiles, codes):
    own = tuple(codes[0].tolist())
    assert longest(profiles.table, own[:1], own[1:]) == own
    assert longest(profiles.table, own[:2], (255, *own[3:]))[:2] == own[:2]
