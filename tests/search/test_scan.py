"""genius/search/scan.py on both of its paths, against distances worked out one item at a time in
float64.
"""

from concurrent.futures import Future

import numba
import numpy as np
import pytest
import torch

from genius.search import scan as module
from genius.search import scan_kernel
from genius.search.scan import FEW, Codewords, Scan, compiling
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.waiting import forked

DIM = 5
COMPILED = pytest.mark.parametrize("compiled", [True, False])
LAYOUTS = [
    (3, 4, 5, 6),
    (3, 256, 256),
    (3, 256, 256, 256, 256, 256, 256, 256, 256),
    (3, 4096, 4096, 4096),
    (7, 60_000, 2),
]


def world(sizes, n: int, whole_numbers: bool = False, seed: int = 0) -> tuple[Pool, Codewords]:
    """Items of which many begin alike and some share an ID. whole_numbers: so few that many scores
    are equal.
    """
    rng = np.random.default_rng(seed)
    some = [rng.integers(size, size=min(size, 4)) for size in sizes]
    codes = np.stack([rng.choice(choices, size=n) for choices in some], axis=1)
    pool = Pool.build(pack(codes, sizes), sizes, rng.permutation(n))
    words = [
        rng.integers(-1, 2, (size, DIM)) if whole_numbers else rng.normal(size=(size, DIM))
        for size in sizes
    ]
    return pool, Codewords([torch.from_numpy(book.astype(np.float32)) for book in words])


def queries(count: int, whole_numbers: bool = False) -> torch.Tensor:
    drawn = torch.randn(count, DIM, generator=torch.Generator().manual_seed(1))
    return drawn.round() if whole_numbers else drawn


def scan_of(pool: Pool, codewords: Codewords, compiled: bool, monkeypatch) -> Scan:
    scan = Scan(pool, codewords)
    if compiled:
        compiling(pool.table.code_sizes).result()
    else:
        monkeypatch.setattr(scan, "_kernels", None)
    return scan


def distances(pool: Pool, codewords: Codewords, z: np.ndarray) -> np.ndarray:
    """(n,) −‖z − ẑ‖² of each position."""
    books = [book.double().numpy() for book in codewords.codebooks]
    codes = pool.table.codes(np.arange(len(pool.table)))
    vectors = sum(book[column] for book, column in zip(books, codes.T))
    return -((z - vectors) ** 2).sum(1)


@COMPILED
@pytest.mark.parametrize("sizes", LAYOUTS)
@pytest.mark.parametrize("n, k, block", [(1, 3, 7), (300, 7, 7), (300, 400, 1 << 16)])
def test_the_nearest_items_are_found_whatever_the_layout_of_their_ids(
    sizes, n, k, block, compiled, monkeypatch
):
    monkeypatch.setattr(module, "ITEMS_IN_MEMORY", block)
    pool, codewords = world(sizes, n)
    scan = scan_of(pool, codewords, compiled, monkeypatch)
    z = queries(FEW + 1)
    for asked in (z, z[:1]):
        found = scan.best(asked, k)
        for query, position, score in zip(
            asked.double().numpy(), found.positions, found.scores, strict=True
        ):
            expected = distances(pool, codewords, query)
            kept = position[:n].tolist()
            assert min(kept) >= 0 and len(set(kept)) == min(n, k)
            np.testing.assert_allclose(score[:n] - (query**2).sum(), expected[kept], atol=1e-4)
            np.testing.assert_allclose(expected[kept], -np.sort(-expected)[:k], atol=1e-4)
            assert (position[n:] == -1).all() and torch.isneginf(score[n:]).all()


@COMPILED
@pytest.mark.parametrize("block", [11, 1 << 16])
def test_equal_scores_are_in_the_order_of_the_table(block, compiled, monkeypatch):
    monkeypatch.setattr(module, "ITEMS_IN_MEMORY", block)
    pool, codewords = world((3, 4, 5, 6), 400, whole_numbers=True)
    z = queries(FEW + 3, whole_numbers=True)
    found = scan_of(pool, codewords, compiled, monkeypatch).best(z, 50)
    for query, positions in zip(z.double().numpy(), found.positions.tolist(), strict=True):
        expected = distances(pool, codewords, query)
        assert positions == np.argsort(-expected, kind="stable")[:50].tolist()


@pytest.mark.parametrize("count", [1, FEW + 3])
def test_compiled_or_not_the_scores_are_the_same_to_the_last_bit(count, monkeypatch):
    pool, codewords = world((3, 256, 256), 400)
    mine, plain = (
        scan_of(pool, codewords, how, monkeypatch).best(queries(count), 50) for how in (True, False)
    )
    assert all(map(torch.equal, mine, plain))


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(module, "ITEMS_IN_MEMORY", 16)
    pool, codewords = world((3, 256, 256), 500)
    scan = scan_of(pool, codewords, True, monkeypatch)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        module._threads.cache_clear()
        results.append(torch.stack(scan.best(queries(9), 20)))
    module._threads.cache_clear()
    assert all(torch.equal(found, results[0]) for found in results)


@COMPILED
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, FEW + 1])
@pytest.mark.parametrize(
    "sizes, length, per_prefix", [((3, 4, 5, 6), 2, 1000), ((3, 4, 5, 6), 3, 1), ((3, 9), 2, 1)]
)
def test_the_nearest_prefixes_hold_the_share(
    share, count, sizes, length, per_prefix, compiled, monkeypatch
):
    monkeypatch.setattr(module, "ITEMS_IN_MEMORY", 11)
    monkeypatch.setattr(module, "PER_PREFIX", per_prefix)
    monkeypatch.setattr(module, "SHARES", {2: share, 3: share})
    pool, codewords = world(sizes, 300)
    scan = scan_of(pool, codewords, compiled, monkeypatch)
    z = queries(count)
    found = scan.near(z, 300)
    whole = scan.best(z, 300)
    codes = [tuple(codes) for codes in pool.table.codes(np.arange(300))[:, :length].tolist()]
    books = [book.double().numpy() for book in codewords.codebooks]
    for query, positions, everything in zip(
        z.double().numpy(), found.positions.tolist(), whole.positions.tolist()
    ):
        vectors = {prefix: sum(book[code] for book, code in zip(books, prefix)) for prefix in codes}
        nearest = sorted(vectors, key=lambda prefix: ((query - vectors[prefix]) ** 2).sum())
        held = np.cumsum([codes.count(prefix) for prefix in nearest])
        chosen = nearest[: int(np.searchsorted(held, share * 300)) + 1]
        expected = [position for position in everything if codes[position] in chosen]
        assert positions[: len(expected)] == expected and set(positions[len(expected) :]) <= {-1}


def test_without_a_folder_for_its_cache_the_loop_is_compiled_all_the_same(monkeypatch):
    compile_it = numba.njit

    def no_folder(*given, cache=False, **named):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_it(*given, **named)

    monkeypatch.setattr(scan_kernel.numba, "njit", no_folder)
    assert scan_with(compiling.__wrapped__((3, 9)), monkeypatch) is None


def test_where_numba_cannot_compile_torch_scans_and_a_warning_says_so(monkeypatch, caplog):
    monkeypatch.setattr(scan_kernel, "build_kernels", lambda sizes: {}[sizes])
    assert isinstance(scan_with(compiling.__wrapped__((3, 9)), monkeypatch), KeyError)
    assert "numba cannot compile here ((3, 9))" in caplog.text


def test_a_search_does_not_wait_for_the_compiler(monkeypatch):
    pool, codewords = world((3, 4, 5), 60)
    scan = Scan(pool, codewords)
    monkeypatch.setattr(scan, "_kernels", Future())  # never done
    assert sorted(scan.best(queries(1), 60).positions[0].tolist()) == list(range(60))


def scan_with(kernels: Future, monkeypatch) -> BaseException | None:
    """Check a scan with these kernels, or without those that failed; why they did."""
    pool, codewords = world((3, 9), 50)
    expected = scan_of(pool, codewords, False, monkeypatch).best(queries(1), 9)
    scan = Scan(pool, codewords)
    failure = kernels.exception()  # waits
    monkeypatch.setattr(scan, "_kernels", kernels)
    assert torch.equal(scan.best(queries(1), 9).positions, expected.positions)
    return failure


def test_a_forked_process_scans_on_threads_of_its_own():
    module._threads().submit(int).result()
    assert forked(lambda: module._threads().submit(int).result(5)) == 0


@COMPILED
@pytest.mark.parametrize("method", ["best", "near"])
@pytest.mark.parametrize("alike", [True, False])
def test_first_codes_that_are_not_allowed_are_left_out(method, alike, compiled, monkeypatch):
    monkeypatch.setattr(module, "ITEMS_IN_MEMORY", 11)
    pool, codewords = world((3, 4, 5), 200)
    monkeypatch.setattr(module, "SHARES", {2: 1.0, 3: 1.0})
    first = pool.table.codes(np.arange(200))[:, 0]
    allowed = np.array(
        [[True, False, True]] * 2 if alike else [[True, False, True], [False, True, False]]
    )
    scan = scan_of(pool, codewords, compiled, monkeypatch)
    z = queries(2)
    found = getattr(scan, method)(z, 200, allowed=allowed)
    whole = scan.best(z, 200)
    for kinds, positions, everything in zip(
        allowed, found.positions.tolist(), whole.positions.tolist(), strict=True
    ):
        expected = [position for position in everything if kinds[first[position]]]
        assert positions[: len(expected)] == expected and set(positions[len(expected) :]) <= {-1}
