"""genius/evaluation/speed/hf_generate.py against the trie as a set of prefixes, and against our exact search."""

import sys

import numpy as np
import pytest
import torch

from genius.evaluation.speed.hf_generate import HFGenerate, nested_bytes, nested_callback, nested_trie, trie_callback
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from tests.evaluation.tiny_speed import CONFIG, tiny_setup


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "geometry"])
def setup(request, tmp_path_factory):
    return tiny_setup(tmp_path_factory.mktemp("work"), beams=7, geometry=request.param)


def callbacks(setup):
    decoder = setup.workload.decoder
    return {
        "nested": nested_callback(nested_trie(setup.workload.packed, decoder)),
        "pool": trie_callback(setup.pool, decoder),
    }


def test_the_allowed_tokens_are_those_that_follow_the_prefix_in_an_id(setup):
    tokens = setup.pool.table.codes(np.arange(setup.items)) + np.array(CONFIG.offsets)
    for allowed in callbacks(setup).values():
        for length in range(CONFIG.levels):
            for prefix in {tuple(row[:length]) for row in tokens.tolist()[::37]}:
                following = {int(row[length]) for row in tokens if tuple(row[:length]) == prefix}
                assert sorted(allowed(0, torch.tensor([0, *prefix]))) == sorted(following)


def test_an_invalid_prefix_is_a_dead_end(setup):
    for allowed in callbacks(setup).values():
        assert allowed(0, torch.tensor([0, 1])) == [0]
        assert allowed(0, torch.tensor([0, 3, 2])) == [0]


@pytest.mark.parametrize("trie", ["nested", "pool"])
def test_exact_search_finds_the_ids_and_scores_of_generate(setup, trie):
    features = setup.workload.draw_queries(4, 1).z
    codes, scores = HFGenerate(setup.workload.decoder, callbacks(setup)[trie], setup.beams)(features)
    found = beam_search(IncrementalDecoder(setup.workload.decoder), features, setup.pool.trie, setup.beams)

    for query in range(4):
        generated = dict(zip(map(tuple, codes[query].tolist()), scores[query].tolist(), strict=True))
        exact_codes = setup.pool.table.codes(found.low[query].numpy()).tolist()
        exact = dict(zip(map(tuple, exact_codes), found.scores[query].tolist(), strict=True))
        assert exact.keys() == generated.keys() and len(exact) == setup.beams
        for key, score in exact.items():
            assert score == pytest.approx(generated[key], abs=1e-4)


def test_bytes_of_a_nested_trie_count_every_dict_and_every_key():
    trie = {1: {2: {}}, 3: {}}

    dicts = [trie, trie[1], trie[1][2], trie[3]]
    assert nested_bytes(trie) == sum(map(sys.getsizeof, dicts)) + sum(map(sys.getsizeof, (1, 2, 3)))
