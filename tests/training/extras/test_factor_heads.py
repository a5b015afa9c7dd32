"""Factors of queries and candidates, and the heads that classify them."""

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.errors import UserError
from genius.schema import Item, LabeledQuery, Modality
from training.extras.factor_heads import FactorHeads, Factors


class FakeCollection:
    """A collection of queries with factors."""

    root = "made"

    def __init__(self, *sources: str):
        self.asked = [LabeledQuery(f"1:{n}", Modality.TEXT, 0, "a", source=one) for n, one in enumerate(sources)]

    def rows(self) -> list[str]:
        return ["the only row"]

    def queries(self, split: str, row: str) -> list[LabeledQuery]:
        return self.asked if split == "train" else []


def source(**factors: object) -> str:
    return json.dumps(factors)


def test_queries_and_candidates_share_the_numbers_of_a_factor():
    collection = FakeCollection(source(kind="cat", count=1), source(kind="dog"))
    items = [Item("1:1", Modality.TEXT, "a", source=source(kind="dog", count=2))]
    factors = Factors(collection, items, [0, 0], {0})
    assert factors.sizes == {"kind": 2, "count": 2, "modality": Modality.TEXT + 1, "dataset": 1}
    assert factors.queries[:, :2].tolist() == [[0, 0], [1, -1]]
    assert factors.candidates[:, :2].tolist() == [[1, 1]]


def test_the_modality_and_dataset_of_a_query_are_those_of_its_target():
    collection = FakeCollection(source(kind="cat"), source(kind="dog"), source(kind="cat"))
    items = [Item(f"{dataset}:1", modality) for dataset, modality in zip((3, 5, 3), Modality, strict=True)]
    factors = Factors(collection, items, [2, 0, 1], {0})
    assert factors.queries[:, -2:].tolist() == [[Modality.PAIR, 0], [Modality.IMAGE, 0], [Modality.TEXT, 1]]
    assert factors.candidates[:, -2:].tolist() == [[Modality.IMAGE, 0], [Modality.TEXT, 1], [Modality.PAIR, 0]]


def test_a_query_with_a_swapped_instruction_keeps_its_factors():
    collection = FakeCollection(source(kind="cat"), source(kind="dog"))
    factors = Factors(collection, [Item("3:1", modality) for modality in Modality], [0, 1], {0})
    assert factors.with_target(np.array([1, 0, 1]), np.array([-1, Modality.PAIR, Modality.IMAGE])).tolist() == [
        [1, Modality.TEXT, 0],
        [0, Modality.PAIR, -1],
        [1, Modality.IMAGE, -1],
    ]
    assert factors.queries.tolist() == [[0, Modality.IMAGE, 0], [1, Modality.TEXT, 0]]


def test_a_collection_without_factors_is_refused():
    with pytest.raises(UserError, match="no factors"):
        Factors(FakeCollection("", "https://example.org"), [], [], {0})


def test_each_factor_has_its_cross_entropy():
    torch.manual_seed(0)
    heads, embedding = FactorHeads(4, [3, 2, 5]), F.normalize(torch.randn(6, 4), dim=-1)
    labels = torch.tensor([[0, 1, -1], [2, -1, -1], [1, 0, -1], [-1, 1, -1], [0, 0, -1], [2, -1, -1]])
    scores = (heads.linear.weight.double() @ (2 * embedding).double().T).T + heads.linear.bias.double()
    expected = []
    for column, part in ((0, scores[:, :3]), (1, scores[:, 3:5])):
        terms = [
            (row.exp().sum().log() - row[label]).item()
            for row, label in zip(part, labels[:, column], strict=True)
            if label >= 0
        ]
        expected.append(np.mean(terms))
    assert np.allclose(heads(embedding, labels).tolist(), [*expected, 0], rtol=1e-5)  # of the third nothing is known


def test_a_batch_without_labels_has_no_loss():
    assert FactorHeads(4, [3])(torch.randn(2, 4), torch.full((2, 1), -1)).tolist() == [0]
