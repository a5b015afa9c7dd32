import numpy as np
import pytest

from genius.explore.items import WEIGHTS, interpolate, interpolated, item_query
from genius.schema import Query, SearchOptions
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run

QUERY = Query(text="A red dog.", instruction="Find the picture.")
OPTIONS = SearchOptions(beams=8, k=5)


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("blend") / "run").path, "cpu")


@pytest.fixture(scope="module")
def asked(engine):
    return engine.search([QUERY], OPTIONS)[0]


def rows(result) -> list[int]:
    return [hit.row for hit in result.hits]


def test_a_mixture_is_linear_in_the_weight():
    query, item = np.array([1.0, 0.0]), np.array([0.0, 2.0])
    np.testing.assert_allclose(interpolated(query, item, (1, 0.25, 0)), [[1, 0], [0.25, 1.5], [0, 2]])


def test_interpolation_begins_at_the_query_and_ends_at_the_item(engine, asked):
    way = interpolate(engine, asked.embedding, asked.z, 7, OPTIONS)
    assert [step.weight for step in way] == list(WEIGHTS) and WEIGHTS[0] == 1 and WEIGHTS[-1] == 0
    first, last = way[0].result, way[-1].result
    assert rows(first) == rows(asked) and first.generated[0].codes == asked.generated[0].codes
    (as_query,) = engine.search([item_query(engine.index, 7)], OPTIONS)
    assert [found.codes for found in last.generated] == [found.codes for found in as_query.generated]
    assert last.embedding == pytest.approx(engine.index.embeddings[7].astype(np.float32), abs=1e-3)


def test_interpolated_embeddings_are_normalized(engine, asked):
    for step in interpolate(engine, asked.embedding, asked.z, 4, OPTIONS, (0.9, 0.5, 0.1)):
        assert np.linalg.norm(step.result.embedding) == pytest.approx(1)
        for hit in step.result.hits:
            stored = engine.index.embeddings[hit.row].astype(np.float32)
            assert hit.cosine == pytest.approx(float(stored @ step.result.embedding), abs=1e-5)


def test_the_middle_differs_from_both_ends(engine, asked):
    query, middle, item = interpolate(engine, asked.embedding, asked.z, 4, OPTIONS, (1, 0.5, 0))
    np.testing.assert_allclose(middle.result.z, (query.result.z + item.result.z) / 2, atol=1e-6)
