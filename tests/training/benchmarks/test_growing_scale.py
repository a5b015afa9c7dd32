import pytest

from genius.errors import UserError
from training.benchmarks.growing_scale import LEAST, grow


@pytest.mark.parametrize("items", [LEAST, pytest.param(100_000, marks=pytest.mark.slow)])
def test_an_index_grows_and_shrinks(tmp_path, items):
    grow(tmp_path / "run", items)


def test_too_few_items_are_refused(tmp_path):
    with pytest.raises(UserError, match="give 1,000 or more"):
        grow(tmp_path / "run", 10)
