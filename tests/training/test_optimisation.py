import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from training.optimisation import contrastive, cosine


def batch(b: int = 5, d: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(F.normalize(torch.randn(b, d, generator=generator), dim=-1) for _ in range(2))


def test_the_loss_is_infonce_in_which_other_positives_are_no_negatives():
    query, target = batch()
    answered = torch.eye(5, dtype=torch.bool)
    answered[0, 3] = answered[4, 1] = True
    logits = (20 * query.double() @ target.double().T).numpy()

    losses = []
    for i in range(5):
        others = [j for j in range(5) if j == i or not answered[i, j]]
        losses.append(np.log(np.exp(logits[i, others]).sum()) - logits[i, i])

    found = contrastive(query, target, 20.0, answered, both_ways=False)
    assert found.item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_both_ways_is_the_mean_of_the_two_directions():
    query, target = batch()
    answered = torch.eye(5, dtype=torch.bool)
    answered[0, 3] = True
    there, back = (
        contrastive(a, b, 20.0, mask, both_ways=False)
        for a, b, mask in ((query, target, answered), (target, query, answered.T))
    )
    torch.testing.assert_close(contrastive(query, target, 20.0, answered, both_ways=True), (there + back) / 2)


def test_the_learning_rate_rises_then_falls_to_its_end():
    rates = [cosine(step, 100, warmup=0.1, final=0.2) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[10] == pytest.approx(1.0)
    assert rates[100] == pytest.approx(0.2)
    assert all(a >= b for a, b in itertools.pairwise(rates))
    assert cosine(0, 10, warmup=0.0) == 1.0 and math.isclose(cosine(5, 10, 0.0), 0.5)
