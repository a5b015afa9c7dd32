"""genius/evaluation/untrained_baseline.py on the micro collection."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.collections.images import open_image
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.queries import read_queries
from genius.evaluation.untrained_baseline import UntrainedBaseline
from genius.models.encoder import Encoder


@pytest.fixture(scope="module")
def sets(collection, engine):
    return read_queries(collection, engine.index, "test", limit=2, seed=0, phrasing="first")


def test_embeddings_are_those_of_a_fresh_encoder_with_this_seed(collection, engine, sets, tmp_path):
    baseline = UntrainedBaseline.build(engine, collection, sets, seed=7, folder=tmp_path)

    torch.manual_seed(7)
    fresh = Encoder(engine.encoder.config).eval()
    items = engine.index.items(range(engine.index.n))
    images = [open_image(collection.image_path(item.image)) if item.image else None for item in items]
    expected = fresh.encode(images, [item.text for item in items]).embedding().numpy()
    assert np.abs(baseline.items - expected).max() < 2e-3  # kept as fp16
    assert [queries.shape for queries in baseline.queries] == [(2, fresh.dim)] * 3


def test_the_seed_decides_and_the_callers_random_state_does_not_change(collection, engine, sets, tmp_path):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)

    seven, eight = (UntrainedBaseline.build(engine, collection, sets, seed, tmp_path / str(seed)) for seed in (7, 8))

    assert torch.equal(torch.rand(3), expected)
    assert not np.allclose(seven.items, eight.items, atol=0.05)


def test_it_is_a_system_of_its_own_in_every_pool(collection, engine):
    options = EvaluationOptions(beams=(3,), limit=2)
    plain, controlled = (
        evaluate(engine, collection, replace(options, untrained=untrained)) for untrained in (False, True)
    )

    for pool, without in zip(controlled["pools"], plain["pools"], strict=True):
        assert set(pool["average"]["systems"]) - set(without["average"]["systems"]) == {"untrained"}
        assert [row["systems"]["dense"]["hit"] for row in pool["rows"]] == [
            row["systems"]["dense"]["hit"] for row in without["rows"]
        ]
