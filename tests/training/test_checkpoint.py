import pytest
import torch
from torch import nn

from genius.errors import UserError
from training.checkpoint import Checkpoints, fingerprint, reseed


def start(seed: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
    return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)


def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    model(torch.ones(1, 2, 5, 5)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def test_weights_and_optimizer_state_are_restored(tmp_path):
    model, optimizer = start()
    step(model, optimizer)
    Checkpoints(tmp_path, "encoder", "facts").save(model, optimizer, 0)
    step(model, optimizer)

    again, its_optimizer = start(seed=1)
    assert Checkpoints(tmp_path, "encoder", "facts").resume(again, its_optimizer) == 1
    step(again, its_optimizer)

    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_without_a_checkpoint_a_stage_starts_at_its_first_epoch(tmp_path):
    assert Checkpoints(tmp_path, "encoder").resume(*start()) == 0


def test_other_settings_are_refused_in_one_sentence(tmp_path):
    Checkpoints(tmp_path, "encoder", 1).save(*start(), 0)
    with pytest.raises(UserError, match="other settings or data; delete that folder"):
        Checkpoints(tmp_path, "encoder", 2).resume(*start())


def test_only_the_best_and_the_last_epoch_are_kept(tmp_path):
    checkpoints, (model, optimizer) = Checkpoints(tmp_path, "decoder"), start()
    weights = []
    for epoch, score in enumerate([0.1, 0.7, 0.3, 0.7]):
        step(model, optimizer)
        weights.append(model.weight.detach().clone())
        checkpoints.save(model, optimizer, epoch, score)
    assert sorted(folder.name for folder in checkpoints.folder.glob("epoch-*")) == ["epoch-1", "epoch-3"]
    assert checkpoints.load_best(model) == 1 and checkpoints.epochs_since_best() == 2
    assert torch.equal(model.weight, weights[1])


def test_a_half_written_epoch_is_ignored(tmp_path):
    checkpoints, (model, optimizer) = Checkpoints(tmp_path, "decoder"), start()
    checkpoints.save(model, optimizer, 0)
    (checkpoints.folder / "epoch-1").mkdir()
    (checkpoints.folder / "epoch-1" / "model.safetensors").write_bytes(b"half")
    assert checkpoints.resume(*start()) == 1
    checkpoints.save(model, optimizer, 1)
    assert checkpoints.resume(*start()) == 2


def test_a_cleared_stage_leaves_nothing(tmp_path):
    checkpoints = Checkpoints(tmp_path, "decoder")
    checkpoints.save(*start(), 0)
    checkpoints.clear()
    assert not checkpoints.folder.exists()


def test_fingerprints_differ_where_facts_do():
    assert fingerprint(1, "a") == fingerprint(1, "a") != fingerprint(1, "b")


def test_every_epoch_has_its_own_randomness():
    drawn = [
        (float(torch.rand(())), float(rng.random()))
        for seed in (0, 1)
        for epoch in (0, 1)
        for rng in [reseed(seed, epoch)]
    ]
    assert len(set(drawn)) == 4
    reseed(0, 1)
    assert float(torch.rand(())) == drawn[1][0]
