import numpy as np
import pytest
import torch
import torch.nn.functional as F

from training.decoder import QUERY_AUGMENTATIONS, cross_entropy

QUERY, TARGET = (
    F.normalize(torch.randn(4000, 3, generator=torch.Generator().manual_seed(seed)), dim=-1) for seed in (0, 1)
)


def weights(width: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).beta(2, 2, (4000, width))).float()


def test_the_published_mixture_is_of_square_roots_and_normalized():
    s = weights(3)
    expected = F.normalize(s.sqrt() * QUERY + (1 - s).sqrt() * TARGET)
    torch.testing.assert_close(QUERY_AUGMENTATIONS["elementwise"](QUERY, TARGET, weights), expected)


def test_the_published_mixture_draws_a_weight_for_each_element():
    ones = torch.ones(4000, 3)
    mixed = QUERY_AUGMENTATIONS["elementwise"](ones, 0 * ones, weights)
    assert (mixed.amax(1) - mixed.amin(1)).mean() > 0.05  # one weight for all would keep them equal


def test_the_papers_mixture_lies_between_query_and_target_with_beta_weights():
    mixed = QUERY_AUGMENTATIONS["scalar"](QUERY, TARGET, weights)
    along = ((mixed - TARGET) * (QUERY - TARGET)).sum(-1) / (QUERY - TARGET).square().sum(-1)
    torch.testing.assert_close(mixed, along[:, None] * QUERY + (1 - along[:, None]) * TARGET, atol=1e-5, rtol=0)
    assert along.mean().item() == pytest.approx(0.5, abs=0.01)
    assert along.var().item() == pytest.approx(1 / 20, abs=0.003)  # of Beta(2, 2)


def test_a_query_that_is_its_own_target_is_unchanged():
    for name, mix in QUERY_AUGMENTATIONS.items():
        if name != "elementwise":
            torch.testing.assert_close(mix(QUERY, QUERY, weights), QUERY)


def test_the_loss_is_the_mean_negative_log_probability_of_the_codes():
    logits = torch.randn(2, 3, 11, generator=torch.Generator().manual_seed(0))
    codes, offsets = torch.tensor([[0, 1, 3], [2, 0, 1]]), (1, 4, 7)
    chances = F.softmax(logits.double(), dim=-1).numpy()
    expected = -np.mean(
        [np.log(chances[b, level, offsets[level] + codes[b, level]]) for b in range(2) for level in range(3)]
    )
    assert cross_entropy(logits, codes, offsets).item() == pytest.approx(expected, rel=1e-5)
