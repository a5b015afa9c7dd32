"""Queries with the instruction of another row, and the classifier of the modality that is asked
for.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from genius.schema import Modality
from tests.training.tiny import TINY
from training.data.encoder_inputs import OWN_INSTRUCTION, InstructionSwaps
from training.data.pairs import CandidateTable, Pairs

PHRASINGS = {
    (1, Modality.TEXT, Modality.IMAGE): ["a picture of this", "show this"],
    (2, Modality.TEXT, Modality.TEXT): ["say it otherwise"],
    (2, Modality.IMAGE, Modality.TEXT): ["say what is seen"],
}
COLLECTION = SimpleNamespace(instructions=lambda: PHRASINGS)
CANDIDATES = CandidateTable(
    np.arange(3), np.array([Modality.TEXT, Modality.IMAGE, Modality.TEXT], dtype=np.uint8)
)
PAIRS = Pairs(  # two text queries, for an image and a text, and an image query for a text
    ["a cat", "a dog", ""],
    [None, None, "cat.png"],
    [["find it"]] * 3,
    np.zeros(3),
    ["shapes"],
    [0],
    np.arange(4),
    np.array([1, 0, 2]),
)


def swaps_of(probability: float) -> InstructionSwaps:
    torch.manual_seed(0)
    settings = replace(TINY.encoder, modality_weight=0.5, instruction_swap_prob=probability)
    return InstructionSwaps(COLLECTION, PAIRS, CANDIDATES, settings, dim=4)


def drawn(probability: float, seed: int = 0) -> np.ndarray:
    """Many draws for the three queries."""
    queries = np.tile([0, 1, 2], 1000)
    positives = PAIRS.positives[PAIRS.offsets[queries]]
    return (
        swaps_of(probability).draw(queries, positives, np.random.default_rng(seed)).reshape(1000, 3)
    )


def test_a_swapped_instruction_fits_the_query_and_asks_for_another_modality():
    keys = swaps_of(0.5).keys
    numbers = drawn(0.9999)
    assert (keys[numbers[:, 0]] == (2, Modality.TEXT, Modality.TEXT)).all(1).mean() > 0.99
    assert (keys[numbers[:, 1]] == (1, Modality.TEXT, Modality.IMAGE)).all(1).mean() > 0.99
    # no instruction asks an image query for anything but text
    assert (numbers[:, 2] == OWN_INSTRUCTION).all()


def test_instructions_are_swapped_with_the_probability():
    assert (drawn(0.3)[:, :2] != OWN_INSTRUCTION).mean() == pytest.approx(0.3, abs=0.03)
    assert (drawn(0.0) == OWN_INSTRUCTION).all()


def test_each_drawn_instruction_gets_one_of_its_phrasings():
    numbers = drawn(0.5)[:, 1]
    said = swaps_of(0.5).replaced(["its own"] * 1000, numbers, np.random.default_rng(0))
    assert set(said) == {"its own", "a picture of this", "show this"}
    assert [text == "its own" for text in said] == (numbers == OWN_INSTRUCTION).tolist()


def test_the_loss_is_the_cross_entropy_of_the_modality_that_is_asked_for():
    swaps = swaps_of(0.5)
    query, target = torch.randn(2, 2, 4).unbind()
    queries = SimpleNamespace(rows=np.array([0, 1]), instruction=np.array([OWN_INSTRUCTION, 0]))
    targets = SimpleNamespace(rows=np.array([1, 2]), instruction=np.array([OWN_INSTRUCTION] * 2))
    assert swaps.keys[0].tolist() == [1, Modality.TEXT, Modality.IMAGE]
    labels = [Modality.IMAGE, Modality.IMAGE, Modality.IMAGE, Modality.TEXT]
    terms = []
    for embedding, label in zip([*query, *target], labels, strict=True):
        scores = swaps.classifier.weight @ (2 * embedding) + swaps.classifier.bias
        terms.append(-scores.log_softmax(0)[label].item())
    assert swaps.loss(queries, targets, query, target).item() == pytest.approx(
        0.5 * np.mean(terms), rel=1e-5
    )
