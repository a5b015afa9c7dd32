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
    pytest.param((3, 1, 1, 1, 9), 27, id="equal but for the last code"),
]


def random_codes(sizes: tuple[int, ...], n: int) -> np.ndarray:
    return np.random.default_rng(n).integers(sizes, size=(n, len(sizes)))


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_exactly_the_prefixes_of_the_ids_are_reached_each_with_the_items_below_it(sizes, n):
    table, trie = build(random_codes(sizes, n), sizes)
    keys = [tuple(row) for row in table.codes(np.arange(n)).tolist()]
    for length, prefixes in enumerate(walk(trie, len(sizes))):
        assert set(prefixes) == {key[:length] for key in keys}
        nodes = torch.tensor(list(prefixes.values()))
        ranges = zip(*trie.ranges(nodes), strict=True)
        assert trie.item_counts(nodes).sum() == n
        for (prefix, node), (low, high) in zip(prefixes.items(), ranges, strict=True):
            below = [place for place, key in enumerate(keys) if key[:length] == prefix]
            assert below == list(range(low, high))
            # of one ID the node is its number
            assert node == ~low if len({keys[place] for place in below}) == 1 else node > 0


def test_children_are_ordered_by_owner_then_by_code():
    _, trie = build(random_codes((3, 9, 9), 150), (3, 9, 9))
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
    table, trie = build(random_codes(sizes, 300), sizes)
    assert walk(Trie(table, crowded=trie.crowded), 3) == walk(trie, 3)


@pytest.mark.parametrize("sizes, n", SHAPES)
def test_below_a_prefix_only_its_ids_are_reached_and_items_keep_their_numbers(sizes, n):
    codes = random_codes(sizes, n)
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
