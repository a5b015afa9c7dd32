"""Every stage on a GPU; skipped where there is none."""

import pytest
import torch

from genius.run import PARTS, Run
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.training.tiny import TINY
from training import __main__ as pipeline
from training import ranker
from training.command_line import Arguments


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_every_stage_trains_on_a_gpu_and_the_run_answers_there_and_on_a_cpu(collection, tmp_path, monkeypatch):
    pipeline.train(Arguments(collection.root, tmp_path, "small", TINY, "cuda"))
    monkeypatch.setattr(ranker, "MIN_QUERIES", 1)
    ranker.train(collection.root, tmp_path, "cuda")
    run = Run(tmp_path)
    assert all(run.is_current(part) for part in (*PARTS, "ranker"))
    for device in ("cuda", "cpu"):
        query = Query(text="a red boat", instruction="Find the picture.")
        (result,) = Engine.load(tmp_path, device).search([query], SearchOptions(beams=5, k=3))
        assert len(result.hits) == 3
