"""genius/models/kmeans.py: Lloyd's iterations against a slow reference, and against faiss."""

import numpy as np
import pytest
import torch

from genius.models import kmeans as module
from genius.models.kmeans import kmeans, lloyd


@pytest.fixture
def points():
    return torch.from_numpy(np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32))


def slow_lloyd(points: np.ndarray, centroids: np.ndarray, iterations: int) -> np.ndarray:
    for _ in range(iterations):
        nearest = [
            min(range(len(centroids)), key=lambda c: ((point - centroids[c]) ** 2).sum())
            for point in points
        ]
        centroids = np.stack(
            [points[np.array(nearest) == c].mean(0) for c in range(len(centroids))]
        )
    return centroids


def inertia(points: torch.Tensor, centroids: torch.Tensor) -> float:
    return float(torch.cdist(points.double(), centroids.double()).min(1).values.square().mean())


@pytest.mark.parametrize("block", [7, 1 << 16])
def test_each_iteration_moves_every_centroid_to_the_mean_of_its_points(points, monkeypatch, block):
    monkeypatch.setattr(module, "POINT_BLOCK", block)
    first = lloyd(points, 6, 0, seed=3).double().numpy()
    assert {tuple(row) for row in first} <= {tuple(row) for row in points.double().numpy()}
    expected = slow_lloyd(points.double().numpy(), first, 4)
    assert np.allclose(lloyd(points, 6, 4, seed=3), expected, atol=1e-5)


def test_an_empty_cluster_starts_again_and_equal_points_end_the_search():
    """Fewer different points than clusters: some are empty in every iteration."""
    few = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]).repeat(30, 1)
    found = lloyd(few, 5, 50, seed=0)
    assert found.shape == (5, 2) and inertia(few, found) == 0


@pytest.mark.parametrize("cluster", [kmeans, lloyd])
def test_a_sample_is_clustered_where_it_is_asked_for(points, cluster):
    assert (cluster(points, 1, 5, seed=0) - points.mean(0)).abs().max() < 1e-5
    assert (cluster(points, 1, 5, seed=0, sample=256) - points.mean(0)).abs().max() > 1e-3


@pytest.mark.parametrize("count", [2, 8])
def test_too_few_points_are_repeated_with_a_little_noise(points, count):
    found = kmeans(points[:count], 8, 10, seed=0)
    assert found.shape == (8, 5) and found[:count].equal(points[:count])
    assert inertia(found, points[:count]) < 1e-4
