"""python -m genius.evaluation: arguments, files and messages."""

import json
import shutil

import pytest

from genius.errors import UserError
from genius.evaluation.__main__ import main
from genius.evaluation.arguments import parse_integers
from genius.evaluation.redraw import training_collection
from genius.evaluation.report import markdown


def test_the_tables_are_printed_and_written_next_to_their_json(run, tmp_path, capsys):
    copy = shutil.copytree(run, tmp_path / "copy")

    given = "--beams 5,2 --limit 2 --decoder-weight 0.5 --device cpu --decoder-dtype bfloat16"
    main([str(copy), *given.split()])

    report = json.loads((copy / "reports/retrieval.json").read_text())
    assert report["command"] == f"python -m genius.evaluation {copy} {given}"
    assert (report["run"], report["collection"], report["split"]) == ("copy", "collection", "test")
    assert (report["beams"], report["limit"], report["seed"]) == ([2, 5], 2, 0)
    assert (report["decoder_weight"], report["budget"], report["decoder_dtype"]) == (0.5, 200, "bfloat16")
    assert "a budget of 200 items, decoder in bfloat16" in markdown(report)
    assert (copy / "reports/retrieval.md").read_text() == markdown(report)
    assert capsys.readouterr().out.rstrip() == markdown(report).rstrip()
    assert sorted(file.name for file in (copy / "reports").iterdir()) == ["retrieval.json", "retrieval.md"]


def test_chosen_rows_are_searched_for_among_all_items(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    given = "--rows 0:shapes,titled --items all --beams 2 --limit 2 --device cpu"
    main([str(copy), *given.split()])

    report = json.loads((copy / "reports/retrieval.json").read_text())
    (pool,) = [pool for pool in report["pools"] if pool["scope"] == "global"]
    assert [(row["task"], row["dataset"]) for row in pool["rows"]] == [(0, "shapes"), (2, "titled")]
    assert pool["items"] == "all" and pool["rows"][0]["candidates"] == report["index"]["items"]


def test_a_wrong_collection_is_refused_and_writes_nothing(run, collection, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    other = shutil.copytree(collection.root, tmp_path / "other")
    for file in (other / "cand_pool").rglob("*.jsonl"):
        file.write_text(file.read_text().replace('"1:', '"2:'))

    with pytest.raises(UserError, match="holds items that the index does not"):
        main([str(copy), "--collection", str(other), "--device", "cpu"])

    assert not (copy / "reports").exists()


def test_a_missing_run_names_the_command_that_makes_one(tmp_path):
    with pytest.raises(UserError, match="nothing is not a run; train one with: python -m training"):
        main([str(tmp_path / "nothing")])


def test_a_run_whose_collection_is_gone_asks_for_its_name(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text())
    for gone in ({"collection": str(tmp_path / "gone")}, {}):
        manifest.pop("collection", None)
        (copy / "manifest.json").write_text(json.dumps(manifest | gone))

        with pytest.raises(UserError, match="name it: --collection DIR"):
            training_collection(copy)


def test_lists_of_integers_are_sorted_and_checked():
    assert parse_integers("10,1,5,10", "--beams", 1, 500) == (1, 5, 10)
    for text in ("ten", "", "0", "5,501", "5,-1"):
        with pytest.raises(UserError, match=f"--beams {text}: expected integers from 1 to 500, separated by commas"):
            parse_integers(text, "--beams", 1, 500)


def test_a_limit_below_one_is_refused(run):
    with pytest.raises(UserError, match="--limit 0: expected an integer of at least 1"):
        main([str(run), "--limit", "0"])


def test_a_decoder_weight_above_one_is_refused(run):
    with pytest.raises(UserError, match="decoder weight must be a number from 0 to 1, not 1.5"):
        main([str(run), "--decoder-weight", "1.5"])


def test_a_negative_seed_is_refused_before_anything_is_measured(run):
    with pytest.raises(UserError, match="--seed -1: expected an integer of at least 0"):
        main([str(run), "--seed", "-1"])
    for text in ("one", "1.5", ""):
        with pytest.raises(UserError, match=f"--limit {text}: expected an integer of at least 1"):
            main([str(run), "--limit", text])
