from dataclasses import replace

import numpy as np
import pytest

from genius.explore.narrowing import OTHERS, SHOWN, narrowing
from genius.schema import Query, SearchOptions, SearchTrace
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


def considered(trace: SearchTrace):
    """prefix -> (trace of its level, its place there), of all prefixes in a trace."""
    known, open_prefixes = {}, [()]
    for level in trace.levels:
        prefixes = [open_prefixes[parent] + (int(code),) for parent, code in zip(level.parent, level.code, strict=True)]
        known |= {prefix: (level, place) for place, prefix in enumerate(prefixes)}
        open_prefixes = [prefix for prefix, kept in zip(prefixes, level.kept, strict=True) if kept]
    return known


@pytest.mark.parametrize("mode", ["exact", "set", "fast"])
def test_each_step_is_what_the_trace_and_the_ids_say(engine, table, mode):
    result = asked(engine, mode=mode)
    best, trace, codes = result.generated[0], considered(result.trace), engine.index.codes(range(engine.index.n))
    found = narrowing(result, table)
    assert (found.items, found.codes, found.place) == (len(codes), best.codes, 1)
    ids, left = {tuple(row) for row in codes.tolist()}, np.ones(len(codes), dtype=bool)
    for level, step in enumerate(found.steps):
        assert step.settled == (len({id for id in ids if id[:level] == best.codes[:level]}) == 1)
        left &= codes[:, level] == best.codes[level]
        assert step.chosen.items == left.sum() and set(step.shown) <= set(np.flatnonzero(left).tolist())
        assert len(set(step.shown)) == len(step.shown) == min(SHOWN, left.sum())
        if level >= best.depth:
            assert step.chosen.probability is None and not step.others and step.masked is None
            continue
        at, place = trace[best.codes[: level + 1]]
        shares = np.exp(at.step_log_prob - at.log_valid[at.parent])
        assert at.items[place] == step.chosen.items
        assert step.chosen.probability == pytest.approx(shares[place], abs=1e-6)
        assert step.masked == pytest.approx(1 - np.exp(at.log_valid[at.parent[place]]), abs=1e-6)
        beside = (at.parent == at.parent[place]) & (at.code != best.codes[level])
        order = np.flatnonzero(beside)[np.argsort(-shares[beside], kind="stable")][:OTHERS]
        assert [(other.code, other.items) for other in step.others] == [
            (int(at.code[other]), int(at.items[other])) for other in order
        ]


def test_probabilities_of_all_valid_codes_add_up_to_one(engine, table):
    result = asked(engine, mode="exact", beams=200)
    found = narrowing(result, table)
    for step in found.steps:
        if len(step.others) < OTHERS:
            assert sum(choice.probability for choice in (step.chosen, *step.others)) == pytest.approx(1, abs=1e-5)
    assert any(step.others for step in found.steps)


def test_the_id_of_a_result_may_be_followed_too(engine, table):
    result = asked(engine, mode="exact")
    ids = [one.codes for one in result.generated]
    hit = next(hit for hit in result.hits if hit.codes != ids[0])
    found = narrowing(result, table, hit.codes)
    assert found.codes == hit.codes and found.place == 1 + ids.index(hit.codes)
    assert hit.row in found.steps[-1].shown


@pytest.mark.parametrize("mode", ["exact", "set"])
def test_a_search_below_another_code_continues_the_steps(engine, table, mode):
    result = asked(engine, mode=mode)
    found = narrowing(result, table)
    level = max(level for level, step in enumerate(found.steps) if step.others)
    other = found.steps[level].others[0]
    prefix = (*found.codes[:level], other.code)
    below = again(engine, result, mode=mode, prefix=prefix)
    assert all(one.codes[: level + 1] == prefix for one in below.generated)
    branched = found.branched(level, other.code, narrowing(below, table))
    assert branched.codes == below.generated[0].codes and len(branched.steps) == LEVELS
    assert branched.steps[:level] == found.steps[:level] and branched.steps[level].chosen == other
    assert found.steps[level].chosen in branched.steps[level].others
    back = branched.branched(level, found.codes[level], found)
    assert back.codes == found.codes


def test_a_code_that_was_not_considered_is_refused(engine, table):
    found = narrowing(asked(engine), table)
    with pytest.raises(KeyError):
        found.branched(1, 4_000, found)


@pytest.mark.parametrize("faint", [21, 150])
def test_a_tiny_share_of_valid_codes_keeps_its_proportions(engine, table, faint):
    """The trie may mask all but a billionth, one minus which is zero in float32, or all but what float32 can hold."""
    result = asked(engine, mode="exact")
    first = result.trace.levels[0]
    less = np.float32(faint)
    masked = replace(first, step_log_prob=first.step_log_prob - less, log_valid=first.log_valid - less)
    changed = replace(result, trace=SearchTrace([masked, *result.trace.levels[1:]]))
    expected, found = (narrowing(one, table).steps[0] for one in (result, changed))
    assert expected.chosen.probability < 1
    assert found.chosen.probability == pytest.approx(expected.chosen.probability, rel=1e-4)
