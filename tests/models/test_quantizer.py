from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch.testing import assert_close

from genius.models.quantizer import QuantizerConfig, ResidualQuantizer, rotate

CONFIG = QuantizerConfig(dim=6, levels=4, codebook_size=7)


def vectors(n: int = 200, seed: int = 0, dim: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """z of three modalities, each around its own center."""
    generator = torch.Generator().manual_seed(seed)
    modality = torch.arange(n) % 3
    centers = torch.randn(3, dim, generator=generator)
    return F.normalize(
        centers[modality] + 0.5 * torch.randn(n, dim, generator=generator), dim=-1
    ), modality


def started(config: QuantizerConfig = CONFIG) -> ResidualQuantizer:
    quantizer = ResidualQuantizer(config)
    quantizer.initialize(*vectors(), seed=0)
    return quantizer.eval()


def test_each_level_takes_the_codeword_nearest_to_the_residual():
    quantizer, (z, modality) = started(), vectors(30, seed=1)
    books = [book.double().numpy() for book in quantizer.codebooks]

    codes = quantizer.encode(z, modality).numpy()

    for vector, kind, found in zip(z.double().numpy(), modality.tolist(), codes, strict=True):
        residual = vector - books[0][kind]
        assert found[0] == kind
        for book, code in zip(books[1:], found[1:], strict=True):
            assert code == np.linalg.norm(residual - book, axis=1).argmin()
            residual = residual - book[code]


def test_without_a_known_modality_the_first_code_is_the_nearest_one():
    quantizer, (z, _) = started(), vectors(60)
    nearest = torch.cdist(z, quantizer.codebooks[0]).argmin(1)
    assert torch.equal(quantizer.encode(z)[:, 0], nearest)


def test_every_level_reduces_the_reconstruction_error():
    quantizer, (z, modality) = started(), vectors()
    codes = quantizer.encode(z, modality)
    errors = [
        (z - quantizer.decode(codes[:, :m])).square().sum(-1).mean().item() for m in range(1, 5)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.5 * errors[0]


@pytest.mark.parametrize(("modality_code", "size"), [("emergent", 3), ("none", 7)])
def test_a_first_code_that_is_not_forced_is_the_nearest_whatever_the_label(modality_code, size):
    quantizer, (z, modality) = started(replace(CONFIG, modality_code=modality_code)), vectors(60)
    assert quantizer.config.code_sizes == (size, 7, 7, 7)
    codes = quantizer.encode(z, modality)
    assert torch.equal(codes, quantizer.encode(z))
    assert torch.equal(codes[:, 0], torch.cdist(z, quantizer.codebooks[0]).argmin(1))


def test_a_classifier_reads_the_first_code_and_leaves_all_of_z_to_the_other_levels():
    """Its loss is the cross-entropy of the modality, and the codewords of level 0 stay zero."""
    torch.manual_seed(0)
    quantizer, (z, modality) = started(replace(CONFIG, modality_code="classifier")), vectors()
    quantizer.train()
    out = quantizer(z, modality)
    logits = z @ quantizer.classifier.weight.T + quantizer.classifier.bias
    assert out.modality_loss.item() == pytest.approx(F.cross_entropy(logits, modality).item())
    assert torch.equal(out.codes[:, 0], logits.argmax(1)) and not quantizer.codebooks[0].any()
    assert started().eval()(z, modality).modality_loss.item() == 0


def test_a_shared_codebook_is_one_for_all_levels_but_the_first(tmp_path):
    quantizer, (z, modality) = started(replace(CONFIG, shared=True)).train(), vectors()
    books = quantizer.codebooks
    assert books[1].data_ptr() == books[2].data_ptr() == books[3].data_ptr() != books[0].data_ptr()
    before = books[1].clone()
    quantizer(z, modality)
    assert not torch.equal(quantizer.codebooks[3], before)
    quantizer.save(tmp_path)
    assert set(load_file(tmp_path / "model.safetensors")) == {"codebook_0", "codebook_1"}
    assert torch.equal(
        ResidualQuantizer.load(tmp_path).encode(z, modality), quantizer.encode(z, modality)
    )


@pytest.mark.parametrize("gradient", ["rotation", "straight_through"])
def test_the_forward_pass_is_the_sum_of_codewords_whatever_the_gradient(gradient):
    quantizer, (z, modality) = started(replace(CONFIG, gradient=gradient)), vectors(20)
    out = quantizer(z.requires_grad_(), modality)
    assert_close(out.z_hat, quantizer.decode(out.codes))
    out.z_hat.square().sum().backward()
    assert z.grad.norm() > 0


def test_straight_through_passes_the_gradient_once_per_level():
    """z̃ = Σ residual_l + const, residual_l = z − const: with M levels dz̃/dz = M·I."""
    quantizer, (z, modality) = started(replace(CONFIG, gradient="straight_through")), vectors(5)
    quantizer(z.requires_grad_(), modality).z_hat.sum().backward()
    assert_close(z.grad, torch.full_like(z, CONFIG.levels))


def test_the_rotation_trick_is_the_rotation_and_scaling_that_takes_source_to_target():
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(2, 1, 5, generator=generator, dtype=torch.float64).unbind()
    jacobian = torch.autograd.functional.jacobian(lambda x: rotate(x, target), source)[0, :, 0]

    scale = target.norm() / source.norm()
    turned = (jacobian / scale).float()
    assert_close(jacobian @ source[0], target[0])
    assert_close(turned @ turned.T, torch.eye(5), atol=1e-5, rtol=0)
    assert torch.linalg.det(turned).item() == pytest.approx(1, abs=1e-4)


def test_codebooks_follow_the_batch_as_a_moving_average():
    quantizer = started()
    z, modality = vectors(50, seed=2)
    size, average = (
        quantizer.get_buffer(f"{name}_0").clone() for name in ("cluster_size", "embed_avg")
    )
    before = quantizer.codebooks[0].clone()
    quantizer(z, modality)  # in eval mode
    assert torch.equal(before, quantizer.codebooks[0])
    quantizer.train()(z, modality)
    for code in range(3):
        own = z[modality == code]
        share = 0.9 * size[code] + 0.1 * len(own) / 50
        total = 0.9 * average[code] + 0.1 * own.sum(0) / 50
        assert_close(quantizer.codebooks[0][code], total / share)


@pytest.mark.parametrize(("n", "level"), [(30, 1), (3000, 1), (200, 0)])
def test_a_dead_code_restarts_on_a_residual_of_the_batch_whatever_its_size(n, level):
    """Also at level 0, where no code is the modality."""
    quantizer = started(replace(CONFIG, modality_code="none" if level == 0 else "forced")).train()
    book, size, average = (
        quantizer.get_buffer(f"{name}_{level}")
        for name in ("codebook", "cluster_size", "embed_avg")
    )
    book[4], size[4], average[4] = 50.0, 0.0, 0.0
    before = book.clone()
    quantizer(*vectors(n))
    assert book[4].norm() < 2 and size[4] == pytest.approx(CONFIG.restart_ratio / 7)
    others = [0, 1, 2, 3, 5, 6]
    # they only followed the batch
    assert (book[others] - before[others]).norm(dim=1).max() < 0.2


def test_a_code_that_restarts_near_another_takes_over_a_part_of_its_residuals():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(2000, 64, generator=generator)
    modality = torch.zeros(2000, dtype=torch.long)
    shares = []
    for spread in (1.0, 0.2):
        torch.manual_seed(0)
        quantizer = ResidualQuantizer(
            QuantizerConfig(64, levels=2, codebook_size=2, restart_spread=spread)
        ).train()
        # no residual is near the second
        quantizer.cluster_size_1[0], quantizer.codebook_1[1] = 1.0, 50.0
        for _ in range(2):
            codes = quantizer(z, modality).codes[:, 1]  # first it restarts, then it is used
        shares.append((codes == 1).float().mean().item())
    assert shares[0] < 0.01 and 0.1 < shares[1] < 0.7


def test_few_codes_start_at_the_means_of_all_vectors_nearest_to_them():
    """The published first level has three codes, and clusters the whole first batch."""
    quantizer, (z, modality) = (
        ResidualQuantizer(replace(CONFIG, modality_code="emergent")),
        vectors(3000),
    )
    quantizer.initialize(z, modality, seed=0, iterations=100)
    book, code = quantizer.codebooks[0], quantizer.encode(z)[:, 0]
    assert_close(book, torch.stack([z[code == own].mean(0) for own in range(3)]), atol=1e-4, rtol=0)


def test_the_defaults_are_the_published_values_but_for_the_named_departures():
    published = QuantizerConfig(768, 9, 4096, gradient="rotation", decay=0.9, restart_spread=1.0)
    departures = {"modality_code": "forced", "distance": "squared"}
    departures |= {"dead_ratio": 0.5, "restart_ratio": 0.5}
    assert QuantizerConfig() == replace(published, **departures)


def test_an_unknown_choice_lists_the_choices():
    with pytest.raises(ValueError, match="'magic' is unknown; expected one of forced, emergent"):
        QuantizerConfig(modality_code="magic")


def test_a_codebook_with_more_codes_than_an_id_can_hold_is_refused():
    assert QuantizerConfig(codebook_size=65_536).codebook_size == 65_536
    with pytest.raises(ValueError, match="level 1 has 65,537 codes; at most 65,536 are supported"):
        QuantizerConfig(codebook_size=65_537)


@pytest.mark.parametrize("seed", range(3))
def test_the_published_distance_takes_the_first_of_codewords_at_nearly_equal_distance(seed):
    """As the published code and as vector-quantize-pytorch compute it: sqrt(clamp(‖r‖² + ‖e‖² −
    2⟨r, e⟩)).
    """
    generator = torch.Generator().manual_seed(seed)
    plain = ResidualQuantizer(replace(CONFIG, modality_code="emergent", codebook_size=200)).eval()
    for codebook in plain.codebooks:  # as k-means leaves them: codewords 4e-6 apart
        codebook.copy_(
            torch.randn(6, generator=generator)
            + 4e-6 * torch.randn(codebook.shape, generator=generator)
        )
    published = ResidualQuantizer(replace(plain.config, distance="published")).eval()
    published.load_state_dict(plain.state_dict())
    z = torch.randn(300, 6, generator=generator)

    residual = z
    expected = []
    for codebook in plain.codebooks:
        squares = (
            residual.square().sum(-1)[:, None]
            + codebook.square().sum(-1)[None]
            + residual @ codebook.T * -2
        )
        code = (-squares.clamp(min=1e-8).sqrt()).argmax(-1)
        residual = residual - codebook[code]
        expected.append(code)
    assert torch.equal(published.encode(z), torch.stack(expected, dim=-1))
    assert (published.encode(z) != plain.encode(z)).any(dim=1).float().mean() > 0.1


@pytest.mark.parametrize("modality_code", ["forced", "classifier"])
def test_a_saved_quantizer_holds_its_codebooks_and_gives_the_same_codes(modality_code, tmp_path):
    quantizer, (z, modality) = started(replace(CONFIG, modality_code=modality_code)), vectors(40)
    quantizer.save(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert {name for name in stored if "classifier" not in name} == {
        f"codebook_{level}" for level in range(4)
    }
    assert quantizer.cluster_size_1.any()  # saving does not change the model itself
    loaded = ResidualQuantizer.load(tmp_path)
    assert torch.equal(loaded.encode(z, modality), quantizer.encode(z, modality))
