"""The mass below each prefix against a slow reference, item by item."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from genius.models.decoder import DecoderConfig
from tests.search.tiny import tiny_decoder
from training import prefix_mass
from training.decoder import cross_entropy
from training.prefix_mass import PrefixMass, soft_cross_entropy

SIZES, ITEMS, DIM, TEMPERATURE = (3, 4, 4, 5), 90, 8, 0.1


@pytest.fixture(scope="module")
def codes() -> np.ndarray:
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(size, size=ITEMS) for size in SIZES], axis=1)
    codes[70:] = codes[:20]  # IDs that two items share
    codes[:, 1][codes[:, 0] == 2] = 3  # a prefix with one child
    return codes


@pytest.fixture(scope="module")
def features() -> np.ndarray:
    return F.normalize(torch.randn(ITEMS, DIM, generator=torch.Generator().manual_seed(0)), dim=-1).numpy()


@pytest.fixture(scope="module")
def z() -> torch.Tensor:
    return F.normalize(torch.randn(40, DIM, generator=torch.Generator().manual_seed(1)), dim=-1)


@pytest.fixture
def mass(features, codes) -> PrefixMass:
    return PrefixMass(features, codes, SIZES, "cpu")


def teacher(z: torch.Tensor, features: np.ndarray, row: int, label_share: float) -> np.ndarray:
    """(n,) the mass of each item."""
    weights = np.exp(features.astype(np.float64) @ z.double().numpy() / TEMPERATURE)
    weights *= (1 - label_share) / weights.sum()
    weights[row] += label_share
    return weights


@pytest.mark.parametrize("label_share", (0, 0.3))
@pytest.mark.parametrize("numbers", (1, 200, 1 << 25))
def test_shares_are_sums_over_the_items_below_each_child(monkeypatch, mass, features, codes, z, numbers, label_share):
    monkeypatch.setattr(prefix_mass, "NUMBERS", {"cpu": numbers})
    rows, draws = torch.arange(len(z)), torch.linspace(0, 0.999, len(z), dtype=torch.float64)
    targets = mass.targets(z, rows, draws, TEMPERATURE, label_share)
    for query, path in enumerate(targets.codes.tolist()):
        items = teacher(z[query], features, query, label_share)
        for level, size in enumerate(SIZES):
            below = (codes[:, :level] == path[:level]).all(1)
            expected = [items[below & (codes[:, level] == code)].sum() / items[below].sum() for code in range(size)]
            np.testing.assert_allclose(targets.shares[level][query], expected, atol=1e-5)
            assert expected[path[level]] > 0


def test_prefixes_are_those_of_items_drawn_from_the_teacher(mass, features, codes, z):
    draws = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000
    many = z[:1].expand(4000, -1)
    found = mass.targets(many, torch.full((4000,), 5), draws, TEMPERATURE, 0.2).codes
    items = teacher(z[0], features, 5, 0.2)
    for one in np.unique(codes, axis=0):
        expected = items[(codes == one).all(1)].sum()
        assert (found == torch.from_numpy(one)).all(1).float().mean().item() == pytest.approx(expected, abs=2 / 4000)


def test_a_teacher_so_sharp_that_other_items_have_no_mass_teaches_one_id(mass, features, codes):
    own = torch.from_numpy(features[:70])
    targets = mass.targets(own, torch.arange(70), torch.full((70,), 0.5), 1e-5, 0)
    assert targets.codes.tolist() == codes[:70].tolist()
    for level, shares in enumerate(targets.shares):
        assert shares.argmax(1).tolist() == codes[:70, level].tolist() and shares.amax(1).min() == 1


def test_the_loss_of_certain_shares_is_the_cross_entropy():
    config = DecoderConfig(dim=DIM, levels=4, sizes=SIZES)
    logits = torch.randn(6, 4, config.vocabulary, generator=torch.Generator().manual_seed(0))
    codes = torch.stack([torch.arange(6) % size for size in SIZES], dim=1)
    shares = [F.one_hot(codes[:, level], size).float() for level, size in enumerate(SIZES)]
    found = soft_cross_entropy(logits, shares, config.offsets)
    torch.testing.assert_close(found, cross_entropy(logits, codes, config.offsets))


def test_a_decoder_learns_what_lies_below_each_prefix(mass, z):
    decoder = tiny_decoder(dim=DIM, sizes=SIZES, width=32, head_width=16, ff_width=64)
    optimizer, rows = torch.optim.Adam(decoder.parameters(), lr=1e-2), torch.zeros(len(z), dtype=torch.long)
    errors = []
    for step in range(300):
        draws = torch.rand(len(z), generator=torch.Generator().manual_seed(step))
        codes, shares = mass.targets(z, rows, draws, TEMPERATURE, 0)
        logits = decoder(z, codes)
        optimizer.zero_grad()
        soft_cross_entropy(logits, shares, decoder.config.offsets).backward()
        optimizer.step()
        offset = decoder.config.offsets[0]
        learned = logits[:, 0, offset : offset + SIZES[0]].softmax(-1)
        errors.append((learned - shares[0]).abs().mean().item())
    assert np.mean(errors[-20:]) < errors[0] / 2
