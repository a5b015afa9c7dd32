"""genius/evaluation/speed/growth.py and quality.py: figures against their meaning."""

import numpy as np
import pytest
import torch

from genius.evaluation.speed import quality
from genius.evaluation.speed.growth import measure_growth
from genius.evaluation.speed.quality import agreement, certificates, hit_rates
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from tests.evaluation.tiny_speed import CONFIG, shrink, tiny_world

BEAMS = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        return tiny_world("realistic", tmp_path_factory.mktemp("work"))


def test_the_pool_is_that_of_the_ids_and_its_bytes_are_those_of_its_arrays(made):
    world, pool = made
    measured, figures = measure_growth(world.packed, CONFIG.code_sizes, seed=0)

    assert np.array_equal(measured.table.packed, pool.table.packed)
    assert np.array_equal(measured.table.rows, pool.table.rows)
    assert figures["items"] == len(world.packed)
    parts = figures["bytes_per_item"]
    assert parts["IDs"] == world.packed.shape[1]
    assert parts["all"] == pytest.approx(parts["IDs"] + parts["rows and shared IDs"] + parts["trie"])
    assert parts["all"] == (pool.table.nbytes + pool.trie.nbytes) / len(pool.table)
    assert all(figures[name] > 0 for name in figures if name.endswith("_seconds"))


def test_exact_search_agrees_with_generate(made):
    found = agreement(*made, BEAMS, queries=3)

    assert found["common_ids"] == 1.0
    assert 0 <= found["largest_difference"] < 1e-4


def test_a_difference_of_scores_is_noticed(made, monkeypatch):
    class Shifted(IncrementalDecoder):
        def step(self, *arguments, **named):
            return super().step(*arguments, **named) + 0.25

    monkeypatch.setattr(quality, "IncrementalDecoder", Shifted)

    assert agreement(*made, BEAMS, queries=2)["largest_difference"] == pytest.approx(CONFIG.levels * 0.25, abs=1e-3)


def test_certificates_are_rates_of_certified_queries_by_how_many_must_be_best(made):
    world, pool = made
    rates = certificates(world, pool, BEAMS, queries=40)

    features = torch.from_numpy(world.vectors.queries(len(pool.table), 40, quality.DRAW)[0])
    found = beam_search(IncrementalDecoder(world.decoder), features, pool.trie, BEAMS, certify=True)
    assert rates == {str(best): pytest.approx(found.certified(best).float().mean().item()) for best in (1, 10, BEAMS)}
    assert 0 < rates[str(BEAMS)] < rates["1"]


def test_hit_rates_agree_with_looking_at_every_query(made):
    world, pool = made
    rates = hit_rates(world, pool, BEAMS, 1.0, queries=quality.TOGETHER)["modes"]

    queries, sought = world.vectors.queries(len(pool.table), quality.TOGETHER, quality.DRAW)
    embeddings = world.embeddings(len(pool.table)).astype(np.float32)
    found = beam_search(IncrementalDecoder(world.decoder), torch.from_numpy(queries), pool.trie, BEAMS)
    kept, hit, items = [], [], []
    for query in range(len(queries)):
        below = [
            int(row)
            for low, high in zip(found.low[query], found.high[query], strict=True)
            for row in pool.table.rows[low:high]
        ]
        best = sorted(below, key=lambda row: -float(embeddings[row] @ queries[query]))[: quality.CUT]
        kept.append(sought[query] in below)
        hit.append(sought[query] in best)
        items.append(len(below))
    for mode in ("exact", "set"):
        assert rates[mode]["candidate_recall"] == pytest.approx(np.mean(kept))
        assert rates[mode]["hit@5"] == pytest.approx(np.mean(hit))
        assert rates[mode]["items"] == pytest.approx(np.mean(items))
    assert rates["exact"]["rows"] == pytest.approx(1 + 3 + 2 * BEAMS)
    assert rates["fast"]["most_items"] <= 500
    assert rates["geometry"]["rows"] <= rates["exact"]["rows"]
