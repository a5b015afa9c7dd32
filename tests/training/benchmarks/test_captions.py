import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.reports import Report
from genius.run import Run
from tests.collections.samples import write_source
from tests.search.tiny import tiny_encoder
from training.benchmarks.captions import first_ranks, main


@pytest.fixture
def run(tmp_path):
    """A run that has nothing but an encoder."""
    Run(tmp_path / "run").publish("encoder", tiny_encoder().save)
    return tmp_path / "run"


def test_both_directions_are_measured_with_and_without_an_instruction(run, tmp_path):
    records = [
        {"img_path": f"{n}.png", "captions": [f"one {n}", f"two {n}"], "split": "dev" if n < 7 else "train"}
        for n in range(9)
    ]
    main([str(run), str(write_source(tmp_path / "photos", records)), "--device", "cpu"])
    (table,) = Report.load(run / "reports" / "encoder_captions.json").tables
    assert [row[0] for row in table.rows] == ["caption → 7 images"] * 2 + ["image → 14 captions"] * 2
    assert [row[1] == "none" for row in table.rows] == [True, False, True, False]
    assert all(at_1 <= at_5 <= at_10 for *_, at_1, at_5, at_10 in table.rows)
    assert table.rows[0][-1] == 1  # of seven images


def test_a_split_without_captions_is_refused(run, tmp_path):
    source = write_source(tmp_path / "photos", [{"img_path": "a.png", "captions": ["a"], "split": "train"}])
    with pytest.raises(UserError, match="has no image of split test with captions"):
        main([str(run), str(source)])


def test_ranks_agree_with_sorting():
    torch.manual_seed(0)
    queries, candidates = torch.randn(6, 4), torch.randn(11, 4)
    relevant = np.random.default_rng(0).random((6, 11)) < 0.2
    relevant[:, 3] = True
    order = (queries @ candidates.T).argsort(descending=True).numpy()
    expected = [1 + next(place for place, row in enumerate(order[q]) if relevant[q, row]) for q in range(6)]
    assert first_ranks(queries, candidates, relevant).tolist() == expected
