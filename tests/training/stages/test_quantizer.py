"""Losses and validation figures of quantizer and decoder against slow references, on a trained
micro run.
"""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.encoding.quantize import quantize_all
from genius.models.decoder import IDDecoder
from genius.models.fusion import Fusion
from genius.models.quantizer import ResidualQuantizer
from genius.run import Run
from tests.training.tiny import TINY
from training.data.pairs import CandidateTable
from training.stages.decoder import BEAMS, Samples, TargetIDs, Validation, augmented, cross_entropy
from training.stages.features import FeatureSet
from training.stages.optimization import contrastive_loss
from training.stages.quantizer import FusionAndQuantizer, batch_losses, validate


@pytest.fixture(scope="module")
def run(trained_run) -> Run:
    return Run(trained_run)


@pytest.fixture(scope="module")
def data(run, collection) -> dict[str, FeatureSet]:
    candidates = CandidateTable.read(collection)
    return {
        split: FeatureSet.read(run, collection, candidates, split, TINY.seed)
        for split in ("train", "val")
    }


@pytest.fixture(scope="module")
def stage(run) -> FusionAndQuantizer:
    stage = FusionAndQuantizer(TINY.quantizer).eval()
    stage.fusion = Fusion.load(run.folder("fusion"))
    stage.quantizer = ResidualQuantizer.load(run.folder("quantizer"))
    return stage


@pytest.fixture(scope="module")
def samples(run, data) -> Samples:
    """With the IDs of the run's quantizer."""
    quantizer = ResidualQuantizer.load(run.folder("quantizer"))
    fusion = run.digest("fusion")
    fused = data["train"].candidate_files.fused(fusion)[:, 0]
    codes = quantize_all(fused, data["train"].candidates.modalities, quantizer)
    targets = TargetIDs(codes, quantizer, fusion, run.digest("quantizer"))
    return Samples(data["train"], targets, TINY.decoder, "cpu")


def positives(data: FeatureSet, query: int) -> set[int]:
    return set(
        data.pairs.positives[data.pairs.offsets[query] : data.pairs.offsets[query + 1]].tolist()
    )


@torch.no_grad()
def test_hit_rates_are_those_of_sorting_all_distances(stage, data):
    val = data["val"]
    modality = torch.from_numpy(val.candidates.modalities).long()
    z = stage.fusion(val.candidate_files.features(slice(None))).double()
    quantized = stage.quantizer.decode(stage.quantizer.encode(z.float(), modality)).double()
    query = stage.fusion(val.query_files.features(slice(None))).double()
    expected = [
        np.mean(
            [
                bool(
                    set(torch.cdist(query[[q]], vectors)[0].argsort()[:5].tolist())
                    & positives(val, q)
                )
                for q in range(len(val.pairs))
            ]
        )
        for vectors in (z, quantized)
    ]
    for block in (7, 1000):
        assert [*validate(stage, val, TINY.quantizer, 0, "cpu", block).values()] == pytest.approx(
            expected
        )


@pytest.mark.parametrize("change", [{}, {"rq_sum": True}, {"mse_raw": True}])
@torch.no_grad()
def test_the_three_losses_are_the_formulas(stage, data, change):
    settings = dataclasses.replace(
        TINY.quantizer, mask_positives=False, symmetric_loss=False, **change
    )
    batch = data["train"].draw(np.arange(6), np.random.default_rng(0))
    found = batch_losses(stage, data["train"], batch, settings, "cpu")

    z_q, z_c = (stage.fusion(features) for features in data["train"].features(batch, "cpu"))
    residuals, hats = [], []
    for z in (z_q, z_c):
        codes = stage.quantizer.encode(z, batch.modality)
        residual = z
        for level, book in enumerate(stage.quantizer.codebooks):
            residual = residual - book[codes[:, level]]
            residuals.append(residual.double().numpy())
        hats.append((z - residual).double().numpy())
    squares = np.mean([r**2 for r in residuals])
    assert found["rq"].item() == pytest.approx(
        squares * (z_q.shape[1] * len(stage.quantizer.codebooks) if "rq_sum" in change else 1),
        rel=1e-4,
    )
    if "mse_raw" in change:
        expected = ((hats[0] - hats[1]) ** 2).sum(1).mean()
    else:
        unit = [hat / np.linalg.norm(hat, axis=1, keepdims=True) for hat in hats]
        expected = ((unit[0] - unit[1]) ** 2).mean()
    assert found["mse"].item() == pytest.approx(expected, rel=1e-4)
    expected = contrastive_loss(z_q, z_c, 1 / settings.temperature, None, symmetric=False)
    torch.testing.assert_close(found["cl"], expected)


def test_where_every_validation_query_has_a_training_target_all_of_them_validate(
    run, data, samples, capsys
):
    held_out = Validation(data["train"], samples, run.digest("fusion"), "cpu", seed=0)
    assert held_out.chosen.tolist() == list(range(len(data["train"].pairs)))
    assert "every validation query has a training target" in capsys.readouterr().out


def test_candidate_recall_counts_unseen_targets_among_the_generated_ids(run, data, samples):
    quantizer, decoder = (
        kind.load(run.folder(part))
        for kind, part in ((ResidualQuantizer, "quantizer"), (IDDecoder, "decoder"))
    )
    fusion = run.digest("fusion")
    held_out = Validation(data["val"], samples, fusion, "cpu", seed=0)
    val = data["val"]

    trained = set(data["train"].pairs.positives.tolist())
    unseen = [q for q in range(len(val.pairs)) if not positives(val, q) & trained]
    assert held_out.chosen.tolist() == unseen

    ids = sorted({tuple(codes) for codes in samples.codes.tolist()})
    kept = []
    for q in unseen:
        z = torch.from_numpy(val.query_files.fused(fusion)[[q], 0].astype(np.float32))
        scores = [
            -(z - quantizer.decode(torch.tensor([codes]))).square().sum().item() for codes in ids
        ]
        best = {ids[i] for i in np.argsort(scores)[::-1][:BEAMS]}
        kept.append(any(tuple(samples.codes[row].tolist()) in best for row in positives(val, q)))
    expected = np.mean(
        [
            np.mean([hit for hit, q in zip(kept, unseen, strict=True) if val.pairs.rows[q] == row])
            for row in sorted(set(val.pairs.rows[unseen].tolist()))
        ]
    )
    assert held_out.candidate_recall(decoder, 0.0) == pytest.approx(expected)


def test_a_candidate_as_its_own_query_is_itself(run, data, samples):
    rows = np.array([3, 0, 7])
    features, codes = samples.draw(-1 - rows, np.random.default_rng(0), "cpu")
    np.testing.assert_array_equal(features, samples.candidates[rows].astype(np.float32))
    np.testing.assert_array_equal(codes, samples.codes[rows])


def test_an_epoch_holds_every_query_and_every_candidate_once(run, data, samples):
    order = samples.epoch(np.random.default_rng(0))
    assert sorted(order) == list(range(-len(samples.candidates), len(data["train"].pairs)))


QUERY, TARGET = (
    F.normalize(torch.randn(4000, 3, generator=torch.Generator().manual_seed(seed)), dim=-1)
    for seed in (0, 1)
)


def weights(width: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).beta(2, 2, (4000, width))).float()


def test_the_published_mixture_is_of_square_roots_and_normalized():
    s = weights(3)
    expected = F.normalize(s.sqrt() * QUERY + (1 - s).sqrt() * TARGET)
    torch.testing.assert_close(augmented(QUERY, TARGET, "elementwise", weights), expected)


def test_the_papers_mixture_lies_between_query_and_target_with_beta_weights():
    mixed = augmented(QUERY, TARGET, "scalar", weights)
    along = ((mixed - TARGET) * (QUERY - TARGET)).sum(-1) / (QUERY - TARGET).square().sum(-1)
    torch.testing.assert_close(
        mixed, along[:, None] * QUERY + (1 - along[:, None]) * TARGET, atol=1e-5, rtol=0
    )
    assert along.mean().item() == pytest.approx(0.5, abs=0.01)
    assert along.var().item() == pytest.approx(1 / 20, abs=0.003)  # of Beta(2, 2)


def test_the_loss_is_the_mean_negative_log_probability_of_the_codes():
    logits = torch.randn(2, 3, 11, generator=torch.Generator().manual_seed(0))
    codes = torch.tensor([[0, 1, 3], [2, 0, 1]])
    offsets = (1, 4, 7)
    chances = F.softmax(logits.double(), dim=-1).numpy()
    expected = -np.mean(
        [
            np.log(chances[b, level, offsets[level] + codes[b, level]])
            for b in range(2)
            for level in range(3)
        ]
    )
    assert cross_entropy(logits, codes, offsets).item() == pytest.approx(expected, rel=1e-5)
