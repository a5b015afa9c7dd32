"""Items: described, as queries, and blends of a query with one."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.explore import items
from genius.explore.items import (
    WEIGHTS,
    dense_ranks,
    describe_item,
    interpolate,
    item_query,
    nearest_items,
    row_of,
    source_facts,
)
from genius.index.store import Index
from genius.schema import Modality, Query, SearchOptions, provenance_of
from genius.search import candidates
from genius.search.dense import flat_search
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run
from tests.ui.fake_engine import FakeEngine


@pytest.fixture(scope="module")
def made_up():
    return FakeEngine()


def test_neighbors_agree_with_comparing_all_pairs_without_the_item_itself(made_up):
    vectors = made_up.index.embeddings.astype(np.float32)
    cosines = vectors @ vectors[41]
    cosines[41] = -np.inf
    expected = np.argsort(-cosines, kind="stable")[:8]
    item = describe_item(made_up, 41)
    assert [near["row"] for near in item["neighbours"]] == expected.tolist()
    assert [near["cosine"] for near in item["neighbours"]] == pytest.approx(
        cosines[expected].tolist(), abs=1e-5
    )


def test_a_duplicate_of_an_item_is_its_neighbor():
    engine = FakeEngine()
    engine.index.embeddings = engine.index.embeddings[:20].copy()
    engine.index.embeddings[3] = engine.index.embeddings[12]
    _, rows = nearest_items(engine, 12, 5)
    assert rows[0] == 3 and 12 not in rows and len(rows) == 5


class CountingRows:
    """Embeddings that count the rows read."""

    def __init__(self, vectors: np.ndarray):
        self.vectors = vectors
        self.read = 0

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: object) -> np.ndarray:
        vectors = self.vectors[rows]
        self.read += len(np.atleast_2d(vectors))
        return vectors


def test_in_a_large_index_neighbors_are_found_without_reading_all_embeddings(tmp_path, monkeypatch):
    engine = Engine.load(publish_tiny_run(tmp_path / "run", n=400).path, "cpu")
    monkeypatch.setattr(items, "APPROXIMATE", replace(items.APPROXIMATE, k=60))
    monkeypatch.setattr(candidates, "SCANNED", 60)
    exact = [describe_item(engine, row) for row in range(0, 400, 20)]
    monkeypatch.setattr(items, "EXACT_ITEMS", 399)
    monkeypatch.setattr(engine.index, "embeddings", CountingRows(engine.index.embeddings))
    described = [describe_item(engine, row) for row in range(0, 400, 20)]

    assert engine.index.embeddings.read <= 20 * 501 and not any(item["exact"] for item in described)
    assert all(item["exact"] for item in exact)
    shared = 0
    for row, approximate, true in zip(range(0, 400, 20), described, exact, strict=True):
        expected = {near["row"]: near["cosine"] for near in true["neighbours"]}
        cosines = {near["row"]: near["cosine"] for near in approximate["neighbours"]}
        assert 1 <= len(cosines) <= 8 and row not in cosines
        both = cosines.keys() & expected.keys()
        assert [cosines[row] for row in both] == pytest.approx(
            [expected[row] for row in both], abs=1e-6
        )
        shared += len(both)
    assert shared > 20 * 8 / 2


def vectors(n: int, dim: int = 5) -> np.ndarray:
    return torch.nn.functional.normalize(
        torch.randn(n, dim, generator=torch.Generator().manual_seed(n)), dim=1
    ).numpy()


@pytest.mark.parametrize("block", [7, 50, 1000])
def test_dense_ranks_agree_with_dense_search(block, monkeypatch):
    monkeypatch.setattr(items, "BLOCK", block)
    embeddings = vectors(200).astype(np.float16)
    query = vectors(1)
    _, rows = flat_search(embeddings, query, 200)
    asked = np.array([3, 199, 0, 77, 3])
    places = {row: place for place, row in enumerate(rows[0].tolist(), start=1)}
    assert dense_ranks(embeddings, query[0], asked).tolist() == [
        places[row] for row in asked.tolist()
    ]


def test_in_a_large_index_dense_ranks_are_estimated_from_a_sample(monkeypatch):
    monkeypatch.setattr(items, "SAMPLE", 4_000)
    embeddings = vectors(20_000).astype(np.float16)
    query = vectors(1)
    _, rows = flat_search(embeddings, query, 20_000)
    asked = rows[0, [0, 99, 4_999, 19_999]]
    exact = dense_ranks(embeddings, query[0], asked)
    monkeypatch.setattr(items, "EXACT_ITEMS", 19_999)
    counted = CountingRows(embeddings)
    estimated = dense_ranks(counted, query[0], asked)
    assert exact.tolist() == [1, 100, 5_000, 20_000] and counted.read <= 4_004
    np.testing.assert_allclose(estimated, exact, rtol=0.1, atol=40)


def test_an_item_is_described_with_its_codes_and_modality(made_up):
    item = describe_item(made_up, 5, neighbors=0)
    assert item["item"] == made_up.index.item(5) and item["item"].modality is Modality.PAIR
    assert item["codes"] == made_up.index.codes([5])[0].tolist() and item["neighbours"] == []


def test_facts_are_the_plain_values_of_the_source_but_for_credit_license_and_origin():
    plain = {"kind": "house", "count": 1, "nested": {"a": 1}, "none": None, "words": ["a", "b"]}
    source = json.dumps(plain | {"origin": "A set", "credit": "Ada", "licence": ""})
    assert source_facts(source) == [("kind", "house"), ("count", "1"), ("words", "a, b")]
    assert provenance_of(source) == {"credit": "Ada", "origin": "A set"}


@pytest.mark.parametrize("row", [-1, 10**9, "5", True])
def test_an_unknown_row_gets_one_sentence(made_up, row):
    with pytest.raises(UserError, match="There is no item at row"):
        describe_item(made_up, row)


@pytest.mark.parametrize("id", ["nowhere", "9:99999999", 5])
def test_an_unknown_id_gets_one_sentence(made_up, id):
    with pytest.raises(UserError, match="There is no item"):
        row_of(made_up.index, id)


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.load(
        publish_tiny_run(tmp_path_factory.mktemp("query") / "run", n=6).folder("index")
    )


def test_an_item_query_has_the_picture_and_text_and_no_instruction(index):
    for row, item in enumerate(index.items(range(index.n))):
        query = item_query(index, row)
        assert (query.text, query.instruction) == (item.text, "")
        assert (query.image is None) == (item.modality is Modality.TEXT)
        if query.image:
            assert query.image.size == (40, 30) and query.image.mode == "RGB"


QUERY = Query(text="A red dog.", instruction="Find the picture.")
OPTIONS = SearchOptions(beams=8, k=5)


@pytest.fixture(scope="module")
def asked(engine):
    return engine.search([QUERY], OPTIONS)[0]


def rows(result) -> list[int]:
    return [hit.row for hit in result.hits]


def test_interpolation_begins_at_the_query_and_ends_at_the_item(engine, asked):
    way = interpolate(engine, asked, 7, OPTIONS)
    assert len(way) == len(WEIGHTS) and WEIGHTS[0] == 1 and WEIGHTS[-1] == 0
    first, last = way[0], way[-1]
    assert rows(first) == rows(asked) and first.generated[0].codes == asked.generated[0].codes
    (as_query,) = engine.search([item_query(engine.index, 7)], OPTIONS)
    assert [beam.codes for beam in last.generated] == [beam.codes for beam in as_query.generated]
    assert last.embedding == pytest.approx(engine.index.embeddings[7].astype(np.float32), abs=1e-3)


def test_interpolated_embeddings_are_normalized(engine, asked):
    for result in interpolate(engine, asked, 4, OPTIONS, (0.9, 0.5, 0.1)):
        assert np.linalg.norm(result.embedding) == pytest.approx(1)
        for hit in result.hits:
            stored = engine.index.embeddings[hit.row].astype(np.float32)
            assert hit.cosine == pytest.approx(float(stored @ result.embedding), abs=1e-5)


def test_the_middle_differs_from_both_ends(engine, asked):
    query, middle, item = interpolate(engine, asked, 4, OPTIONS, (1, 0.5, 0))
    np.testing.assert_allclose(middle.z, (query.z + item.z) / 2, atol=1e-6)
