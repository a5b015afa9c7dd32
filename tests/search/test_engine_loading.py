"""Loading a run into an engine, and what is refused."""

import pytest

from genius import runtime
from genius.errors import UserError
from genius.run import Run
from genius.schema import Query
from genius.search import retriever
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run, tiny_decoder

QUERIES = [Query(text="A red dog.")]


def test_a_run_searches_once_when_it_is_loaded(tiny_run, monkeypatch):
    answer = Engine._answer
    used = []

    def noted(*arguments):
        found = answer(*arguments)
        used.extend(found)
        return found

    monkeypatch.setattr(Engine, "_answer", noted)
    Engine.load(tiny_run.path, "cpu")
    assert len(used) == 1


def test_a_run_of_published_weights_re_ranks_by_normalized_embeddings(
    tmp_path, engine, monkeypatch
):
    used = []
    rank_candidates = retriever.rank_candidates
    run = publish_tiny_run(tmp_path / "run", n=6)
    run.record(normalize_embeddings=True)
    published = Engine.load(run.path, "cpu")

    def rank(*given):
        used.append(given[2].normalize)
        return rank_candidates(*given)

    monkeypatch.setattr(retriever, "rank_candidates", rank)
    for each in (engine, published):
        each.search(QUERIES)
    assert used == [False, True]


def test_loading_a_run_leaves_the_malloc_of_the_process_alone(tiny_run, monkeypatch):
    monkeypatch.setattr(runtime, "ctypes", None)
    Engine.load(tiny_run.path, "cpu")


def test_a_missing_part_is_named(tmp_path):
    run = Run(tmp_path)
    run.publish("maps", lambda folder: (folder / "maps.npz").touch())
    with pytest.raises(UserError, match="holds no quantizer"):
        Engine.load(tmp_path)


@pytest.mark.parametrize(
    "changes, words",
    [
        (
            {"codebook_size": 6},
            r"disagree about the code sizes \(quantizer \(3, 5, 5, 5\), decoder \(3, 6, 6, 6\)",
        ),
        ({"dim": 13}, "disagree about the embedding size .*decoder 13"),
    ],
)
def test_parts_of_different_shapes_are_refused(tmp_path, changes, words):
    run = publish_tiny_run(tmp_path / "run", n=6)
    run.publish("decoder", tiny_decoder(**changes).save, ("quantizer",))
    with pytest.raises(UserError, match=words):
        Engine.load(run.path, "cpu")


def test_an_unknown_device_is_refused(tiny_run):
    with pytest.raises(UserError, match="device 'abacus' cannot be used"):
        Engine.load(tiny_run.path, "abacus")
