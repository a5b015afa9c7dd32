import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genius.errors import UserError
from genius.explore import items
from genius.explore.items import describe_item, item_query, nearest_items, row_of, source_facts
from genius.index.store import Index
from genius.schema import Item, Modality, provenance_of
from genius.search.engine import Engine
from tests.search.tiny import publish_tiny_run
from tests.ui.fake_engine import FakeEngine


@pytest.fixture(scope="module")
def engine():
    return FakeEngine()


def test_neighbors_agree_with_comparing_all_pairs_without_the_item_itself(engine):
    vectors = engine.index.embeddings.astype(np.float32)
    cosines = vectors @ vectors[41]
    cosines[41] = -np.inf
    expected = np.argsort(-cosines, kind="stable")[:8]
    item = describe_item(engine, 41)
    assert [near["row"] for near in item["neighbours"]] == expected.tolist()
    assert [near["cosine"] for near in item["neighbours"]] == pytest.approx(cosines[expected].tolist(), abs=1e-5)


def test_a_duplicate_of_an_item_is_its_neighbor(engine):
    engine = FakeEngine()
    engine.index.embeddings = engine.index.embeddings[:20].copy()
    engine.index.embeddings[3] = engine.index.embeddings[12]
    _, rows = nearest_items(engine, 12, 5)
    assert rows[0] == 3 and 12 not in rows and len(rows) == 5


def test_a_small_index_gives_fewer_neighbors():
    engine = FakeEngine()
    engine.index.embeddings = engine.index.embeddings[:3]
    assert len(nearest_items(engine, 0, 8)[1]) == 2


class CountingRows:
    """Embeddings that count the rows read."""

    def __init__(self, vectors: np.ndarray):
        self.vectors, self.read = vectors, 0

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, rows: object) -> np.ndarray:
        found = self.vectors[rows]
        self.read += len(np.atleast_2d(found))
        return found


def test_in_a_large_index_neighbors_are_found_without_reading_all_embeddings(tmp_path, monkeypatch):
    engine = Engine.load(publish_tiny_run(tmp_path / "run", n=400).path, "cpu")
    monkeypatch.setattr(items, "APPROXIMATE", replace(items.APPROXIMATE, beams=40, budget=60))
    exact = [describe_item(engine, row) for row in range(0, 400, 20)]
    monkeypatch.setattr(items, "EXACT_ITEMS", 399)
    monkeypatch.setattr(engine.index, "embeddings", CountingRows(engine.index.embeddings))
    found = [describe_item(engine, row) for row in range(0, 400, 20)]

    assert engine.index.embeddings.read <= 20 * 501 and not any(item["exact"] for item in found)
    assert all(item["exact"] for item in exact)
    shared = 0
    for mine, true in zip(found, exact, strict=True):
        near = {one["row"]: one["cosine"] for one in true["neighbours"]}
        assert 1 <= len(mine["neighbours"]) <= 8 and mine["row"] not in {one["row"] for one in mine["neighbours"]}
        for one in mine["neighbours"]:
            assert one["cosine"] == pytest.approx(near.get(one["row"], one["cosine"]), abs=1e-6)
        shared += len(near.keys() & {one["row"] for one in mine["neighbours"]})
    assert shared > 20 * 8 / 2


def test_in_a_large_index_of_a_run_with_a_ranker_neighbors_are_ordered_by_cosine(tmp_path, monkeypatch):
    engine = Engine.load(publish_tiny_run(tmp_path / "run", n=100).path, "cpu")
    asked = []
    monkeypatch.setattr(items, "EXACT_ITEMS", 99)
    retrieve = engine.retrieve
    monkeypatch.setattr(engine, "retrieve", lambda query, options: asked.append(options) or retrieve(query, options))
    nearest_items(engine, 0, 8)
    assert [options.ranking for options in asked] == ["cosine"]


def test_an_item_is_described_with_its_codes_and_modality(engine):
    item = describe_item(engine, 5, neighbors=0)
    assert item["id"] == engine.index.item(5).id and item["modality"] is Modality.PAIR
    assert item["codes"] == engine.index.codes([5])[0].tolist() and item["neighbours"] == []


def test_facts_are_the_plain_values_of_the_source(engine, monkeypatch):
    source = json.dumps({"kind": "house", "count": 1, "nested": {"a": 1}, "none": None})
    items = engine.index.items
    monkeypatch.setattr(engine.index, "items", lambda rows: [replace(item, source=source) for item in items(rows)])
    assert describe_item(engine, 5, neighbors=0)["facts"] == [("kind", "house"), ("count", "1")]


@pytest.mark.parametrize("source", ["", "no json", "[1]", "3", "null"])
def test_a_source_that_is_no_object_has_no_facts_and_no_provenance(source):
    assert source_facts(source) == [] and provenance_of(source) == {}


def test_credit_license_and_origin_are_no_facts():
    source = json.dumps({"kind": "house", "origin": "A set", "credit": "Ada", "licence": ""})
    assert source_facts(source) == [("kind", "house")]
    assert provenance_of(source) == {"credit": "Ada", "origin": "A set"}


@pytest.mark.parametrize("row", [-1, 10**9, "5", None, True, 5.0])
def test_an_unknown_row_gets_one_sentence(engine, row):
    with pytest.raises(UserError, match="There is no item at row"):
        describe_item(engine, row)


@pytest.mark.parametrize("id", ["nowhere", "", "9:99999999", None, 5])
def test_an_unknown_id_gets_one_sentence(engine, id):
    with pytest.raises(UserError, match="There is no item"):
        row_of(engine.index, id)


def test_the_row_of_an_id_is_found(engine):
    assert row_of(engine.index, engine.index.item(41).id) == 41


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.load(publish_tiny_run(tmp_path_factory.mktemp("query") / "run", n=6).folder("index"))


def test_an_item_query_has_the_picture_and_text_and_no_instruction(index):
    for row, item in enumerate(index.items(range(index.n))):
        query = item_query(index, row)
        assert (query.text, query.instruction) == (item.text, "")
        assert (query.image is None) == (item.modality is Modality.TEXT)
        if query.image:
            assert query.image.size == (40, 30) and query.image.mode == "RGB"


def test_a_text_too_long_for_a_query_is_truncated():
    index = SimpleNamespace(items=lambda rows: [Item("0:0", Modality.TEXT, "x" * 20_000)], thumbnail=lambda row: None)
    assert len(item_query(index, 0).text) == 10_000


def test_item_query_refuses_an_unknown_row(index):
    with pytest.raises(IndexError, match="no row 6"):
        item_query(index, 6)
