from dataclasses import replace

import numpy as np
import pytest

from genius.explore.narrowing import OTHERS, SHOWN, narrowing
from genius.schema import LevelTrace, Query, SearchOptions
from genius.search.retrieval import EncodedQueries
from genius.trie.code_table import CodeTable
from tests.search.tiny import LEVELS

OPTIONS = SearchOptions(beams=7, k=6, trace=True)


@pytest.fixture(scope="module")
def table(engine):
    return CodeTable(engine.pool.table)


def asked(engine, text="A red dog.", **options):
    return engine.search([Query(text)], replace(OPTIONS, **options))[0]


def again(engine, result, **options):
    """The same query, by its vectors."""
    vectors = EncodedQueries.from_vectors(result.embedding[None], result.z[None])
    return engine.search_encoded(vectors, replace(OPTIONS, **options))[0]


def considered(trace: list[LevelTrace]):
    """prefix -> (trace of its level, its place there), of all prefixes in a trace."""
    known = {}
    open_prefixes = [()]
    for level in trace:
        prefixes = [
            open_prefixes[parent] + (int(code),)
            for parent, code in zip(level.parent, level.code, strict=True)
        ]
        known |= {prefix: (level, place) for place, prefix in enumerate(prefixes)}
        open_prefixes = [prefix for prefix, kept in zip(prefixes, level.kept, strict=True) if kept]
    return known


def narrowed(engine, table, result, codes=None):
    codes = codes or result.generated[0].codes
    return narrowing(result, table, codes, engine.code_log_probs(result.z, codes))


@pytest.mark.parametrize("mode", ["both", "generate"])
def test_each_step_is_what_the_trace_and_the_ids_say(engine, table, mode):
    result = asked(engine, mode=mode)
    best = result.generated[0]
    trace = considered(result.trace)
    codes = engine.index.codes(range(engine.index.n))
    found = narrowed(engine, table, result)
    assert (found.items, found.codes, found.place) == (len(codes), best.codes, 1)
    assert len(found.ranks) == LEVELS and all(at.kept for at in found.ranks)
    ids = {tuple(row) for row in codes.tolist()}
    left = np.ones(len(codes), dtype=bool)
    for level, step in enumerate(found.steps):
        assert step.settled == (len({id for id in ids if id[:level] == best.codes[:level]}) == 1)
        left &= codes[:, level] == best.codes[level]
        assert step.chosen.items == left.sum() and set(step.shown) <= set(
            np.flatnonzero(left).tolist()
        )
        assert len(set(step.shown)) == len(step.shown) == min(SHOWN, left.sum())
        at, place = trace[best.codes[: level + 1]]
        shares = np.exp(at.step_log_prob - at.log_valid[at.parent])
        assert at.items[place] == step.chosen.items
        assert step.chosen.probability == pytest.approx(shares[place], abs=1e-4)
        assert step.masked == pytest.approx(1 - np.exp(at.log_valid[at.parent[place]]), abs=1e-4)
        beside = (at.parent == at.parent[place]) & (at.code != best.codes[level])
        order = np.flatnonzero(beside)[np.argsort(-shares[beside], kind="stable")][:OTHERS]
        assert [(other.code, other.items) for other in step.others] == [
            (int(at.code[other]), int(at.items[other])) for other in order
        ]


@pytest.mark.parametrize("factor", [1, 4])
def test_every_result_says_where_the_beam_search_lost_it(engine, table, factor, monkeypatch):
    monkeypatch.setattr("genius.search.beam.TRACE_FACTOR", factor)
    result = asked(engine, beams=1, k=40)
    trace = considered(result.trace)
    generated = [one.codes for one in result.generated]
    seen = set()
    for hit in result.hits:
        found = narrowed(engine, table, result, hit.codes)
        assert found.codes == hit.codes
        assert found.place == (1 + generated.index(hit.codes) if hit.codes in generated else None)
        for level, at in enumerate(found.ranks):
            known = trace.get(hit.codes[: level + 1])
            assert at.rank == (None if known is None else known[1] + 1)
            assert at.beams == result.trace[level].kept.sum()
            assert at.kept == (level < len(found.ranks) - 1 or found.place is not None)
        seen.add((found.place is None, found.ranks[-1].rank is None))
    assert seen == {(False, False), (True, factor == 1)}
    (scanned,) = engine.search([Query("A red dog.")], replace(OPTIONS, mode="scan"))
    assert narrowed(engine, table, scanned, scanned.hits[0].codes).ranks == ()


def test_a_search_below_another_code_continues_the_steps(engine, table):
    result = asked(engine)
    found = narrowed(engine, table, result)
    level = max(level for level, step in enumerate(found.steps) if step.others)
    other = found.steps[level].others[0]
    prefix = (*found.codes[:level], other.code)
    below = again(engine, result, prefix=prefix)
    assert all(one.codes[: level + 1] == prefix for one in below.generated)
    branched = found.branched(level, other.code, narrowed(engine, table, below))
    assert branched.codes == below.generated[0].codes and len(branched.steps) == LEVELS
    assert branched.steps[:level] == found.steps[:level] and branched.steps[level].chosen == other
    assert found.steps[level].chosen in branched.steps[level].others
    back = branched.branched(level, found.codes[level], found)
    assert back.codes == found.codes


def test_a_code_that_was_not_considered_is_refused(engine, table):
    found = narrowed(engine, table, asked(engine))
    with pytest.raises(KeyError):
        found.branched(1, 4_000, found)


def test_a_tiny_share_of_valid_codes_keeps_its_proportions(engine, table):
    """The trie may mask all but what no float can hold."""
    result = asked(engine)
    codes = result.generated[0].codes
    log_probs = engine.code_log_probs(result.z, codes)
    expected, found = (
        narrowing(result, table, codes, [level - less for level in log_probs])
        for less in (0, 2_000)
    )
    for step, faint in zip(expected.steps, found.steps, strict=True):
        assert faint.chosen.probability == pytest.approx(step.chosen.probability, rel=1e-4)
        assert faint.masked == 1
