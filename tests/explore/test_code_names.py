import json
import logging
from collections import Counter

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import code_names as module
from genius.explore import word_fits
from genius.explore.code_names import (
    CodeName,
    CodeNamer,
    code_names,
    load_names,
    read_names,
    save_names,
)
from genius.explore.code_profile import Profiles
from genius.explore.word_fits import Naming
from genius.run import Run
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run
from tests.trie.test_code_table import matching
from training.stages import names as command

N = 60
NAMES = {(0,): CodeName((), 0, 0, ("0:3",)), (1, 17): CodeName(("boat", "ƒ“sea"), 5, 7, ())}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = publish_tiny_run(tmp_path_factory.mktemp("names") / "run", N).path
    command.main([str(path), "--device", "cpu"])
    return Run(path)


@pytest.fixture(scope="module")
def engine(run):
    return Engine.load(run.path, "cpu")


@pytest.fixture(scope="module")
def profiles(engine):
    return Profiles(engine, engine.index)


def test_every_prefix_with_enough_items_is_named(run, engine):
    codes = engine.index.codes(range(N)).tolist()
    depths = range(1, len(codes[0]) + 1)
    counts = Counter(tuple(row[:depth]) for row in codes for depth in depths)
    expected = {prefix for prefix, count in counts.items() if count >= word_fits.MIN_ITEMS}
    assert set(read_names(run.path)) == expected and run.is_current("names")


def test_a_name_is_that_of_the_items_of_its_prefix_but_a_kind_needs_none(run, engine, profiles):
    codes = engine.index.codes(range(N))
    names = read_names(run.path)
    for prefix, name in names.items():
        rows = np.array(matching(codes, prefix))
        expected = profiles.words.naming(rows) if len(prefix) > 1 else Naming((), 0, 0)
        assert (name.words, name.fits, name.checked) == tuple(vars(expected).values())
    assert any(name.words for name in names.values())


def test_the_pictures_are_those_nearest_to_the_mean(run, engine):
    codes = engine.index.codes(range(N))
    for prefix, name in read_names(run.path).items():
        rows = np.array(matching(codes, prefix))
        if prefix[0] == 1:
            assert name.pictures == ()
            continue
        vectors = engine.index.embeddings[rows].astype(np.float32)
        best = vectors @ vectors.mean(0)
        chosen = engine.index.rows_of(name.pictures)
        assert len(chosen) == module.PICTURES and set(chosen) <= set(rows)
        assert min(best[np.isin(rows, chosen)]) >= np.sort(best)[-module.PICTURES] - 1e-5


def test_there_is_a_limit_and_the_shortest_prefixes_come_first(profiles, monkeypatch):
    monkeypatch.setattr(module, "MOST", 9)
    names = code_names(profiles, True)
    assert len(names) == 9 and [len(prefix) for prefix in names] == sorted(
        len(prefix) for prefix in names
    )
    assert {(0,), (1,), (2,)} <= set(names)


def test_saved_names_are_loaded_unchanged(tmp_path):
    save_names(NAMES, tmp_path)
    assert load_names(tmp_path) == NAMES
    assert NAMES[1, 17].label == "boat, ƒ“sea"


@pytest.mark.parametrize(
    "change",
    [
        {"prefixes": ["0", "1.x"]},
        {"words": [[], ["a", "b", "c", "d"]]},
        {"words": [[], ["x" * 101]]},
        {"fits": [1]},
        {"more": 1},
    ],
)
def test_files_that_do_not_fit_are_refused_with_the_command_that_makes_new_ones(tmp_path, change):
    save_names(NAMES, tmp_path)
    file = tmp_path / module.FILE
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | change))
    with pytest.raises(UserError, match="make them again: python -m training.names"):
        load_names(tmp_path)


def test_a_run_may_have_no_names_and_another_quantizer_needs_new_ones(tmp_path):
    run = publish_tiny_run(tmp_path / "run", 12)
    assert read_names(run.path) is None and not run.is_current("names")
    command.name_codes(run.path, "cpu")
    assert Run(run.path).is_current("names")
    with pytest.raises(UserError, match="is not a run"):
        command.name_codes(tmp_path, "cpu")
    quantizer = run.folder("quantizer")

    def other(folder):
        for file in quantizer.iterdir():
            (folder / file.name).write_bytes(file.read_bytes() + b" " * (file.suffix == ".json"))

    run.publish("quantizer", other, ("encoder", "fusion"))
    assert not Run(run.path).is_current("names")
    with pytest.raises(UserError, match=r"built from another quantizer.*python -m training\.names"):
        read_names(run.path)


def test_a_namer_gives_what_is_stored_and_computes_what_is_not(run, engine, tmp_path, caplog):
    stored = CodeNamer(engine, run.path)
    names = read_names(run.path)
    prefix = next(prefix for prefix in names if len(prefix) == 2)
    assert stored.name(prefix) == names[prefix] and stored.name((2, 4_000)) is None
    labels = stored.labels()
    assert labels["1"] == "Text" and labels[".".join(map(str, prefix))] == names[prefix].label
    empty = CodeNamer(engine, tmp_path)
    assert empty.names is None and empty.labels() == {"0": "Image", "1": "Text", "2": "Pair"}
    empty.prepare()
    assert empty.labels() == labels


def test_damaged_names_are_left_out_with_a_warning(tmp_path, engine, caplog):
    run = publish_tiny_run(tmp_path / "run", 12)
    run.publish(
        "names",
        lambda folder: (folder / module.FILE).write_text("{}"),
        ("encoder", "fusion", "quantizer"),
    )
    with caplog.at_level(logging.WARNING):
        assert CodeNamer(engine, run.path).names is None
    assert "make them again" in caplog.text
