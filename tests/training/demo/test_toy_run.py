"""The command that makes the run of the toy world, and the run that it made."""

import numpy as np
import pytest

from genius.collections.layout import TASKS
from genius.errors import UserError
from genius.examples import read_examples
from genius.index.store import Index
from genius.metrics.factor_agreement import factor_table, read_factors
from genius.reports import Report
from genius.run import EXTRAS, PARTS, Run, shipped_run
from genius.schema import Modality
from genius.ui.common.about import About
from tests.training.tiny import TINY, lay_out_by_principal_components
from training.demo.toy_run import PAGE, make
from training.demo.toy_world import FACTORS
from training.presets import TOY
from training.settings import with_values
from training.stage import recorded_settings

SHIPPED = Run(shipped_run("toy"))


def test_the_command_makes_a_run_with_examples_and_a_report(tmp_path, monkeypatch):
    lay_out_by_principal_components(monkeypatch)
    batches = {stage: {"batch": 32} for stage in ("encoder", "quantizer", "decoder")}
    settings = with_values(TINY, {**batches, "index": {"pool": "union_test", "thumbnail_side": 24}})
    (tmp_path / "kept").mkdir()
    with pytest.raises(UserError, match="is not a run"):
        make(tmp_path / "kept", tmp_path / "work", settings, "cpu", scenes=90)

    make(tmp_path / "toy", tmp_path / "work", settings, "cpu", scenes=90)

    run = Run(tmp_path / "toy")
    assert (
        all(run.has(part) == (part != "reader") for part in (*PARTS, *EXTRAS))
        and run.manifest["collection"] == "toy-world"
    )
    assert {example.title for example in read_examples(run.path)} == {
        example["title"] for example in PAGE["examples"]
    }
    assert Report.load(run.path / "reports" / "retrieval.json").tables
    assert (
        {0, 1, 2, 3, 4, 6, 7, 8}
        == set(TASKS)
        == {task for example in PAGE["examples"] for task in example["tasks"]}
    )


def test_the_shipped_run_is_small_and_was_trained_with_the_preset():
    files = [file for file in SHIPPED.path.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 4e6
    assert recorded_settings(SHIPPED) == TOY
    about = About.read(SHIPPED.path, SHIPPED.manifest)
    assert all(map(about.instructions_for, Modality))


def test_the_first_level_of_the_shipped_run_encodes_colour_and_shape():
    index = Index.load(SHIPPED.folder("index"))
    rows = np.arange(index.n)
    agreement = {
        row["factor"]: row["levels"]
        for row in factor_table(index.codes(rows), read_factors(index.items(rows)))
    }
    assert set(agreement) == {*FACTORS, "asked"}
    for factor, least in (("colour", 0.5), ("shape", 0.2)):
        assert agreement[factor][0]["alone"] > least
        assert max(abs(level["shuffled"]) for level in agreement[factor]) < 0.05
