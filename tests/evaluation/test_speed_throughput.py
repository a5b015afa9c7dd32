"""genius/evaluation/speed/throughput.py: the paper's Figure 4."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from genius.errors import UserError
from genius.evaluation.speed import throughput
from genius.evaluation.speed.throughput import CLIP, FAST, GENIUS, NUMERIC, STRUCTURED
from genius.evaluation.speed.workloads import realistic
from genius.schema import Modality

SYSTEMS = [CLIP, GENIUS, FAST, STRUCTURED, NUMERIC]


@pytest.mark.parametrize(("n", "levels"), [(2, 1), (30, 1), (31, 2), (900, 2), (901, 3), (30_000, 4)])
def test_structured_ids_are_distinct_and_as_short_as_a_full_tree_allows(n, levels):
    codes, sizes = throughput.structured_ids(n)
    assert codes.shape == (n, levels) and sizes == (30,) * levels
    assert len(np.unique(codes, axis=0)) == n
    assert (codes.max(0) < sizes).all() and (codes.min(0) >= 0).all()


def test_numeric_ids_are_the_digits_of_the_numbers():
    codes, sizes = throughput.numeric_ids(1_234)
    assert sizes == (10,) * 4
    assert (codes @ [1000, 100, 10, 1] == np.arange(1_234)).all()


def test_queries_ask_for_images_with_texts_of_the_run(engine):
    texts = throughput.texts_of(engine, seed=0)
    own = {item.text.lower() for item in engine.index.items(range(engine.index.n)) if item.text}
    assert all(any(text.lower().endswith(name) for name in own) for text in texts)
    silent = SimpleNamespace(index=SimpleNamespace(modalities=np.zeros(3), items=engine.index.items, instructions=[]))
    with pytest.raises(UserError, match="no item of the run has a text"):
        throughput.texts_of(silent, seed=0)


def test_candidates_are_ids_of_images_alone(engine):
    images = np.flatnonzero(engine.index.modalities == Modality.IMAGE)
    queries = SimpleNamespace(z=np.zeros(1))
    workload = realistic(len(images), engine, queries, 0, images)
    whole = realistic(engine.index.n, engine, queries, 0)
    assert len(workload.packed) == len(images) < len(whole.packed)
    assert {row.tobytes() for row in workload.packed} <= {row.tobytes() for row in whole.packed}


def test_every_system_is_timed_at_every_size_and_the_report_is_written(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    throughput.main(
        [str(copy), "--items", "40,100", "--batch", "2", "--beams", "3", "--rounds", "2", "--device", "cpu"]
    )

    report = json.loads((copy / "reports" / "throughput.json").read_text())
    assert [(cell["system"], cell["items"]) for cell in report["cells"]] == [
        (system, items) for items in (40, 100) for system in SYSTEMS
    ]
    assert all(cell["least"] <= cell["per_second"] <= cell["most"] for cell in report["cells"])
    assert all((cell["levels"] == 0) == (cell["system"] == CLIP) for cell in report["cells"])
    text = (copy / "reports" / "throughput.md").read_text()
    assert all(system in text for system in SYSTEMS)


def test_a_size_or_batch_that_is_none_is_refused(run):
    with pytest.raises(UserError, match="--items 1: expected integers from 2"):
        throughput.main([str(run), "--items", "1"])
    with pytest.raises(UserError, match="--batch 0: expected an integer of at least 1"):
        throughput.main([str(run), "--batch", "0"])
