import pytest

from tests.search.tiny import publish_tiny_run


@pytest.fixture(scope="session")
def cluster():
    """A cluster on this machine."""
    pytest.importorskip(
        "ray", reason="ray is not installed: pip install 'genius-explorer[cluster]'"
    )
    import ray

    from genius.cluster.serving import join_cluster

    join_cluster(None)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.fixture
def run(tmp_path):
    return publish_tiny_run(tmp_path / "run", n=40, fused=True).path
