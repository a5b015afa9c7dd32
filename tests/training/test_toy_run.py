"""The command that makes the run of the toy world."""

from dataclasses import replace

import pytest

from genius.collections.layout import TASKS
from genius.errors import UserError
from genius.examples import read_examples
from genius.reports import Report
from genius.run import EXTRAS, PARTS, Run
from tests.training.tiny import TINY, lay_out_by_principal_components
from training.settings import IndexSettings
from training.toy_run import EXAMPLES, make


def test_the_command_makes_a_run_with_examples_and_a_report(tmp_path, monkeypatch):
    lay_out_by_principal_components(monkeypatch)
    settings = replace(TINY, index=IndexSettings(pool="union_test", thumbnail_side=24))
    (tmp_path / "kept").mkdir()
    with pytest.raises(UserError, match="is not a run"):
        make(tmp_path / "kept", tmp_path / "work", settings, "cpu", scenes=50)

    make(tmp_path / "toy", tmp_path / "work", settings, "cpu", scenes=50)

    run = Run(tmp_path / "toy")
    assert all(map(run.has, (*PARTS, *EXTRAS))) and run.manifest["collection"] == "toy-world"
    assert {example.title for example in read_examples(run.path)} == {title for title, *_ in EXAMPLES}
    assert Report.load(run.path / "reports" / "retrieval.json").tables
    assert {0, 1, 2, 3, 4, 6, 7, 8} == set(TASKS) == {task for *_, tasks in EXAMPLES for task in tasks}
