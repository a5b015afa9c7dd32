"""training/ranker.py on a tiny run, and its parts against slow versions."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.models.ranker import Ranker, RankerConfig
from genius.run import Run
from genius.schema import RANKER_PARTS, Query, SearchOptions
from genius.search.engine import Engine
from training import ranker
from training.pairs import unseen_queries
from training.ranker import CandidateLists, cross_validated_scores, fit


def lists(queries: int = 80, length: int = 12, seed: int = 0) -> CandidateLists:
    """The target is the candidate with the best `quantized`; the other parts are noise. Two lists for each query."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(queries * length, len(RANKER_PARTS))) * [1, 0.1, 3, 10, 1]
    best = parts[:, 2].reshape(queries, length).argmax(1) + length * np.arange(queries)
    return CandidateLists(
        np.repeat(np.arange(queries), length),
        torch.from_numpy(parts).float(),
        torch.from_numpy(rng.integers(3, size=queries * length)),
        torch.from_numpy(np.isin(np.arange(queries * length), best)),
        np.arange(queries) // 2,
        np.arange(queries) % 3,
        np.full(queries, 1),
    )


def test_the_command_adds_a_ranker_to_the_run_which_then_orders_results(path, collection, monkeypatch, capsys):
    assert not Engine.load(path, "cpu").has_ranker and not Run(path).is_current("ranker")
    monkeypatch.setattr(ranker, "MIN_QUERIES", 5)

    ranker.main([str(collection.root), str(path), "--device", "cpu"])

    said = capsys.readouterr().out
    assert "by cosine" in said and "by ranker" in said and "pair" in said
    assert Run(path).is_current("ranker")
    (result,) = Engine.load(path, "cpu").search([Query(text="A red boat.")], SearchOptions(beams=5, k=3))
    assert result.order == "ranker" and all(np.isfinite(hit.shares).all() for hit in result.hits)


def test_too_few_validation_queries_are_refused_and_nothing_changes(path, collection, monkeypatch):
    monkeypatch.setattr(ranker, "MIN_QUERIES", 1000)
    before = (path / "manifest.json").read_bytes()
    with pytest.raises(UserError, match="needs 1000 lists .*; there are .*: add queries to the val split"):
        ranker.train(collection.root, path, "cpu")
    with pytest.raises(UserError, match="is not a run"):
        ranker.train(collection.root, path / "nowhere", "cpu")
    assert (path / "manifest.json").read_bytes() == before


def test_a_ranker_learns_among_what_a_search_shows_where_the_run_reads_requests(path, collection, monkeypatch):
    monkeypatch.setattr(ranker, "MIN_QUERIES", 5)
    fitted: list[CandidateLists] = []
    monkeypatch.setattr(ranker, "fit", lambda model, lists: fitted.append(lists))
    kinds = {}
    for part in ("reader", "encoder"):  # which the run has not, and has
        monkeypatch.setattr(ranker, "READER", part)
        ranker.train(collection.root, path, "cpu")
        lists = fitted[-1]
        kinds[part] = [len(set(lists.modality[lists.query == query].tolist())) for query in range(len(lists.row))]
    assert max(kinds["reader"]) > 1 and set(kinds["encoder"]) == {1}


def test_the_part_that_decides_gets_the_weight():
    given, model = lists(), Ranker(RankerConfig(1))

    fit(model, given)

    weight = model.weight.detach() * given.parts.std(0)  # in units of the parts' spreads
    assert weight[2] > 4 * weight[[0, 1, 3, 4]].abs().amax()
    scores = model(given.parts, given.modality)[0].detach()
    assert given.hits(scores).mean() > 0.9 > 0.3 > given.hits(given.parts[:, 0]).mean()


def test_the_fit_is_the_minimum_of_the_listwise_loss():
    given, model = lists(40), Ranker(RankerConfig(1))
    fit(model, given)
    center, spread = given.parts.mean(0), given.parts.std(0)

    def loss(weight: torch.Tensor, bias: torch.Tensor) -> float:
        scores, total = given.parts @ weight + bias[given.modality], 0.0
        rows = np.unique(given.row)
        for number in range(len(given.row)):
            own = torch.from_numpy(given.query == number)
            chance = scores[own].softmax(0)[given.positive[own]].sum()
            total -= float(chance.log()) / (given.row == given.row[number]).sum() / len(rows)
        scaled, moved = weight * spread, bias + weight @ center
        return total + ranker.PENALTY * float(scaled.square().sum() + moved.square().sum())

    weight, bias = model.weight.detach(), model.bias.detach()
    least = loss(weight, bias)
    generator = torch.Generator().manual_seed(0)
    for _ in range(10):
        moved = 0.05 * torch.randn(weight.shape, generator=generator) / spread
        assert loss(weight + moved, bias - moved @ center) > least - 1e-5


def test_the_ridge_is_the_one_that_explains_items_it_was_not_fitted_on_best(monkeypatch):
    rng, dim, n = np.random.default_rng(0), 12, 60
    book = SimpleNamespace(codebook_0=torch.zeros(1), decode=lambda codes: torch.zeros(len(codes), dim))
    embeddings = rng.normal(size=(n, dim)).astype(np.float32)
    fused = embeddings @ rng.normal(size=(dim, dim)) / 4 + rng.normal(size=(n, dim)) * 3  # much noise
    kinds, codes = np.ones(n, dtype=np.uint8), np.zeros((n, 2), dtype=np.uint16)
    shares = {}
    for ridges in [(ridge,) for ridge in ranker.RIDGES] + [ranker.RIDGES]:
        monkeypatch.setattr(ranker, "RIDGES", ridges)
        shares[ridges] = ranker.fit_residuals(Ranker(RankerConfig(dim)), book, fused, codes, embeddings, kinds)
    *each, best = shares.values()
    assert best == max(each) > min(each) and best == each[-1]


def test_hits_are_counted_in_the_order_of_the_scores():
    given = lists(9)
    scores = torch.randn(len(given.query), generator=torch.Generator().manual_seed(2))
    expected = []
    for number in range(9):
        own = np.flatnonzero(given.query == number)
        best = own[np.argsort(-scores[own].numpy(), kind="stable")][: given.cut[number]]
        expected.append(bool(given.positive[best].any()))
    assert given.hits(scores).tolist() == expected
    kept = np.arange(9) % 2 == 0
    assert given.select(kept).hits(scores[kept[given.query]]).tolist() == np.array(expected)[kept].tolist()


def test_no_list_is_scored_by_a_ranker_that_saw_its_query(monkeypatch):
    given, seen = lists(), []

    def spy(model, part):
        seen.append(set(part.number.tolist()))
        with torch.no_grad():
            model.bias.fill_(len(seen))

    monkeypatch.setattr(ranker, "fit", spy)
    fold = cross_validated_scores(given, 0).numpy().astype(int) - 1  # the ranker that scored each candidate
    assert len(seen) == ranker.FOLDS
    for number, part in zip(given.number[given.query], fold, strict=True):
        assert number not in seen[part]


def test_queries_with_a_trained_target_are_left_out_unless_their_row_has_few_others():
    positives, offsets = np.array([20, *range(12)]), np.array([0, *range(2, 14)])  # the first query has two
    pairs = SimpleNamespace(
        positives=positives, offsets=offsets, rows=np.repeat([0, 1, 2], 4), datasets=["a", "b", "c"]
    )
    trained = np.array([0, 1, 2, 3, 4, 5, 6])  # row 0: none unseen, row 1: one, row 2: all
    assert unseen_queries(pairs, trained, 9, 0).tolist() == [7, 8, 9, 10, 11]
    chosen = unseen_queries(pairs, trained, 3, 0, at_least=2)
    assert np.bincount(pairs.rows[chosen]).tolist() == [2, 2, 3] and 7 in chosen
    assert len(np.unique(chosen)) == len(chosen) and (np.diff(chosen) > 0).all()
    assert unseen_queries(pairs, trained, 3, 0, at_least=9).tolist()[:8] == list(range(8))
