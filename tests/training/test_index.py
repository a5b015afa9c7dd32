"""What training writes beside the items: whether a picture is like the indexed ones."""

from dataclasses import replace

import numpy as np
import pytest

from genius.artifacts import Run
from genius.search import familiar
from genius.search.engine import Engine
from genius.search.familiar import Familiarity
from tests.training.tiny import TINY
from training import __main__ as pipeline
from training import index
from training.index import pictures
from training.settings import Arguments, IndexSettings
from training.stage import run_stage


@pytest.fixture(scope="module")
def trained(collection, tmp_path_factory) -> Arguments:
    path = tmp_path_factory.mktemp("index") / "run"
    arguments = Arguments(collection.root, path, "small", TINY, "cpu")
    pipeline.train(arguments)
    return arguments


def test_a_collection_of_few_pictures_gets_no_distances(trained):
    assert Engine.load(trained.run, "cpu").familiarity is None


@pytest.mark.parametrize("pool", ["", "union_test"])
def test_distances_are_fitted_to_the_pictures_of_the_index_and_of_validation_queries(
        pool, trained, collection, monkeypatch):
    fitted = []

    def spy(indexed: np.ndarray, asked: np.ndarray) -> Familiarity:
        fitted.append((len(indexed), len(asked)))
        return fit(indexed, asked)

    fit = Familiarity.fit
    monkeypatch.setattr(familiar, "FEWEST", 2)
    monkeypatch.setattr(Familiarity, "fit", spy)
    run_stage("index", index.train, replace(trained, settings=replace(TINY, index=IndexSettings(pool))))

    items = collection.candidates(pool) if pool else collection.all_candidates()
    assert fitted == [(sum(item.image is not None for item in items),
                       sum(query.image is not None for query in collection.queries("val")))]
    assert familiar.FILE in Run(trained.run).manifest["parts"]["index"]["files"]
    assert Engine.load(trained.run, "cpu").familiarity.threshold > 0


def test_a_large_index_is_sampled_evenly(monkeypatch):
    class Files:
        masks = np.arange(100)[:, None] % [3, 1] == 1      # every third has a picture
        image = np.arange(100)[:, None] * np.ones(4)

    monkeypatch.setattr(index, "SAMPLE", 10)
    assert pictures(Files, np.arange(40, 100))[:, 0].tolist() == list(range(40, 100, 6))
