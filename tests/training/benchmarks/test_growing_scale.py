import pytest

from training.benchmarks.growing_scale import grow


@pytest.mark.slow
def test_a_large_index_grows_and_shrinks(tmp_path):
    grow(tmp_path / "run", 100_000)
