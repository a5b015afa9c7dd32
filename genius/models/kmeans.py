"""k-means: by faiss on the CPU and, for points that lie on a GPU, by Lloyd's iterations there.

The published start of the codebooks is 1,000 iterations at each of 8 levels, of 16,000 points and
4,096 centroids of 768 numbers. On 16 cores beside an H200, faiss had not done 100 of them at each
level after a minute.

Shapes: n points, k centroids, d dim.
"""

import faiss
import numpy as np
import torch
from torch import Tensor

POINT_BLOCK = 1 << 16  # points whose distances to all centroids are in memory at once


def kmeans(points: Tensor, k: int, iterations: int, seed: int, sample: int = 0) -> Tensor:
    """Points (n, d) -> centroids (k, d). With fewer points than k, points repeat with a little
    noise.

    sample: at most so many points for each centroid, drawn at random, are clustered; 0: all points.
    """
    if len(points) <= k:
        rng = np.random.default_rng(seed)
        repeated = points[
            torch.from_numpy(rng.integers(len(points), size=k - len(points))).to(points.device)
        ]
        noise = torch.from_numpy(rng.normal(0, 1e-3, repeated.shape)).to(repeated)
        return torch.cat([points, repeated + noise])
    if points.device.type != "cpu":
        return lloyd(points, k, iterations, seed, sample)
    vectors = np.ascontiguousarray(points.numpy(), dtype=np.float32)
    clustering = faiss.Kmeans(
        vectors.shape[1],
        k,
        niter=iterations,
        seed=seed,
        min_points_per_centroid=1,
        max_points_per_centroid=sample or len(vectors),
    )
    clustering.train(vectors)
    return torch.as_tensor(clustering.centroids, dtype=points.dtype)


def lloyd(points: Tensor, k: int, iterations: int, seed: int, sample: int = 0) -> Tensor:
    """`kmeans` on the device of the points (n, d), more than k: centroids (k, d); stops when no
    point changes its cluster.

    It begins with random points; so does an empty cluster again.
    """
    random = torch.Generator().manual_seed(seed)

    def draw(count: int) -> Tensor:
        return points[torch.randperm(len(points), generator=random)[:count].to(points.device)]

    if sample:
        points = draw(sample * k)
    centroids = draw(k)
    before = None
    for _ in range(iterations):
        nearest = nearest_centroids(points, centroids)
        sizes = torch.bincount(nearest, minlength=k)
        sums = torch.zeros_like(centroids).index_add_(0, nearest, points)
        centroids = sums / sizes.clamp(min=1)[:, None]
        empty = (sizes == 0).nonzero()[:, 0]
        if len(empty):
            centroids[empty] = draw(len(empty))
        elif before is not None and torch.equal(nearest, before):
            break
        before = nearest
    return centroids


def nearest_centroids(points: Tensor, centroids: Tensor) -> Tensor:
    """Points (n, d), centroids (k, d) -> (n,) the number of the centroid nearest to each point."""
    norms = centroids.square().sum(-1)
    return torch.cat(
        [(norms - 2 * part @ centroids.T).argmin(-1) for part in points.split(POINT_BLOCK)]
    )
