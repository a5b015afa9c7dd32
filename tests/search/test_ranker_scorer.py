"""genius/search/ranker_scorer.py and the ranker's order, against sums worked out one candidate at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.models.ranker import Ranker, RankerConfig
from genius.schema import RANKER_PARTS, Modality, Query, SearchOptions
from genius.search.engine import Engine
from tests.search.tiny import DIM, publish_tiny_run, tiny_decoder

QUERIES = [Query(text="a red dog"), Query(text="a small house", instruction="Find the picture.")]


def drawn_ranker(seed: int = 3) -> Ranker:
    torch.manual_seed(seed)
    ranker = Ranker(RankerConfig(DIM))
    with torch.no_grad():
        for values in (ranker.weight, ranker.bias, ranker.residual_map, ranker.residual_bias):
            values.copy_(torch.randn(values.shape))
    return ranker.eval()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = publish_tiny_run(tmp_path_factory.mktemp("ranked") / "run")
    run.publish("ranker", drawn_ranker().save, ("encoder", "fusion", "quantizer", "decoder"))
    return run


@pytest.fixture(scope="module")
def engine(run):
    return Engine.load(run.path, "cpu")


def by_hand(engine, encoded, number, candidates, beams, at):
    """The parts of candidate `at` of query `number`, in float64."""
    ranker, index = drawn_ranker(), engine.index
    row = int(candidates.row[at])
    kind = int(index.modalities[row])
    e, z = (vectors[number].numpy().astype(np.float64) for vectors in (encoded.embeddings, encoded.z))
    item, codes = index.embeddings[row].astype(np.float64), index.codes([row])[0]
    quantized = sum(book[code].numpy().astype(np.float64) for book, code in zip(engine.quantizer.codebooks, codes))
    maps = ranker.residual_map.view(len(Modality), DIM, 2 * DIM).numpy().astype(np.float64)
    derived = quantized + maps[kind] @ np.concatenate([item, quantized]) + ranker.residual_bias[kind].numpy()
    low = beams.low[number].tolist()
    place = next(
        place
        for place, (first, last) in enumerate(zip(low, beams.high[number].tolist(), strict=True))
        if first <= candidates.id[at] < last
    )
    parts = [
        e @ item,
        z @ derived,
        (z**2).sum() - ((z - quantized) ** 2).sum() + 0 * place,
        float(beams.log_probs[number, place]),
        float(beams.first_log_probs[number, codes[0]]),
    ]
    return np.array(parts), kind


@pytest.mark.parametrize("mode", ["set", "fast", "exact"])
def test_parts_and_order_are_those_of_sums_by_hand(engine, mode):
    encoded, ranker = engine.encode(QUERIES), drawn_ranker()
    options = SearchOptions(beams=5, k=100, mode=mode, budget=9)
    found = engine.retrieve(encoded, options)
    candidates, weight, bias = found.candidates, ranker.weight.detach().numpy(), ranker.bias.detach().numpy()
    for number in range(len(QUERIES)):
        own = np.flatnonzero(candidates.query == number)
        parts, kinds = zip(*(by_hand(engine, encoded, number, candidates, found.beams, at) for at in own), strict=True)
        shares = np.array([[*(weight * values), bias[kind]] for values, kind in zip(parts, kinds, strict=True)])
        order = np.argsort(-shares.sum(1), kind="stable")
        assert found.ranked.rows[number][: len(own)].tolist() == candidates.row[own][order].tolist()
        assert (found.ranked.rows[number][len(own) :] == -1).all()
        np.testing.assert_allclose(found.ranked.shares[number][: len(own)], (shares - shares.mean(0))[order], atol=2e-3)
        np.testing.assert_allclose(found.ranked.cosines[number][: len(own)], np.array(parts)[order, 0], atol=1e-4)


@pytest.mark.parametrize("mode", ["set", "fast", "exact"])
def test_what_was_found_can_be_ordered_in_every_way_without_another_search(engine, mode, monkeypatch):
    encoded, options = engine.encode(QUERIES), SearchOptions(beams=5, k=100, mode=mode, budget=9)
    orders = [replace(options, ranking="ranker"), replace(options, ranking="cosine"), replace(options, rerank=False)]
    expected = [engine.retrieve(encoded, order) for order in orders]
    monkeypatch.setattr("genius.search.candidate_search.beam_search", None)
    for order, found in zip(orders, expected, strict=True):
        again = engine.reorder(expected[0], encoded, order)
        assert again.ranked.rows.tolist() == found.ranked.rows.tolist()
        np.testing.assert_allclose(again.ranked.cosines, found.ranked.cosines)
        assert again.milliseconds["beam"] == expected[0].milliseconds["beam"]


def test_hits_carry_the_shares_and_the_result_names_the_order(engine):
    (ranked,), (plain,), (generated,) = (
        engine.search(QUERIES[:1], SearchOptions(beams=8, k=4, **how))
        for how in ({}, {"ranking": "cosine"}, {"rerank": False})
    )

    assert (ranked.ranking, plain.ranking, generated.ranking) == ("ranker", "cosine", None)
    assert all(len(hit.shares) == len(RANKER_PARTS) + 1 for hit in ranked.hits)
    scores = [sum(hit.shares) for hit in ranked.hits]
    assert scores == sorted(scores, reverse=True)
    assert not any(hit.shares for hit in (*plain.hits, *generated.hits))


def test_the_published_order_is_that_of_a_run_without_a_ranker(engine, tmp_path):
    without = Engine.load(publish_tiny_run(tmp_path / "run").path, "cpu")
    options = SearchOptions(beams=8, k=9)

    plain = engine.search(QUERIES, replace(options, ranking="cosine"))
    today = without.search(QUERIES, options)

    assert not without.has_ranker and engine.has_ranker
    assert [[hit.item.id for hit in one.hits] for one in plain] == [[hit.item.id for hit in one.hits] for one in today]
    with pytest.raises(UserError, match="This run has no ranker"):
        without.search(QUERIES, replace(options, ranking="ranker"))
    with pytest.raises(UserError, match="ranking must be one of cosine, ranker"):
        engine.search(QUERIES, replace(options, ranking="best"))


def test_a_ranker_of_other_parts_or_a_damaged_one_is_refused(tmp_path):
    run = publish_tiny_run(tmp_path / "run", n=6)
    folder = run.publish("ranker", drawn_ranker().save, ("encoder", "fusion", "quantizer", "decoder"))
    weights = folder / "model.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:-1] + b"?")
    with pytest.raises(UserError, match="not the file that training wrote"):
        Engine.load(run.path, "cpu")
    weights.write_bytes(before)
    run.publish("decoder", tiny_decoder(seed=5).save, ("quantizer",))
    with pytest.raises(UserError, match="was built from another decoder.*python -m training.ranker"):
        Engine.load(run.path, "cpu")


def test_mode_fast_is_the_default_where_the_ranker_orders_the_results(engine):
    expected = {None: "fast", "ranker": "fast", "cosine": "set"}
    for ranking, mode in expected.items():
        (result,) = engine.search(QUERIES[:1], SearchOptions(beams=5, ranking=ranking))
        assert result.mode == mode
