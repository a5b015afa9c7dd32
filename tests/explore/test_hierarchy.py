import numpy as np
import pytest

from genius.explore import hierarchy as module
from genius.explore.hierarchy import hierarchy
from genius.trie.code_table import CodeTable
from genius.trie.ids import IDTable
from tests.trie.test_code_table import matching

SIZES = (3, 9, 7, 5)


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(0, SIZES, (500, len(SIZES)))


@pytest.fixture(scope="module")
def table(codes) -> CodeTable:
    return CodeTable(IDTable.build(codes, SIZES))


def every(node):
    yield node
    for child in node.children:
        yield from every(child)


@pytest.mark.parametrize("pattern", [(), (1,), (None, 4), (2, 3, None, 1)])
def test_each_node_holds_the_items_of_its_pattern_and_its_children_all_of_them(codes, table, pattern, monkeypatch):
    monkeypatch.setattr(module, "MAX_SHOWN", 1_000)
    root = hierarchy(table.match(pattern))
    assert root.pattern == pattern
    for node in every(root):
        assert node.items == len(matching(codes, node.pattern)) and node.others == 0
        if node.children:
            assert node.items == sum(child.items for child in node.children)
            assert [child.items for child in node.children] == sorted(child.items for child in node.children)[::-1]


def test_hidden_codes_are_one_node_with_their_items(table, monkeypatch):
    monkeypatch.setattr(module, "MAX_SHOWN", 4)
    root = hierarchy(table.match((1,)))
    *shown, others = root.children
    assert (len(shown), others.others, others.pattern) == (4, 5, (1,))
    assert root.items == sum(child.items for child in root.children)
    for child in shown:
        *named, left = child.children
        assert len(named) == 1 and left.others == len(table.match(child.pattern).children()[0]) - 1
        assert child.items == sum(below.items for below in child.children)


def test_a_pattern_that_nothing_matches_is_a_node_without_items():
    table = CodeTable(IDTable.build(np.array([[0, 0], [1, 1]]), (3, 4)))
    assert hierarchy(table.match((2,))) == module.Node((2,), 0)
