"""measure_codes in genius/evaluation/evaluate.py with an index whose items carry factors."""

import json

import numpy as np
import pytest

from genius.evaluation import evaluate as module
from genius.evaluation.evaluate import measure_codes
from genius.schema import Item, Modality
from genius.trie.ids import pack
from genius.trie.pool import Pool

N, CODE_SIZES = 90, (3, 4, 5)
KINDS = ["cat", "dog", "boat", "drum"]


class Indexed:
    """Level 1 is the kind; every second item shares its ID with the one before."""

    n, code_sizes = N, CODE_SIZES
    modalities = np.zeros(N, dtype=np.uint8)

    def codes(self, rows):
        rows = np.asarray(rows)
        return np.stack([rows * 0, rows // 2 % 4, rows // 2 % 5], axis=1)

    def pool(self):
        return Pool.build(pack(self.codes(range(N)), CODE_SIZES), CODE_SIZES, np.arange(N), "cpu")

    def items(self, rows):
        return [
            Item(
                f"0:{row}",
                Modality.IMAGE,
                image="a.png",
                source=json.dumps({"kind": KINDS[row // 2 % 4]} if row >= 10 else {}),
            )
            for row in rows
        ]


def test_code_use_covers_all_items_and_factors_cover_the_candidates():
    found = measure_codes(Indexed(), np.arange(0, 60), seed=0)

    assert found["health"]["items"] == N and found["health"]["items_alone"] == 0
    (kind,) = found["factors"]
    assert (kind["factor"], kind["items"], kind["values"]) == ("kind", 50, 4)
    assert kind["levels"][0]["alone"] == pytest.approx(1.0)


def test_factors_of_many_candidates_are_read_from_a_sample(monkeypatch):
    monkeypatch.setattr(module, "MAX_FACTOR_ITEMS", 40)

    one, again, other = (measure_codes(Indexed(), np.arange(10, N), seed)["factors"] for seed in (0, 0, 1))

    assert one == again != other
    assert one[0]["items"] == 40
