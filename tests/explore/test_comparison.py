import gc
import threading
import weakref
from dataclasses import replace

import faiss
import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import comparison as compare
from genius.explore.comparison import FLAT, HNSW, SYSTEMS, Comparison, SystemResults, rank_agreement
from genius.index import update
from genius.schema import Modality, Query, SearchOptions
from genius.search.dense import build_hnsw, hnsw_bytes
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run

QUERY = Query(text="A red dog.")


@pytest.fixture
def comparison(engine) -> Comparison:
    return Comparison(engine)


@pytest.fixture(scope="module")
def vectors(engine):
    return engine.encode([QUERY])


def found(*systems: list[int]) -> list[SystemResults]:
    return [
        SystemResults(system, np.array(rows, dtype=np.int64), np.zeros(len(rows)), {})
        for system, rows in zip(SYSTEMS, systems, strict=False)
    ]


@pytest.mark.parametrize("modality", [None, *Modality])
def test_each_system_agrees_with_the_engine(engine, comparison, vectors, modality):
    by_system = {one.system.name: one for one in comparison.search(vectors, 7, 6, modality)}
    for system in SYSTEMS[:4]:
        options = replace(system.options, k=7, beams=6, modality=modality)
        (expected,) = engine.search([QUERY], options)
        assert by_system[system.name].rows.tolist() == [hit.row for hit in expected.hits]
        assert by_system[system.name].cosines == pytest.approx(
            [hit.cosine for hit in expected.hits], abs=1e-4
        )
    cosines = np.float32(engine.index.embeddings) @ vectors.embeddings.cpu().numpy()[0]
    if modality is not None:
        cosines[engine.index.modalities != modality] = -1
    nearest = np.argsort(-cosines, kind="stable")[:7]
    for dense in (FLAT, HNSW):  # 40 items: the graph misses none
        assert by_system[dense.name].rows.tolist() == nearest.tolist()
        assert by_system[dense.name].cosines == pytest.approx(cosines[nearest], abs=1e-4)


def test_the_order_by_fused_features_is_compared_where_the_index_has_them(tmp_path):
    fused = Engine.load(publish_tiny_run(tmp_path / "run", fused=True).path, "cpu")
    found = Comparison(fused).search(fused.encode([QUERY]), k=9, beams=6)
    by_system = {one.system.name: one.rows.tolist() for one in found}
    names = [system.name for system in SYSTEMS]
    assert list(by_system) == [*names[:2], "As on Search", *names[2:]]
    (expected,) = fused.search([QUERY], SearchOptions(k=9, beams=6, mode="both", order="fused"))
    assert by_system["As on Search"] == [hit.row for hit in expected.hits]


def test_every_beam_search_says_its_weight_and_a_visitor_chooses_that_of_generation(
    engine, comparison, vectors
):
    own = engine.decoder.config.decoder_weight
    for chosen, expected in ((None, own), (0.3, 0.3)):
        weights = [
            one.weight for one in comparison.search(vectors, k=3, beams=4, decoder_weight=chosen)
        ]
        assert weights == [expected, expected, 0.0, 1.0, None, None]
    named = {
        one.system.name: one for one in comparison.search(vectors, k=7, beams=6, decoder_weight=1.0)
    }
    assert named["Generation"].rows.tolist() == named["Decoder alone"].rows.tolist()


def test_a_slow_system_runs_once_and_a_fast_one_three_times(comparison, vectors, monkeypatch):
    asked = []
    monkeypatch.setattr(
        compare,
        "flat_search",
        lambda *given: asked.append(1) or (np.zeros((1, 2)), np.zeros((1, 2))),
    )
    for patience, times in ((1e9, 3), (0, 1)):
        asked.clear()
        monkeypatch.setattr(compare, "SLOW", patience)
        list(comparison.search(vectors, k=2, beams=2))
        assert len(asked) == times


def test_the_graph_is_built_once_and_only_on_request(engine, comparison, vectors, monkeypatch):
    built, read = [], []
    monkeypatch.setattr(compare, "build_hnsw", lambda *given: built.append(1) or build_hnsw(*given))
    assert HNSW not in [one.system for one in comparison.search(vectors, 3, 4, hnsw=False)]
    assert not built and not comparison.built
    threads = [threading.Thread(target=comparison.build, args=[read.append]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1 and comparison.built
    assert read == [engine.index.n]


def test_when_items_were_removed_the_graph_and_the_index_before_go_first(tmp_path, monkeypatch):
    run = publish_tiny_run(tmp_path / "run").path
    engine = Engine.load(run, "cpu")
    comparison = Comparison(engine)
    present = []
    graph, index = weakref.ref(comparison.build()), weakref.ref(engine.index)
    update.remove(run, ["0:1"])
    assert engine.snapshots.reload() and not comparison.built
    gc.collect()
    assert index() is None

    def build(embeddings, progress):
        gc.collect()
        present.append(graph())
        return build_hnsw(embeddings)

    monkeypatch.setattr(compare, "build_hnsw", build)
    assert comparison.build().ntotal == engine.index.n == 39 and comparison.built
    assert present == [None]


def test_a_graph_that_is_too_large_is_not_built_and_the_page_says_why(
    engine, comparison, vectors, monkeypatch
):
    size = hnsw_bytes(engine.index.n, engine.index.config.dim)
    assert len(faiss.serialize_index(build_hnsw(engine.index.embeddings))) == pytest.approx(
        size, rel=0.1, abs=1000
    )
    monkeypatch.setattr(compare, "MAX_GRAPH_BYTES", size)
    assert comparison.hnsw_problem is None

    monkeypatch.setattr(compare, "MAX_GRAPH_BYTES", size - 1)
    monkeypatch.setattr(compare, "build_hnsw", None)
    for attempt in (comparison.build, lambda: list(comparison.search(vectors, 3, 4))):
        with pytest.raises(
            UserError, match=r"graph of 40 items would take 0.0 GB of .* compare without HNSW"
        ):
            attempt()
    assert FLAT in [one.system for one in comparison.search(vectors, 3, 4, hnsw=False)]
    assert not comparison.built


def test_agreement_has_all_ranks_and_what_pairs_of_systems_have_in_common():
    agreed = rank_agreement(found([3, 1], [1, 8], [1, 5]))
    assert agreed.rows.tolist() == [1, 3, 5, 8]
    assert agreed.ranks.tolist() == [[2, 1, 0, 0], [1, 0, 0, 2], [1, 0, 2, 0]]
    assert agreed.found_by_one.astype(int).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]

    agreed = rank_agreement(found([3, 1, 7], [7, 1, 3], [1], []))
    assert agreed.overlap[0].tolist() == [1, 1, 1 / 3, 0]  # fewer results are no agreement
    assert agreed.shift[0, :3].tolist() == [0, 4 / 3, 1]  # 3: 1 to 3, 1: stays, 7: 3 to 1
    assert np.isnan(agreed.shift[0, 3])
