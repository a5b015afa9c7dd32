import numpy as np
import pytest
import torch

from genius.trie import trie as trie_module
from genius.trie.ids import IDTable
from genius.trie.trie import Trie


@pytest.fixture(params=[1, 4, 1000], autouse=True, ids=lambda scanned: f"scanned {scanned}")
def scanned(request, monkeypatch):
    """All branching prefixes listed, some, or none."""
    monkeypatch.setattr(trie_module, "SCANNED", request.param)


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
def test_a_prefix_knows_which_items_lie_below(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    table, trie = build(codes, sizes)
    everything = [tuple(row) for row in table.codes(np.arange(n)).tolist()]
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        nodes = torch.tensor(list(prefixes.values()))
        low, high = trie.ranges(nodes)
        for prefix, items, first, end in zip(prefixes, trie.items(nodes), low, high, strict=True):
            assert items == end - first
            assert [i for i, key in enumerate(everything) if key[:length] == prefix] == list(range(first, end))


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_a_prefix_is_the_number_of_its_id_as_soon_as_it_has_only_one(sizes, n):
    codes = [tuple(row) for row in np.random.default_rng(n).integers(sizes, size=(n, len(sizes))).tolist()]
    _, trie = build(codes, sizes)
    ordered = sorted(codes)
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        for prefix, node in prefixes.items():
            below = {key for key in codes if key[:length] == prefix}
            assert node == ~ordered.index(*below) if len(below) == 1 else node > 0


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


def test_prefixes_that_many_items_share_level_after_level_are_walked():
    codes = [[1, 7, 7, 7, last] for last in range(9) for _ in range(3)]
    _, trie = build(codes, (3, 9, 9, 9, 9))
    assert set(walk(trie, 5)[-1]) == {tuple(row) for row in codes}


def long_tailed_codes(n: int, rng: np.random.Generator) -> np.ndarray:
    """Nine codes; many items share most of their codes with another."""
    codes = rng.integers((3,) + (4096,) * 8, size=(n, 9))
    codes[:, 1:] = np.minimum(codes[:, 1:], rng.integers(4096, size=(n, 8)))
    like, depth = rng.integers(n // 20, size=n), rng.integers(10, size=n)
    return np.where(np.arange(9) < depth[:, None], codes[like], codes)


@pytest.mark.parametrize("scanned", [trie_module.SCANNED], indirect=True)
@pytest.mark.parametrize("kind", ["uniform", "long-tailed", "in pairs", "in chains"])
def test_table_and_trie_take_at_most_25_bytes_an_item(kind):
    n, sizes, rng = 60_000, (3,) + (4096,) * 8, np.random.default_rng(7)
    uniform = rng.integers(sizes, size=(n, 9))
    chains = np.zeros((n, 9), dtype=int)
    chains[:, 1], chains[:, 8] = np.arange(n) // 129, np.arange(n) % 129  # listed level after level
    codes = {
        "uniform": uniform,
        "long-tailed": long_tailed_codes(n, rng),
        "in pairs": uniform[np.arange(n) // 2],
        "in chains": chains,
    }[kind]
    table, trie = build(codes, sizes)
    assert table.nbytes + trie.nbytes <= 25 * n


def test_a_trie_of_listed_prefixes_at_hand_equals_one_that_lists_them():
    sizes = (3, 9, 9)
    table, trie = build(np.random.default_rng(3).integers(sizes, size=(300, 3)), sizes)
    assert walk(Trie(table, listed=trie.listed), 3) == walk(trie, 3)
