from types import SimpleNamespace

import pytest

from genius.explore.item_query import item_query
from genius.index.store import Index
from genius.schema import Item, Modality
from tests.search.tiny import publish_tiny_run


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    return Index.load(publish_tiny_run(tmp_path_factory.mktemp("query") / "run", n=6).folder("index"))


def test_an_item_asks_with_its_own_picture_and_text_and_no_instruction(index):
    for row, item in enumerate(index.items(range(index.n))):
        query = item_query(index, row)
        assert (query.text, query.instruction) == (item.text, "")
        assert (query.image is None) == (item.modality is Modality.TEXT)
        if query.image:
            assert query.image.size == (40, 30) and query.image.mode == "RGB"


def test_a_text_that_no_query_could_hold_is_cut():
    index = SimpleNamespace(items=lambda rows: [Item("0:0", Modality.TEXT, "x" * 20_000)], thumbnail=lambda row: None)
    assert len(item_query(index, 0).text) == 10_000


def test_a_row_that_is_not_there_is_refused(index):
    with pytest.raises(IndexError, match="no row 6"):
        item_query(index, 6)
