import numpy as np
import pytest
import torch

from genius.trie import trie as trie_module
from genius.trie.ids import IDTable
from genius.trie.trie import Trie


@pytest.fixture(params=[1, 4, 1000], autouse=True, ids=lambda scanned: f"scanned {scanned}")
def scanned(request, monkeypatch):
    """All branching prefixes crowded, some, or none."""
    monkeypatch.setattr(trie_module, "MAX_SCANNED", request.param)


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
        found.append(
            {prefixes[owner] + (code,): node for owner, code, node in zip(*columns, strict=True)}
        )
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
def test_walking_the_trie_reaches_exactly_the_prefixes_of_the_ids(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    _, trie = build(codes, sizes)
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        assert set(prefixes) == {tuple(row[:length]) for row in codes.tolist()}


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_the_range_of_a_prefix_holds_exactly_the_items_below_it(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    table, trie = build(codes, sizes)
    everything = [tuple(row) for row in table.codes(np.arange(n)).tolist()]
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        nodes = torch.tensor(list(prefixes.values()))
        low, high = trie.ranges(nodes)
        for prefix, items, first, end in zip(
            prefixes, trie.item_counts(nodes), low, high, strict=True
        ):
            assert items == end - first
            assert [i for i, key in enumerate(everything) if key[:length] == prefix] == list(
                range(first, end)
            )


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_the_node_of_a_prefix_with_one_id_is_the_number_of_that_id(sizes, n):
    codes = [
        tuple(row)
        for row in np.random.default_rng(n).integers(sizes, size=(n, len(sizes))).tolist()
    ]
    _, trie = build(codes, sizes)
    ordered = sorted(codes)
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        for prefix, node in prefixes.items():
            below = {key for key in codes if key[:length] == prefix}
            assert node == ~ordered.index(*below) if len(below) == 1 else node > 0


def test_children_are_ordered_by_owner_then_by_code():
    codes = np.random.default_rng(6).integers((3, 9, 9), size=(150, 3))
    _, trie = build(codes, (3, 9, 9))
    nodes = torch.tensor(list(walk(trie, 1)[-1].values())).flip(0)
    children = trie.children(nodes, 1)
    pairs = list(zip(children.owner.tolist(), children.code.tolist(), strict=True))
    assert pairs == sorted(pairs) and len(set(pairs)) == len(pairs)


def test_one_prefix_may_be_given_twice():
    _, trie = build([[0, 1], [0, 2], [1, 1]], (3, 4))
    shared, alone = walk(trie, 1)[-1][(0,)], walk(trie, 1)[-1][(1,)]
    children = trie.children(torch.tensor([shared, alone, shared]), 1)
    assert children.owner.tolist() == [0, 0, 1, 2, 2]
    assert children.code.tolist() == [1, 2, 1, 1, 2]


def test_items_that_share_all_codes_but_the_last_are_reached():
    codes = [[1, 7, 7, 7, last] for last in range(9) for _ in range(3)]
    _, trie = build(codes, (3, 9, 9, 9, 9))
    assert set(walk(trie, 5)[-1]) == {tuple(row) for row in codes}


def long_tailed_codes(n: int, rng: np.random.Generator) -> np.ndarray:
    """Nine codes; many items share most of their codes with another."""
    codes = rng.integers((3,) + (4096,) * 8, size=(n, 9))
    codes[:, 1:] = np.minimum(codes[:, 1:], rng.integers(4096, size=(n, 8)))
    like, depth = rng.integers(n // 20, size=n), rng.integers(10, size=n)
    return np.where(np.arange(9) < depth[:, None], codes[like], codes)


@pytest.mark.parametrize("scanned", [trie_module.MAX_SCANNED], indirect=True)
@pytest.mark.parametrize("kind", ["uniform", "long-tailed", "in pairs", "in chains"])
def test_table_and_trie_take_at_most_25_bytes_per_item(kind):
    n = 60_000
    sizes = (3,) + (4096,) * 8
    rng = np.random.default_rng(7)
    uniform = rng.integers(sizes, size=(n, 9))
    chains = np.zeros((n, 9), dtype=int)
    chains[:, 1], chains[:, 8] = np.arange(n) // 129, np.arange(n) % 129  # crowded at every level
    codes = {
        "uniform": uniform,
        "long-tailed": long_tailed_codes(n, rng),
        "in pairs": uniform[np.arange(n) // 2],
        "in chains": chains,
    }[kind]
    table, trie = build(codes, sizes)
    assert table.nbytes + trie.nbytes <= 25 * n


def test_a_trie_from_known_crowded_prefixes_equals_one_that_finds_them():
    sizes = (3, 9, 9)
    table, trie = build(np.random.default_rng(3).integers(sizes, size=(300, 3)), sizes)
    assert walk(Trie(table, crowded=trie.crowded), 3) == walk(trie, 3)


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_below_a_prefix_only_its_ids_are_reached_and_items_keep_their_numbers(sizes, n):
    codes = np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))
    _, trie = build(codes, sizes)
    everything = walk(trie, len(sizes))
    assert trie.first_codes.tolist() == np.unique(codes[:, 0]).tolist()
    for given in range(len(sizes) + 1):
        prefix = tuple(codes[n // 2, :given].tolist())
        assert (
            trie.below(prefix).first_codes.tolist()
            == np.unique(codes[:, 0] if not given else prefix[0]).tolist()
        )
        for length, found in enumerate(walk(trie.below(prefix), len(sizes))):
            shared = min(length, given)
            assert found == {
                codes: node
                for codes, node in everything[length].items()
                if codes[:shared] == prefix[:shared]
            }
    assert trie.prefix == ()
