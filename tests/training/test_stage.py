import pytest

from genius.errors import UserError
from genius.run import Run
from tests.training.tiny import TINY
from training.__main__ import train
from training.settings import Arguments
from training.stage import peak_memory


def test_published_weights_are_not_trained_anew(collection, tmp_path):
    Run(tmp_path).record(left_out={"clip_sf": {}})
    with pytest.raises(UserError, match="python -m training.features COLLECTION .* --preset paper"):
        train(Arguments(collection.root, tmp_path, "small", TINY, "cpu"))
    assert "stages" not in Run(tmp_path).manifest


def test_the_peak_of_memory_is_told_in_gigabytes():
    alone, with_workers = (peak_memory("cpu", workers) for workers in (0, 2))
    assert 0.05 < float(alone.split()[2]) < 64
    assert "opens images" in with_workers and "opens images" not in alone
