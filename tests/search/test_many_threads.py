"""Many threads on one engine: thousands of queries from 16 threads give what one thread gives, with flat memory."""

import random
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from genius.schema import Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from tests.search.rounding import MARGIN, is_clear, traced
from tests.search.tiny import WORDS, publish_tiny_run

THREADS = 16
PARTS = 8  # of which the first fill caches, such as oneDNN's code for each number of rows
GROWTH = 2 << 20  # bytes a part; what leaks grows in every part, what the allocator keeps back in some
HOW = [SearchOptions(beams=10, k=5), SearchOptions(beams=7, k=8, order="score")]
STATM = Path("/proc/self/statm")


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine.load(publish_tiny_run(tmp_path_factory.mktemp("threads") / "run", n=200).path, "cpu")


def many_queries() -> list[Query]:
    """Texts, every fourth with a picture."""
    rng = np.random.default_rng(0)
    return [
        Query(
            text=" ".join(rng.choice(WORDS, 4)),
            image=Image.fromarray(rng.integers(0, 255, (20, 30, 3), dtype=np.uint8)) if i % 4 == 0 else None,
        )
        for i in range(120)
    ]


def answers(engine: Engine, options: SearchOptions) -> list[tuple[Query, SearchOptions, SearchResult]]:
    """What one thread gets; of those queries alone whose answer no rounding can change."""
    queries = many_queries()
    found, wider = (engine.search(queries, options), engine.search(queries, traced(options)))
    return [
        (query, options, result)
        for query, result, wide in zip(queries, found, wider, strict=True)
        if is_clear(wide, options.order != "score")
    ]


def alike(result: SearchResult, expected: SearchResult) -> bool:
    return (
        [hit.row for hit in result.hits] == [hit.row for hit in expected.hits]
        and {found.codes for found in result.generated} == {found.codes for found in expected.generated}
        and np.allclose([hit.log_prob for hit in result.hits], [hit.log_prob for hit in expected.hits], atol=MARGIN)
        and np.allclose([hit.cosine for hit in result.hits], [hit.cosine for hit in expected.hits], atol=MARGIN)
    )


def resident() -> int:
    """Bytes of this process in memory."""
    return int(STATM.read_text().split()[1]) * 4096


@pytest.mark.skipif(not STATM.exists(), reason="this system does not say how much memory a process has")
@pytest.mark.parametrize("asked", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_queries_from_sixteen_threads_give_what_one_gives_with_flat_memory(engine, asked):
    known = {options: answers(engine, options) for options in HOW}
    assert min(map(len, known.values())) > 60
    wrong, memory = [], []
    part = threading.Barrier(THREADS, action=lambda: memory.append(resident()))

    def ask(seed: int) -> None:
        """Groups of one to twelve queries with the same options."""
        rng = random.Random(seed)
        for _ in range(PARTS):
            left = asked // PARTS // THREADS + (seed < asked // PARTS % THREADS)
            while left:
                options = rng.choice(HOW)
                group = rng.choices(known[options], k=min(left, rng.randint(1, 12)))
                found = engine.search([query for query, _, _ in group], options)
                wrong.extend(
                    query
                    for result, (query, _, expected) in zip(found, group, strict=True)
                    if not alike(result, expected)
                )
                left -= len(group)
            part.wait()

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong
    assert np.diff(memory).min() < GROWTH, memory
