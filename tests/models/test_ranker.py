"""genius/models/ranker.py: the derived features against least squares of numpy, the sum against its parts."""

import numpy as np
import pytest
import torch

from genius.models.ranker import Ranker, RankerConfig
from genius.schema import RANKER_PARTS, Modality

DIM, N = 5, 60


def items(seed: int = 0):
    rng = np.random.default_rng(seed)
    embeddings, quantized = rng.normal(size=(N, DIM)), rng.normal(size=(N, DIM))
    modality = np.arange(N) % 2  # no pairs
    truth = rng.normal(size=(2, DIM, DIM))
    z = 0.7 * quantized + np.einsum("nij,nj->ni", truth[modality], embeddings) + 0.1 * rng.normal(size=(N, DIM)) + 0.5
    return z, quantized, embeddings, modality


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_what_the_quantizer_lost_is_fitted_by_least_squares_for_each_modality(ridge):
    z, quantized, embeddings, modality = items()
    ranker = Ranker(RankerConfig(DIM))

    given = [torch.from_numpy(array).float() for array in (z, quantized, embeddings)]
    given.append(torch.from_numpy(modality))
    ranker.fit_residuals(*given, ridge)
    explained = ranker.explained(*given)

    left = total = 0.0
    maps = ranker.residual_map.view(len(Modality), DIM, 2 * DIM).numpy()
    for kind in (0, 1):
        own = modality == kind
        inputs, lost = np.hstack([embeddings[own], quantized[own]]), (z - quantized)[own]
        spread = ((inputs - inputs.mean(0)) ** 2).sum() / inputs.shape[1]
        rows = np.vstack([inputs - inputs.mean(0), np.sqrt(ridge * spread) * np.eye(2 * DIM)])
        solved, *_ = np.linalg.lstsq(rows, np.vstack([lost - lost.mean(0), np.zeros((2 * DIM, DIM))]), rcond=None)
        bias = lost.mean(0) - inputs.mean(0) @ solved
        np.testing.assert_allclose(maps[kind], solved.T, atol=1e-4)
        np.testing.assert_allclose(ranker.residual_bias[kind].numpy(), bias, atol=1e-4)
        left += ((lost - inputs @ solved - bias) ** 2).sum()
        total += ((z - quantized)[own] ** 2).sum()
    assert abs(explained - (1 - left / total)) < 1e-4 and explained > 0.5
    assert not maps[Modality.PAIR].any() and not ranker.residual_bias[Modality.PAIR].any()


def test_a_modality_of_one_item_or_of_equal_items_has_its_mean_and_no_map():
    z, quantized, embeddings, _ = (torch.from_numpy(array).float() for array in items())
    modality = torch.full((len(z),), int(Modality.TEXT))
    modality[0] = Modality.IMAGE
    embeddings[1:], quantized[1:] = embeddings[1], quantized[1]
    ranker = Ranker(RankerConfig(DIM))

    ranker.fit_residuals(z, quantized, embeddings, modality, 0.01)

    assert ranker.residual_map.abs().max() < 1e-3
    torch.testing.assert_close(ranker.residual_bias[Modality.IMAGE], (z - quantized)[0])
    torch.testing.assert_close(ranker.residual_bias[Modality.TEXT], (z - quantized)[1:].mean(0))


def test_a_query_turned_by_the_map_compares_with_embeddings_and_ids_as_with_derived_features():
    z, quantized, embeddings, modality = items()
    ranker = Ranker(RankerConfig(DIM))
    given = [torch.from_numpy(array).float() for array in (z, quantized, embeddings)]
    ranker.fit_residuals(*given, torch.from_numpy(modality), 0.01)
    query = torch.randn(3, DIM, generator=torch.Generator().manual_seed(1))

    by_embedding, by_id, added = ranker.residual_queries(query)

    maps = ranker.residual_map.view(len(Modality), DIM, 2 * DIM)
    for kind in Modality:
        derived = torch.cat([given[2], given[1]], dim=1) @ maps[kind].T + ranker.residual_bias[kind]  # (n, d)
        found = by_embedding[:, kind] @ given[2].T + by_id[:, kind] @ given[1].T + added[:, kind, None]
        torch.testing.assert_close(found, query @ derived.T)


def test_a_score_is_the_sum_of_its_shares(tmp_path):
    torch.manual_seed(0)
    ranker = Ranker(RankerConfig(DIM))
    with torch.no_grad():
        ranker.weight.normal_()
        ranker.bias.normal_()
    ranker.save(tmp_path)
    parts, modality = torch.randn(7, len(RANKER_PARTS)), torch.arange(7) % 3

    with torch.no_grad():
        scores, shares = Ranker.load(tmp_path)(parts, modality)

    weight, bias = ranker.weight.tolist(), ranker.bias.tolist()
    for number, kind in enumerate(modality.tolist()):
        expected = [one * part for one, part in zip(weight, parts[number].tolist(), strict=True)]
        torch.testing.assert_close(shares[number], torch.tensor([*expected, bias[kind]]))
        torch.testing.assert_close(scores[number], shares[number].sum())
