import pytest

from training.benchmarks.million import SMAPS, pipeline


@pytest.mark.slow
@pytest.mark.skipif(not SMAPS.exists(), reason="memory is measured on Linux")
@pytest.mark.timeout(3600)
def test_a_large_collection_is_indexed_through_kills_and_served(tmp_path):
    """40,000 candidates in ten shards take minutes; the command measures a million."""
    costs = pipeline(tmp_path, 12_600)
    assert max(cost.gigabytes for cost in costs.values()) < 3
