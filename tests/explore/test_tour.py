from types import SimpleNamespace

import numpy as np
from PIL import Image

from genius.examples import Example, TargetedInstruction
from genius.explore.map_data import View
from genius.explore.tour import (
    Tour,
    TourStep,
    before_and_after,
    coherent_pattern,
    most_similar_pair,
    tour_of,
)
from genius.schema import Modality

ASKED = TargetedInstruction("Find it.", Modality.TEXT)
PICTURE = Image.new("RGB", (4, 4))


def index_of(codes, vectors, sizes=(3, 9, 9, 9, 9, 9)) -> SimpleNamespace:
    codes, vectors = np.array(codes), np.array(vectors, dtype=np.float32)
    return SimpleNamespace(
        n=len(codes),
        code_sizes=sizes,
        modalities=codes[:, 0].astype(np.uint8),
        embeddings=vectors,
        codes=lambda rows: codes[np.asarray(rows)],
    )


def at(*degrees):
    return [(np.cos(np.radians(one)), np.sin(np.radians(one))) for one in degrees]


def test_the_pair_shares_four_codes_but_not_five_and_is_alike_without_looking_the_same():
    index = index_of(
        [
            (0, 1, 1, 1, 1, 1),  # with the next: alike, 40 degrees
            (0, 1, 1, 1, 2, 1),
            (0, 2, 2, 2, 1, 1),  # copies of each other
            (0, 2, 2, 2, 2, 1),
            (0, 3, 3, 1, 1, 1),  # share three codes only
            (0, 3, 3, 2, 1, 1),
            (1, 4, 4, 4, 1, 1),  # texts
            (1, 4, 4, 4, 2, 1),
            (0, 5, 5, 5, 1, 1),  # less alike, 60 degrees
            (0, 5, 5, 5, 2, 1),
            (0, 6, 6, 6, 1, 1),  # share five codes
            (0, 6, 6, 6, 1, 2),
            (0, 7, 7, 7, 1, 1),  # hardly told apart, 20 and 30 degrees
            (0, 7, 7, 7, 2, 1),
            (0, 8, 8, 8, 1, 1),
            (0, 8, 8, 8, 2, 1),
        ],
        at(0, 40, 0, 1, 0, 20, 0, 20, 0, 60, 0, 20, 0, 20, 0, 30),
    )
    assert sorted(most_similar_pair(index)) == [0, 1]
    assert sorted(tour_of(index, (), ()).pair) == [0, 1] and tour_of(index, (), ()).shared == (
        0,
        1,
        1,
        1,
    )


def test_where_all_pictures_look_alike_the_pair_is_the_least_alike_that_is_no_copy():
    index = index_of(
        [(0, group, 1, 1, last, 1) for group in (1, 2, 3) for last in (1, 2)],
        at(0, 1, 0, 30, 0, 20),
    )
    assert sorted(most_similar_pair(index)) == [2, 3]


def test_the_pattern_holds_several_modalities_and_the_items_that_are_most_alike():
    mixed = [(kind, 1, 1, 0, 0, 0) for kind in (0, 1)] * 4
    scattered = [(kind, 2, 2, 0, 0, 0) for kind in (0, 1)] * 4
    alone = [(0, 3, 3, 0, 0, 0)] * 8
    spread = at(*(50 * place for place in range(8)))
    index = index_of(mixed + scattered + alone, at(*range(8)) + spread + at(*[0] * 8))
    assert coherent_pattern(index) == (None, 1, 1)
    assert coherent_pattern(index_of(alone, at(*[0] * 8))) == ()


def test_a_collection_without_pictures_or_depth_has_neither():
    texts = index_of([(1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 2)], at(0, 10))
    flat = index_of([(0, 1), (0, 2)], at(0, 10), (3, 9))
    assert (
        most_similar_pair(texts) is None
        and most_similar_pair(flat) is None
        and coherent_pattern(flat) == ()
    )
    assert tour_of(texts, (), ()) == Tour() and Tour().steps == []


def test_examples_and_maps_give_the_other_stops_in_order():
    index = index_of([(1, 1, 1, 1, 1, 1)], at(0))
    examples = [
        Example("one", "", PICTURE, (ASKED,)),
        Example("three", "", PICTURE, (ASKED,) * 3),
        Example("words", "a mug", None, (ASKED,)),
    ]
    tour = tour_of(index, examples, [View(0, 9), View(9, 8), View(2, 3)])
    assert (tour.several, tour.single, tour.views) == (1, 2, (0, 9))
    assert tour.steps == [TourStep.INSTRUCTIONS, TourStep.STRIP, TourStep.MAP, TourStep.DENSE]
    assert tour_of(index, examples[:1], ()).single == 0
    assert before_and_after([View(0, 9)]) is None is before_and_after([])
