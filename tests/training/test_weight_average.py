"""The running average of weights, against a slow reference."""

import torch
from torch import nn

from training.optimization import WeightAverage


def trained(steps: int, decay: float) -> tuple[nn.Module, WeightAverage, list[torch.Tensor]]:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    average, history = WeightAverage(model, decay), []
    for _ in range(steps):
        with torch.no_grad():
            model.weight.add_(torch.randn(2, 3))
        average.update()
        history.append(model.weight.detach().clone())
    return model, average, history


def test_the_average_is_that_of_all_steps_until_the_decay_is_reached():
    model, average, history = trained(steps=10, decay=0.9)
    average.apply_averages()
    torch.testing.assert_close(model.weight.data, torch.stack(history).mean(0))


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
    assert {name for name, _ in average.named_buffers()} == {"steps"}


def test_weights_that_are_not_trained_are_left_out():
    _, average, _ = trained(steps=1, decay=0.9)
    assert sum(buffer.numel() for name, buffer in average.named_buffers() if name != "steps") == 6
