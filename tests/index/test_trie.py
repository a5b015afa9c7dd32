import numpy as np
import pytest
import torch

from genius.index.ids import IDTable
from genius.index.trie import Trie


def build(codes, sizes) -> tuple[IDTable, Trie]:
    table = IDTable.build(np.array(codes), sizes)
    return table, Trie(table)


def walk(trie: Trie, levels: int) -> list[dict[tuple, int]]:
    """Node of every prefix, level by level, asking for all prefixes of a level at once."""
    found = [{(): trie.root}]
    for level in range(levels):
        prefixes, nodes = zip(*found[-1].items(), strict=True)
        children = trie.children(torch.tensor(nodes), level)
        columns = (children.owner.tolist(), children.code.tolist(), children.node.tolist())
        found.append({prefixes[owner] + (code,): node for owner, code, node in zip(*columns, strict=True)})
    return found


SHAPES = [
    pytest.param((3, 4, 4, 4), 40, id="crowded"),
    pytest.param((3, 4096, 4096), 200, id="sparse"),
    pytest.param((3, 2, 2), 500, id="every ID, shared by many"),
    pytest.param((3, 65536), 50, id="codes of 16 bits"),
    pytest.param((3,), 20, id="one level"),
    pytest.param((3, 5), 1, id="one item"),
    pytest.param((3, 5, 5), 2, id="two items"),
]


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_walking_the_trie_meets_exactly_the_prefixes_of_the_ids(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    _, trie = build(codes, sizes)
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        assert set(prefixes) == {tuple(row[:length]) for row in codes.tolist()}


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_a_prefix_knows_its_ids_and_how_many_items_lie_below(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    table, trie = build(codes, sizes)
    unique = [tuple(row) for row in table.codes(np.arange(len(table))).tolist()]
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        nodes = torch.tensor(list(prefixes.values()))
        low, high = trie.ranges(nodes)
        for prefix, items, first, end in zip(prefixes, trie.items(nodes), low, high, strict=True):
            assert items == sum(tuple(row[:length]) == prefix for row in codes.tolist())
            assert [i for i, key in enumerate(unique) if key[:length] == prefix] == list(range(first, end))


def test_a_whole_id_ends_in_its_number():
    codes = np.random.default_rng(5).integers((3, 6, 6), size=(80, 3))
    table, trie = build(codes, (3, 6, 6))
    leaves = walk(trie, 3)[-1]
    assert {prefix: ~node for prefix, node in leaves.items()} == {
        tuple(row): i for i, row in enumerate(table.codes(np.arange(len(table))).tolist())}


def test_children_come_ordered_by_owner_then_by_code():
    codes = np.random.default_rng(6).integers((3, 9, 9), size=(150, 3))
    _, trie = build(codes, (3, 9, 9))
    nodes = torch.tensor(list(walk(trie, 1)[-1].values())).flip(0)
    children = trie.children(nodes, 1)
    pairs = list(zip(children.owner.tolist(), children.code.tolist(), strict=True))
    assert pairs == sorted(pairs) and len(set(pairs)) == len(pairs)


def test_one_prefix_may_be_asked_for_twice():
    _, trie = build([[0, 1], [0, 2], [1, 1]], (3, 4))
    shared, alone = walk(trie, 1)[-1][(0,)], walk(trie, 1)[-1][(1,)]
    children = trie.children(torch.tensor([shared, alone, shared]), 1)
    assert children.owner.tolist() == [0, 0, 1, 2, 2]
    assert children.code.tolist() == [1, 2, 1, 1, 2]


def test_unique_prefixes_cost_no_nodes():
    sizes = (3,) + (4096,) * 8
    codes = np.random.default_rng(7).integers(sizes, size=(20_000, 9))
    _, trie = build(codes, sizes)
    assert trie.nbytes / 20_000 < 16
