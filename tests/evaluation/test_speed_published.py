"""genius/evaluation/speed/published.py against the trie as a set of prefixes, and against our exact search."""

import sys

import numpy as np
import pytest
import torch

from genius.evaluation.speed.published import Generate, nested_bytes, nested_trie, read_nested, read_pool
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from tests.evaluation.tiny_speed import CONFIG, shrink, tiny_world

BEAMS = 7


@pytest.fixture(scope="module", params=["uniform", "realistic"])
def made(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        return tiny_world(request.param, tmp_path_factory.mktemp("work"))


def callbacks(world, pool):
    return {
        "nested": read_nested(nested_trie(np.asarray(world.packed), world.decoder)),
        "pool": read_pool(pool, world.decoder),
    }


def test_what_may_follow_a_prefix_is_what_follows_it_in_some_id(made):
    world, pool = made
    tokens = pool.table.codes(np.arange(len(pool.table))) + np.array(CONFIG.offsets)
    for allowed in callbacks(world, pool).values():
        for length in range(CONFIG.levels):
            for prefix in {tuple(row[:length]) for row in tokens.tolist()[::37]}:
                following = {int(row[length]) for row in tokens if tuple(row[:length]) == prefix}
                found = allowed(0, torch.tensor([0, *prefix]))
                assert sorted(found) == sorted(following)


def test_no_valid_prefix_is_followed_by_nothing_valid(made):
    world, pool = made
    for allowed in callbacks(world, pool).values():
        assert allowed(0, torch.tensor([0, 1])) == [0]
        assert allowed(0, torch.tensor([0, 3, 2])) == [0]


@pytest.mark.parametrize("trie", ["nested", "pool"])
def test_exact_search_finds_the_ids_and_scores_of_generate(made, trie):
    world, pool = made
    features = torch.from_numpy(world.vectors.queries(len(pool.table), 4, draw=1)[0])
    codes, scores = Generate(world.decoder, callbacks(world, pool)[trie], BEAMS)(features)
    found = beam_search(IncrementalDecoder(world.decoder), features, pool.trie, BEAMS)

    for query in range(4):
        theirs = dict(zip(map(tuple, codes[query].tolist()), scores[query].tolist(), strict=True))
        mine = dict(
            zip(
                map(tuple, pool.table.codes(found.low[query].numpy()).tolist()),
                found.scores[query].tolist(),
                strict=True,
            )
        )
        assert mine.keys() == theirs.keys() and len(mine) == BEAMS
        for key, score in mine.items():
            assert score == pytest.approx(theirs[key], abs=1e-4)


def test_bytes_of_a_nested_trie_count_every_dict_and_every_key():
    trie = {1: {2: {}}, 3: {}}

    dicts = [trie, trie[1], trie[1][2], trie[3]]
    assert nested_bytes(trie) == sum(map(sys.getsizeof, dicts)) + sum(map(sys.getsizeof, (1, 2, 3)))
