"""genius/evaluation/speed/agreement.py and index_cost.py: figures against their meaning."""

import numpy as np
import pytest

from genius.evaluation.speed import agreement as module
from genius.evaluation.speed.agreement import ROUND, agreement, certified_shares
from genius.evaluation.speed.index_cost import CHANGED, measure_index_cost
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.trie.pool import Pool
from tests.evaluation.tiny_speed import CONFIG, tiny_setup


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    return tiny_setup(tmp_path_factory.mktemp("work"))


def test_the_pool_is_that_of_the_ids_and_its_bytes_are_those_of_its_arrays(setup):
    measured, costs = measure_index_cost(setup.workload.packed, CONFIG.code_sizes, seed=0)

    assert np.array_equal(measured.table.packed, setup.pool.table.packed)
    assert np.array_equal(measured.table.rows, setup.pool.table.rows)
    assert costs["items"] == setup.items
    parts = costs["bytes_per_item"]
    assert parts["IDs"] == setup.workload.packed.shape[1]
    assert parts["all"] == pytest.approx(parts["IDs"] + parts["rows and shared IDs"] + parts["trie"])
    assert parts["all"] == (setup.pool.table.nbytes + setup.pool.trie.nbytes) / setup.items
    assert all(costs[name] > 0 for name in costs if name.endswith("_seconds"))


def test_as_many_items_change_as_the_report_says_even_where_the_pool_is_small(setup, monkeypatch):
    changed = {"inserted": [], "removed": []}
    for name, counts in changed.items():
        method = getattr(Pool, name)
        monkeypatch.setattr(
            Pool,
            name,
            lambda pool, *rows, method=method, counts=counts: counts.append(len(rows[-1])) or method(pool, *rows),
        )
    assert setup.items < CHANGED

    _, costs = measure_index_cost(setup.workload.packed, CONFIG.code_sizes, seed=0)

    assert changed == {"inserted": [1000, 1], "removed": [1000]}
    assert {"insert_1000_seconds", "remove_1000_seconds", "insert_1_seconds"} <= costs.keys()


def test_exact_search_agrees_with_generate(setup):
    found = agreement(setup, queries=3)

    assert found["common_ids"] == 1.0
    assert 0 <= found["largest_difference"] < 1e-4


def test_a_difference_of_scores_is_reported(setup, monkeypatch):
    class Shifted(IncrementalDecoder):
        def step(self, *arguments, **named):
            return super().step(*arguments, **named) + 0.25

    monkeypatch.setattr(module, "IncrementalDecoder", Shifted)

    assert agreement(setup)["largest_difference"] == pytest.approx(CONFIG.levels * 0.25, abs=1e-3)


def test_ids_that_only_one_search_finds_are_not_common(setup, monkeypatch):
    class Reversed(IncrementalDecoder):
        def step(self, *arguments, **named):
            return -super().step(*arguments, **named)

    monkeypatch.setattr(module, "IncrementalDecoder", Reversed)

    assert agreement(setup)["common_ids"] < 0.5


def test_certified_shares_are_those_of_the_exact_search(setup):
    shares = certified_shares(setup, queries=40)

    z = setup.workload.draw_queries(40, ROUND).z
    found = beam_search(IncrementalDecoder(setup.workload.decoder), z, setup.pool.trie, setup.beams)
    assert shares == {
        str(best): pytest.approx(found.certified(best).float().mean().item()) for best in (1, 10, setup.beams)
    }
