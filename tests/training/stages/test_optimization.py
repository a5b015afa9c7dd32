"""Losses, learning rates and the running average of weights, against slow references."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from training.stages import optimization
from training.stages.optimization import WeightAverage, bf16_where_fast, contrastive_loss, cosine


def batch(b: int = 5, d: int = 7) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(F.normalize(torch.randn(b, d, generator=generator), dim=-1) for _ in range(2))


def test_the_loss_is_infonce_in_which_other_positives_are_not_negatives():
    query, target = batch()
    positive_mask = torch.eye(5, dtype=torch.bool)
    positive_mask[0, 3] = positive_mask[4, 1] = True
    logits = (20 * query.double() @ target.double().T).numpy()

    losses = []
    for i in range(5):
        others = [j for j in range(5) if j == i or not positive_mask[i, j]]
        losses.append(np.log(np.exp(logits[i, others]).sum()) - logits[i, i])

    found = contrastive_loss(query, target, 20.0, positive_mask, symmetric=False)
    assert found.item() == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_symmetric_loss_is_the_mean_of_the_two_directions():
    query, target = batch()
    positive_mask = torch.eye(5, dtype=torch.bool)
    positive_mask[0, 3] = True
    forward, backward = (
        contrastive_loss(a, b, 20.0, mask, symmetric=False)
        for a, b, mask in ((query, target, positive_mask), (target, query, positive_mask.T))
    )
    torch.testing.assert_close(
        contrastive_loss(query, target, 20.0, positive_mask, symmetric=True),
        (forward + backward) / 2,
    )


def test_a_batch_without_pairs_has_no_loss_and_no_gradient():
    query, target = (torch.zeros(0, 7, requires_grad=True) for _ in range(2))
    scale = torch.tensor(20.0, requires_grad=True)
    loss = contrastive_loss(
        query, target, scale, torch.zeros(0, 0, dtype=torch.bool), symmetric=True
    )
    loss.backward()
    assert loss.item() == 0 and scale.grad.item() == 0


@pytest.mark.parametrize(
    ("wanted", "has", "dtype"),
    [(True, True, torch.bfloat16), (True, False, torch.float32), (False, True, torch.float32)],
)
def test_mixed_precision_is_used_only_where_the_device_need_not_emulate_it(
    monkeypatch, wanted, has, dtype
):
    monkeypatch.setattr(optimization, "computes_bf16", lambda device: has)
    with bf16_where_fast("cpu", wanted):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_the_learning_rate_rises_then_falls_to_its_end():
    rates = [cosine(step, 100, warmup=0.1, final=0.2) for step in range(101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == rates[10] == pytest.approx(1.0)
    assert rates[100] == pytest.approx(0.2)
    assert all(a >= b for a, b in itertools.pairwise(rates[10:]))
    assert cosine(0, 10, warmup=0.0) == 1.0 and math.isclose(cosine(5, 10, 0.0), 0.5)


def trained(steps: int, decay: float) -> tuple[nn.Module, WeightAverage, list[torch.Tensor]]:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    average = WeightAverage(model, decay)
    history = []
    for _ in range(steps):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3))
        average.update()
        history.append(model.weight.detach().clone())
    return model, average, history


def test_later_steps_decay():
    model, average, history = trained(steps=30, decay=0.8)
    average.apply_averages()
    expected = history[0].double()
    for step, weight in enumerate(history[1:], start=2):
        decay = min(0.8, 1 - 1 / step)
        expected = decay * expected + (1 - decay) * weight.double()
    torch.testing.assert_close(model.weight.data.double(), expected, atol=1e-5, rtol=1e-5)


def test_averages_are_applied_for_a_while():
    model, average, history = trained(steps=4, decay=0.9)
    with average.averaged_weights():
        torch.testing.assert_close(model.weight.data, torch.stack(history).mean(0))
    assert torch.equal(model.weight.data, history[-1])


def test_without_a_decay_nothing_is_stored_or_changed():
    model, average, history = trained(steps=4, decay=0.0)
    average.apply_averages()
    assert torch.equal(model.weight.data, history[-1])
    assert list(average.state_dict()) == ["n_averaged"]
