import json
import re
import shutil

import numpy as np
import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.evaluation import growing
from genius.evaluation.encoded_queries import EncodedSplit
from genius.evaluation.growing import main, markdown, measure, split_by_target
from genius.evaluation.queries import training_targets
from genius.run import Run
from genius.search.engine import Engine
from tests.search.test_rerank import drawn_ranker


@pytest.fixture(scope="module")
def report(engine, collection):
    return measure(engine, collection, fractions=(20, 50), beams=7)


def test_a_grown_collection_holds_all_present_items_and_the_fraction_of_added_ones(engine, collection, report):
    present = int(training_targets(collection, engine.index).sum())
    for grown in report["collections"]:
        assert grown["items"] == present + grown["added"]
        assert grown["added"] / grown["items"] == pytest.approx(grown["fraction"] / 100, abs=0.02)
    assert [grown["fraction"] for grown in report["collections"]] == [0, 20, 50]
    assert "added" not in report["collections"][0]["groups"]
    asked = [grown["groups"]["added"]["queries"] for grown in report["collections"][1:]]
    assert 0 < asked[0] < asked[1]
    assert {grown["groups"]["present"]["queries"] for grown in report["collections"]} == {1}  # 0:7 asks for 0:0


def test_with_too_few_items_to_add_the_collection_holds_fewer_present_ones(engine, collection):
    target = training_targets(collection, engine.index)
    grown = measure(engine, collection, fractions=(90,), beams=7, limit=1)["collections"][1]
    assert grown["added"] == (~target).sum()
    assert grown["items"] - grown["added"] == round(grown["added"] / 9) < target.sum()


def test_a_query_with_positives_of_both_kinds_is_in_neither_group(engine, collection):
    queries, target = EncodedSplit.read(engine, collection, "test", None, 0), training_targets(collection, engine.index)
    groups = split_by_target(queries, target)
    assert len(queries.positives) == len(queries.encoded.z) == len(queries.cuts) == 12
    assert {group: len(numbers) for group, numbers in groups.items()} == {"present": 1, "added": 10}
    for group, numbers in groups.items():
        assert all(target[queries.positives[number]].all() == (group == "present") for number in numbers)


def test_a_query_without_positives_in_the_index_is_in_neither_group(engine, collection, tmp_path):
    other = Collection(shutil.copytree(collection.root, tmp_path / "other"))
    file = other.root / "qrels/test/mbeir_shapes_task0_test_qrels.txt"
    file.write_text(file.read_text().replace("0:0 1 0", "0:99 1 0"))

    queries = EncodedSplit.read(engine, other, "test", None, 0)

    groups = split_by_target(queries, training_targets(other, engine.index))
    assert {group: len(numbers) for group, numbers in groups.items()} == {"present": 0, "added": 10}


def test_dense_hits_agree_with_sorting_all_cosines(engine, collection, report):
    queries, target = EncodedSplit.read(engine, collection, "test", None, 0), training_targets(collection, engine.index)
    everything = np.arange(engine.index.n)
    grown = growing._hit_rates(engine, queries, everything, target, 7, seed=0)
    cosines = queries.encoded.embeddings.numpy() @ engine.index.embeddings.astype(np.float32).T
    for group, numbers in split_by_target(queries, target).items():
        hits = [
            bool(set(np.argsort(-cosines[number])[:5]) & set(queries.positives[number].tolist())) for number in numbers
        ]
        assert grown[group]["queries"] == len(numbers)
        assert grown[group]["systems"]["dense"]["hit"] == pytest.approx(np.mean(hits))


def test_the_command_writes_what_it_prints(run, tmp_path, capsys):
    run = shutil.copytree(run, tmp_path / "run")  # other tests read its reports
    main([str(run), "--fractions", "30", "--beams", "5", "--device", "cpu"])
    written = json.loads((run / "reports" / "growing.json").read_text())
    assert [grown["fraction"] for grown in written["collections"]] == [0, 30]
    assert (page := (run / "reports" / "growing.md").read_text()) in capsys.readouterr().out
    assert re.search(r"\| +30 % \|", page) and "--fractions 30" in page


def test_a_ranker_is_a_column_of_its_own_and_what_is_compared_with_dense(run, collection, tmp_path):
    copied = Run(shutil.copytree(run, tmp_path / "run"))
    copied.publish("ranker", drawn_ranker().save, ("encoder", "fusion", "quantizer", "decoder"))

    ranked = measure(Engine.load(copied.path, "cpu"), collection, fractions=(30,), beams=5)

    page = markdown(ranked | {"command": "x", "own_queries": False})
    assert re.search(r"beam \+ re-rank \| +fast \+ ranker \| +of dense", page)
    rates = ranked["collections"][1]["groups"]["added"]["systems"]
    if rates["dense"]["hit"]:
        assert f"{rates['fast + ranker']['hit'] / rates['dense']['hit']:.2f} |" in page


def test_the_report_says_whether_the_decoder_learned_the_added_items(run, tmp_path, capsys):
    run = shutil.copytree(run, tmp_path / "run")
    for own_queries in (True, False):
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["settings"] = {"decoder": {"self_queries": own_queries}}
        (run / "manifest.json").write_text(json.dumps(manifest))
        main([str(run), "--fractions", "30", "--beams", "5", "--limit", "1", "--device", "cpu"])
        assert ("learned every candidate as its own query" in capsys.readouterr().out) == own_queries


def test_a_comparison_needs_items_of_both_kinds(engine, collection, monkeypatch):
    monkeypatch.setattr(growing, "training_targets", lambda _, index: np.ones(index.n, dtype=bool))
    with pytest.raises(UserError, match="positives of training queries"):
        measure(engine, collection)
