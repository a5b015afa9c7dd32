"""genius/evaluation/fused_items.py on the micro collection."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.collections.images import open_image
from genius.encoding.features import FeatureFiles
from genius.evaluation.encoded_queries import EncodedRow
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.fused_items import encoded_features, fused_items, trained_features
from genius.evaluation.queries import read_queries
from genius.metrics.hit_rate import MISS


@pytest.fixture(scope="module")
def by_hand(engine, collection) -> np.ndarray:
    items = engine.index.items(range(engine.index.n))
    images = [open_image(collection.image_path(item.image)) if item.image else None for item in items]
    with torch.no_grad():
        return engine.fusion(engine.encoder.encode(images, [item.text for item in items])).numpy()


@pytest.fixture(scope="module")
def left_by_training(engine, collection, tmp_path_factory):
    """A folder of features as training leaves it: of all candidates in the order of the collection."""
    folder = tmp_path_factory.mktemp("features") / "candidates"
    inputs = [(item.image, [item.text]) for item in collection.all_candidates()]
    files = FeatureFiles.create(folder, len(inputs), 1, engine.encoder.dim, "source")
    files.fill(engine.encoder, inputs, lambda path: open_image(collection.image_path(path)), 16, "encode")
    files.fuse(engine.fusion, "digest")
    return folder


def test_features_encoded_again_are_those_of_the_items_by_row(engine, collection, by_hand, tmp_path):
    assert np.abs(encoded_features(engine, collection, tmp_path) - by_hand).max() < 2e-3  # kept as fp16


def test_features_of_training_are_read_by_row_of_the_index(engine, collection, by_hand, left_by_training):
    found, rows = trained_features(engine, collection, left_by_training), np.array([7, 0, engine.index.n - 1])

    assert np.abs(found[rows] - by_hand[rows]).max() < 2e-3


def test_features_of_other_items_are_refused(engine, collection, left_by_training, tmp_path):
    folder = tmp_path / "candidates"
    shutil.copytree(left_by_training, folder)
    shuffled = np.load(folder / "fused.npy")[::-1]
    np.save(folder / "fused.npy", shuffled)

    assert trained_features(engine, collection, folder) is None
    assert trained_features(engine, collection, tmp_path / "nowhere") is None
    assert fused_items(engine, collection, encode=False, scratch=tmp_path) is None


def test_fused_search_agrees_with_sorting_all_cosines(engine, collection, by_hand):
    report = evaluate(engine, collection, EvaluationOptions(beams=(3,), fused=True))

    queries = read_queries(collection, engine.index, "test", limit=None, seed=0, phrasing="seeded")[0]
    z = EncodedRow.encode(engine, queries.opened(collection, 9)).z.numpy()
    hits = 0
    for number, order in enumerate(np.argsort(-z @ by_hand.T, axis=1)):
        positives = queries.qrels.rows[queries.qrels.offsets[number] : queries.qrels.offsets[number + 1]]
        hits += next((rank for rank, row in enumerate(order, 1) if row in positives), MISS) <= 5
    row = report["pools"][0]["rows"][0]
    assert row["systems"]["fused"]["headline"] == hits / len(queries)
    assert set(row["milliseconds"]["fused"]) == {"encode", "fuse", "scan"}
    plain = evaluate(engine, collection, replace(EvaluationOptions(beams=(3,)), limit=2))
    assert "fused" not in plain["pools"][0]["rows"][0]["systems"]
