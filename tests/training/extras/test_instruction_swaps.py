"""Queries with the instruction of another row."""

import numpy as np

from genius.schema import Modality
from training.extras.instruction_swaps import InstructionSwaps

PHRASINGS = {
    (1, Modality.TEXT, Modality.IMAGE): ["a picture of this", "show this"],
    (2, Modality.TEXT, Modality.TEXT): ["say it otherwise"],
    (2, Modality.IMAGE, Modality.TEXT): ["say what is seen"],
}


class FakeCollection:
    """Two text queries and one image query."""

    texts, images = ["a cat", "a dog", ""], [None, None, "cat.png"]

    def instructions(self) -> dict:
        return PHRASINGS


def drawn(share: float, seed: int = 0) -> tuple[InstructionSwaps, np.ndarray]:
    """Many draws for the three queries, which ask for an image, a text and a text."""
    swaps = InstructionSwaps(FakeCollection(), FakeCollection(), share)
    queries, targets = np.tile([0, 1, 2], 1000), np.tile([Modality.IMAGE, Modality.TEXT, Modality.TEXT], 1000)
    return swaps, swaps.draw(queries, targets, np.random.default_rng(seed)).reshape(1000, 3)


def test_a_swapped_instruction_fits_the_query_and_asks_for_another_modality():
    swaps, asked = drawn(1.0)
    wanted = swaps.modalities(asked)
    assert (wanted[:, 0] == Modality.TEXT).all() and (wanted[:, 1] == Modality.IMAGE).all()
    assert (wanted[:, 2] == -1).all()  # no instruction asks an image query for anything but text


def test_instructions_are_swapped_with_the_probability():
    assert 0.27 < (drawn(0.3)[1][:, :2] >= 0).mean() < 0.33
    assert (drawn(0.0)[1] == -1).all()


def test_each_drawn_instruction_gets_one_of_its_phrasings():
    swaps, asked = drawn(0.5)
    said = swaps.phrasings_of(asked[:, 1], np.random.default_rng(0))
    assert set(said) == {None, "a picture of this", "show this"}
    assert [text is None for text in said] == (asked[:, 1] < 0).tolist()


def test_the_same_seed_draws_the_same():
    assert (drawn(0.5)[1] == drawn(0.5)[1]).all() and (drawn(0.5)[1] != drawn(0.5, seed=1)[1]).any()
