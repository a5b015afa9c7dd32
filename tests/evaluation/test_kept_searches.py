"""genius/evaluation/kept_searches.py: an evaluation that was stopped is resumed."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import genius.evaluation.evaluate as evaluation
from genius.evaluation.__main__ import SEARCHES, main
from genius.evaluation.evaluate import EvaluationOptions, evaluate
from genius.evaluation.kept_searches import KeptSearches, read_results, save_results
from genius.evaluation.systems import BeamStatistics, RowResults
from tests.evaluation.test_evaluate import without_times

OPTIONS = EvaluationOptions(beams=(2, 5))


@pytest.fixture
def searches(monkeypatch):
    """The number of searches that were made, after which one fails if a limit is set."""

    class Searches:
        made, limit = 0, None

    search = evaluation.search_all_systems

    def counted(*given):
        if Searches.made == Searches.limit:
            raise KeyboardInterrupt
        Searches.made += 1
        return search(*given)

    monkeypatch.setattr(evaluation, "search_all_systems", counted)
    return Searches


def test_what_is_read_is_what_was_kept(tmp_path):
    statistics = BeamStatistics(np.array([True]), np.array([3]), np.array([1]), np.array([7]), None)
    certified = BeamStatistics(np.array([False]), np.array([2]), np.array([0]), np.array([9]), np.array([True]))
    kept = {
        2: RowResults({"dense": np.array([4])}, {"dense": {"scan": 0.5}}),
        50: RowResults({"beam": np.array([1])}, {"beam": {"beam": 2.0}}, {"beam": statistics, "exact": certified}),
    }
    save_results(tmp_path / "kept.safetensors", kept)
    assert repr(read_results(tmp_path / "kept.safetensors")) == repr(kept)


def test_a_stopped_evaluation_searches_only_what_is_missing_and_reports_the_same(
    engine, collection, tmp_path, searches
):
    whole = evaluate(engine, collection, OPTIONS)
    every, searches.made, searches.limit = searches.made, 0, 2
    with pytest.raises(KeyboardInterrupt):
        evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path / "kept", "facts"))
    searches.limit = None
    report = evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path / "kept", "facts"))
    assert searches.made == every and without_times(report) == without_times(whole)
    evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path / "kept", "facts"))
    assert searches.made == every


@pytest.mark.parametrize(
    "facts, options", [("other", {}), ("facts", {"seed": 7, "limit": 2}), ("facts", {"beams": (2, 6)})]
)
def test_results_of_another_run_or_of_other_queries_or_options_are_not_used(
    engine, collection, tmp_path, searches, facts, options
):
    evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path, "facts"))
    asked = EvaluationOptions(**{"beams": (2, 5)} | options)
    searches.made = 0
    whole = evaluate(engine, collection, asked)
    every, searches.made = searches.made, 0
    found = evaluate(engine, collection, asked, KeptSearches(tmp_path, facts))
    assert searches.made == every and without_times(found) == without_times(whole)


def test_an_evaluation_of_some_rows_and_pools_leaves_its_results_to_that_of_all(engine, collection, tmp_path, searches):
    options = replace(OPTIONS, beams=(5,))
    whole = evaluate(engine, collection, options)
    every, searches.made = searches.made, 0
    some = replace(options, rows=("3:shapes",), items="all")
    part = evaluate(engine, collection, some, KeptSearches(tmp_path, "facts"))
    assert [pool["items"] for pool in part["pools"]] == ["all", "all"]
    assert 0 < searches.made < every
    report = evaluate(engine, collection, options, KeptSearches(tmp_path, "facts"))
    assert searches.made == every and without_times(report) == without_times(whole)


def test_a_damaged_file_is_searched_for_again(engine, collection, tmp_path, searches):
    whole = evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path, "facts"))
    damaged, cut, *_ = sorted(tmp_path.glob("*.safetensors"))
    damaged.write_bytes(b"no tensors")
    cut.write_bytes(cut.read_bytes()[:-30])
    searches.made = 0
    found = evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path, "facts"))
    assert searches.made == 2 and without_times(found) == without_times(whole)


def test_a_folder_that_cannot_be_written_keeps_nothing(engine, collection, tmp_path):
    (tmp_path / "file").touch()
    assert evaluate(engine, collection, OPTIONS, KeptSearches(tmp_path / "file", "facts"))["pools"]


def test_the_command_goes_on_where_it_was_stopped_and_leaves_only_its_report(run, tmp_path, searches):
    copy = shutil.copytree(run, tmp_path / "copy")
    searches.limit = 3
    with pytest.raises(KeyboardInterrupt):
        main([str(copy), "--beams", "2"])
    assert len([*(copy / "reports" / SEARCHES).glob("*.safetensors")]) == 3
    searches.made, searches.limit = 0, None
    main([str(copy), "--beams", "2"])
    resumed, searches.made = searches.made, 0
    assert sorted(file.name for file in (copy / "reports").iterdir()) == ["retrieval.json", "retrieval.md"]
    main([str(copy), "--beams", "2"])
    assert searches.made == resumed + 3
