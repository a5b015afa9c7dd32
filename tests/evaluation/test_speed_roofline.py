"""genius/evaluation/speed/roofline.py against a count by hand, and against what PyTorch counts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from genius.evaluation.speed.roofline import matrix_rate, search_operations
from genius.models import vocabulary_head
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.tiny_speed import CONFIG


def test_operations_of_the_paper_size_are_those_of_a_count_by_hand():
    config = DecoderConfig()
    square, feed_forward = 2 * 512 * 512, 2 * 512 * 2048  # one beam times one matrix
    query = 2 * 768 * 512 * 30 + 6 * 2 * square * 30  # prefix embeddings, their keys and values
    layers = 6 * (4 * square + 2 * square + 2 * feed_forward)  # own q, k, v, out; cross q, out; up, down
    attention = 6 * 2 * 2 * 512 * np.mean([30 + codes for codes in range(1, 10)])  # scores, weighted values
    vocabulary, level = 2 * 512 * (3 + 3 + 8 * 4096), 2 * 512 * 4096

    assert search_operations(config, 0, True) == query
    assert search_operations(config, 354, True) == pytest.approx(query + 354 * (layers + attention + vocabulary))
    assert search_operations(config, 354, False) == pytest.approx(query + 354 * (layers + attention + level))
    assert search_operations(config, 354, True) / 1e9 == pytest.approx(27.8, abs=0.05)


@pytest.mark.parametrize("hidden", [0, 20])
def test_an_exact_search_multiplies_as_many_matrices_as_are_counted(hidden, monkeypatch):
    monkeypatch.setattr(vocabulary_head, "VOCABULARY_BLOCK", 1)  # no block holds tokens of several levels
    config, rng = replace(CONFIG, prefix_hidden=hidden), np.random.default_rng(0)
    decoder = IDDecoder(config).eval()
    codes = rng.integers(config.code_sizes, size=(90, config.levels))
    pool = Pool.build(pack(codes, config.code_sizes), config.code_sizes)
    incremental, features = IncrementalDecoder(decoder), torch.randn(2, config.dim)

    with FlopCounterMode(display=False) as counter:
        found = beam_search(incremental, features, pool.trie, 7)

    counted = {str(name): operations for name, operations in counter.get_flop_counts()["Global"].items()}
    matrices = counted.pop("aten.mm", 0) + counted.pop("aten.addmm", 0)
    beams = int(found.scored.sum())
    attention = 4 * config.layers * config.heads * config.head_width * (config.prefix + (config.levels + 1) / 2)
    assert beams == 2 * (1 + 3 + 7 + 7)
    assert matrices == pytest.approx(2 * search_operations(config, beams / 2, True) - beams * attention)
    assert sum(counted.values()) >= beams * attention  # beams see each other's keys, masked


def test_the_matrix_rate_is_that_of_the_fastest_try(monkeypatch):
    ticks = iter([0.0, 4.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr("genius.evaluation.speed.roofline.SIDE", 10)
    monkeypatch.setattr("genius.evaluation.speed.roofline.time.perf_counter", lambda: next(ticks))

    assert matrix_rate(torch.device("cpu"), torch.float32, tries=3) == 2 * 10**3 / 2.0
