"""genius/evaluation/speed/floor.py against a count by hand, and against what PyTorch counts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from genius.evaluation.speed.floor import Operations, matrix_rate
from genius.models.decoder import DecoderConfig, IDDecoder
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.trie.ids import pack
from genius.trie.pool import Pool
from tests.evaluation.tiny_speed import CONFIG


def test_operations_of_the_paper_size_are_those_of_a_count_by_hand():
    found = Operations.of(DecoderConfig())

    square, feed = 2 * 512 * 512, 2 * 512 * 2048  # of one row times one matrix
    assert found.row == 6 * (4 * square + 2 * square + 2 * feed)  # own q, k, v, out; query's q, out; up, down
    assert found.query == 2 * 768 * 512 * 30 + 6 * 2 * square * 30  # prefix embeddings, their keys and values
    assert found.vocabulary == 2 * 512 * (3 + 3 + 8 * 4096)
    assert found.level == 2 * 512 * 4096
    keys = np.mean([30 + codes for codes in range(1, 10)])  # of the prefix, and the codes with the start
    assert found.attention == pytest.approx(6 * 2 * (2 * 512 * keys))  # scores, then the sum of values
    assert found.search(354, whole_vocabulary=True) / 1e9 == pytest.approx(27.8, abs=0.05)
    assert found.search(354, whole_vocabulary=False) == pytest.approx(
        found.query + 354 * (found.row + found.attention + found.level)
    )


@pytest.mark.parametrize("hidden", [0, 20])
def test_operations_are_two_for_each_weight_of_the_model(hidden):
    config = replace(CONFIG, prefix_hidden=hidden)
    decoder, found = IDDecoder(config), Operations.of(config)

    def weights(*parts) -> int:
        return sum(layer.weight.numel() for part in parts for layer in part.modules() if isinstance(layer, nn.Linear))

    crossing = [
        projection
        for block in decoder.t5.decoder.block
        for projection in (block.layer[1].EncDecAttention.k, block.layer[1].EncDecAttention.v)
    ]
    assert found.query == 2 * (weights(decoder.project) + config.prefix * weights(*crossing))
    assert found.row == 2 * (weights(decoder.t5.decoder) - weights(*crossing))
    assert found.vocabulary == 2 * weights(decoder.t5.lm_head)


def test_an_exact_search_multiplies_as_many_matrices_as_the_floor_counts():
    decoder, rng = IDDecoder(CONFIG).eval(), np.random.default_rng(0)
    codes = rng.integers(CONFIG.code_sizes, size=(90, CONFIG.levels))
    pool = Pool.build(pack(codes, CONFIG.code_sizes), CONFIG.code_sizes)
    cached, features = IncrementalDecoder(decoder), torch.randn(2, CONFIG.dim)

    with FlopCounterMode(display=False) as counter:
        found = beam_search(cached, features, pool.trie, 7)

    counted = {str(name): operations for name, operations in counter.get_flop_counts()["Global"].items()}
    matrices = counted.pop("aten.mm", 0) + counted.pop("aten.addmm", 0)
    operations, rows = Operations.of(CONFIG), int(found.rows.sum())
    assert rows == 2 * (1 + 3 + 7 + 7)
    assert matrices == 2 * operations.query + rows * (operations.row + operations.vocabulary)
    assert sum(counted.values()) >= rows * operations.attention  # beams see each other's rows, masked


def test_the_matrix_rate_is_of_the_fastest_try(monkeypatch):
    ticks = iter([0.0, 4.0, 10.0, 12.0, 20.0, 23.0])
    monkeypatch.setattr("genius.evaluation.speed.floor.SIDE", 10)
    monkeypatch.setattr("genius.evaluation.speed.floor.time.perf_counter", lambda: next(ticks))

    assert matrix_rate(torch.device("cpu"), torch.float32, tries=3) == 2 * 10**3 / 2.0
