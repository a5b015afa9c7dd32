"""Compare an engine on shards with one on one machine, by every number of their results."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from genius.cluster.router import RouterEngine
from genius.cluster.shard import Answer, ScanQuestion, Shard
from genius.index.partitions import Share
from genius.schema import ORDERS, Modality, Query, SearchOptions, SearchResult
from genius.search.engine import Engine
from genius.search.retrieval import EncodedQueries

BATCH = 32


class LocalShards:
    """The shards of a run in this process; those in `silent` give no answer."""

    def __init__(self, run: Path, count: int):
        self.shards = [Shard(run, Share(number, count)) for number in range(1, count + 1)]
        self.silent: set[int] = set()

    def scan(self, question: ScanQuestion) -> Sequence[Answer | None]:
        answers = [shard.scan(question) for shard in self.shards]
        return [None if number in self.silent else answer for number, answer in enumerate(answers)]

    def take(self, version: str) -> None:
        for shard in self.shards:
            shard.take(version)


def on_shards(run: Path, count: int) -> RouterEngine:
    return RouterEngine.load(run, "cpu").connect(LocalShards(run, count))


def every_option(engine: Engine, order: str | None, mode: str = "scan") -> Iterator[SearchOptions]:
    """The order with every filter that the index has items for."""
    prefix = tuple(engine.index.codes([7])[0, :2].tolist())
    kinds = [kind for kind in Modality if (engine.index.modalities == kind).any()]
    yield SearchOptions(mode=mode, order=order, k=10)
    yield SearchOptions(mode=mode, order=order, k=300)
    yield SearchOptions(mode=mode, order=order, k=5, prefix=prefix)
    yield from (SearchOptions(mode=mode, order=order, k=5, modality=kind) for kind in kinds)
    if engine.index.config.trained < engine.index.n:
        yield SearchOptions(mode=mode, order=order, k=5, added=True)


def orders_of(engine: Engine) -> list[str]:
    return [order for order in ORDERS if order != "fused" or engine.index.fused is not None]


def vectors(engine: Engine, count: int, seed: int = 0) -> EncodedQueries:
    """Vectors near those of items, as queries are."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, engine.index.n, count)
    near = [
        engine.index.embeddings,
        engine.index.embeddings if engine.index.fused is None else engine.index.fused,
    ]
    given = [stored[rows].astype(np.float32) for stored in near]
    given = [some + rng.normal(0, 0.05, some.shape).astype(np.float32) for some in given]
    return EncodedQueries.from_vectors(*given)


def assert_same_answers(
    one: Engine,
    other: Engine,
    queries: EncodedQueries | list[Query],
    options: SearchOptions | None = None,
) -> None:
    """Of queries, or of their vectors."""
    both = (
        (each.search_encoded if isinstance(queries, EncodedQueries) else each.search)(
            queries, options
        )
        for each in (one, other)
    )
    assert_equal(*both)


def assert_equal(one: Sequence[SearchResult], other: Sequence[SearchResult]) -> None:
    """To the last bit, but for the times."""
    assert len(one) == len(other)
    for mine, its in zip(one, other):
        for field in fields(SearchResult):
            if field.name not in ("milliseconds", "thumbnail"):
                same = getattr(mine, field.name), getattr(its, field.name)
                assert (
                    np.array_equal(*same) if isinstance(same[0], np.ndarray) else same[0] == same[1]
                ), field.name
