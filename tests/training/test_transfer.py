"""A run that searches another collection with the parts of a trained one."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from genius.collections.mbeir import Collection
from genius.errors import UserError
from genius.run import Run
from genius.search.engine import Engine
from tests.training.tiny import TINY
from training import __main__ as pipeline
from training import transfer as module
from training.command_line import Arguments
from training.transfer import main, transfer


@pytest.fixture(scope="module")
def tiny_run(collection, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "run"
    pipeline.train(
        Arguments(collection.root, path, "small", replace(TINY, encoder=replace(TINY.encoder, epochs=1)), "cpu")
    )
    return path


@pytest.fixture(scope="module")
def other(collection, tmp_path_factory) -> Collection:
    """The micro collection with other ids, without queries of training and validation."""
    root = shutil.copytree(collection.root, tmp_path_factory.mktemp("elsewhere") / "elsewhere")
    for folder in ("query", "qrels"):
        for split in ("train", "val"):
            shutil.rmtree(root / folder / split)
    return Collection(root)


@pytest.fixture(scope="module")
def made(tiny_run, other, tmp_path_factory):
    path = tmp_path_factory.mktemp("transferred") / "new"
    main([str(tiny_run), str(other.root), str(path), "--beams", "5", "--device", "cpu"])
    return path


def test_the_parts_are_those_of_the_run_and_the_index_is_of_the_collection(tiny_run, made, other):
    source, run = Run(tiny_run), Run(made)
    for part in ("encoder", "fusion", "quantizer", "decoder"):
        assert run.digest(part) == source.digest(part)
    assert run.manifest["collection"] == str(other.root.resolve())
    assert run.manifest["transferred"] == {"run": tiny_run.name, "collection": "collection"}
    engine = Engine.load(made, device="cpu")
    assert engine.index.n == len(list(other.all_candidates()))


def test_chosen_rows_alone_are_evaluated(tiny_run, other, made):
    file = made / "reports" / "retrieval.json"
    before, first = file.read_bytes(), next(iter(Collection(other.root).rows()))
    main([str(tiny_run), str(other.root), str(made), "--device", "cpu", "--rows", f"{first.task}:{first.dataset}"])
    rows = {(row["task"], row["dataset"]) for pool in json.loads(file.read_text())["pools"] for row in pool["rows"]}
    file.write_bytes(before)
    assert rows == {(first.task, first.dataset)}


def test_the_report_names_the_collection_of_training_and_no_target_was_seen(made):
    report = json.loads((made / "reports" / "retrieval.json").read_text())
    assert (report["collection"], report["trained_on"]) == ("elsewhere", "collection")
    assert all(row["queries_trained"] == 0 for pool in report["pools"] for row in pool["rows"])
    assert "trained on another collection, collection" in (made / "reports" / "retrieval.md").read_text()


def test_the_embeddings_are_what_the_runs_own_encoder_makes(tiny_run, made):
    """The same pictures under other names get the same IDs as in the run that was trained on them."""
    source, new = (Engine.load(path, device="cpu").index for path in (tiny_run, made))
    rows = new.rows_of(item.id for item in source.items(range(source.n)))
    assert (rows >= 0).all()
    assert (new.codes(rows) == source.codes(range(source.n))).all()


def test_a_second_start_encodes_nothing_again(tiny_run, made, other, monkeypatch):
    def refuse(arguments: Arguments, **_) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr(module.features, "train", refuse)
    transfer(Run(tiny_run), other.root, made, "", "cpu")
    with pytest.raises(UserError, match="with other settings"):
        transfer(Run(tiny_run), other.root, made, "union_test", "cpu")


def test_other_parts_in_the_new_run_are_refused(tiny_run, other, tmp_path):
    path = tmp_path / "new"
    Run(path).publish("encoder", lambda aside: (aside / "weights").write_text("others"))
    with pytest.raises(UserError, match="has another encoder"):
        transfer(Run(tiny_run), other.root, path, "", "cpu")
    (path / "manifest.json").unlink()
    Run(path).publish("decoder", lambda aside: (aside / "weights").write_text("others"))
    with pytest.raises(UserError, match="has another decoder"):
        transfer(Run(tiny_run), other.root, path, "", "cpu")
    assert not Run(path).has("encoder")


def test_a_killed_copy_of_a_converted_run_normalizes_embeddings(tiny_run, tmp_path, monkeypatch):
    source = Run(shutil.copytree(tiny_run, tmp_path / "published"))
    source.record(left_out={}, normalize_embeddings=True)

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "publish", killed)
    with pytest.raises(KeyboardInterrupt):
        module.share_parts(source, tmp_path / "new")
    assert Run(tmp_path / "new").manifest["normalize_embeddings"] is True


def test_a_run_that_was_trained_is_refused_and_stays_as_it_is(tiny_run, other):
    before = (tiny_run / "manifest.json").read_text()
    with pytest.raises(UserError, match="was made from the collection .*, not .*elsewhere; name that one"):
        transfer(Run(tiny_run), other.root, tiny_run, "", "cpu")
    assert (tiny_run / "manifest.json").read_text() == before


@pytest.mark.parametrize(
    ("option", "value", "refusal"),
    [
        ("--beams", "5,x", "--beams 5,x: expected integers from 1"),
        ("--limit", "0", "--limit 0: expected an integer of at least 1"),
        ("--pool", "nowhere", "nowhere"),
        ("--rows", "0:nowhere", "no row '0:nowhere'"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_encoded(tiny_run, other, tmp_path, option, value, refusal):
    with pytest.raises(UserError, match=refusal):
        main([str(tiny_run), str(other.root), str(tmp_path / "new"), "--device", "cpu", option, value])
    assert not (tmp_path / "new").exists()


def test_what_is_no_run_is_refused(other, tmp_path):
    with pytest.raises(UserError, match="is not a run"):
        main([str(tmp_path / "nothing"), str(other.root), str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()
