from dataclasses import replace

import numpy as np
import torch

from genius.models.encoder import Features
from genius.models.fusion import Fusion, FusionConfig
from tests.search.tiny import DIM, tiny_fusion


def features(b: int = 4, seed: int = 0) -> Features:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.tensor([[True, True], [True, False], [False, True], [True, True]])[:b]
    image, text = (torch.randn(b, DIM, generator=generator) * mask[:, [part]] for part in (0, 1))
    return Features(image, text, mask[:, 0], mask[:, 1])


def test_fusion_is_the_published_formula():
    fusion = tiny_fusion()
    given = features()
    weights = {name: value.double().numpy() for name, value in fusion.state_dict().items()}

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    text = given.text.double().numpy()
    image = given.image.double().numpy()
    both = np.concatenate(
        [np.maximum(linear("text_branch", text), 0), np.maximum(linear("image_branch", image), 0)],
        axis=1,
    )
    mixed = linear("mix.2", np.maximum(linear("mix.0", both), 0))
    share = 1 / (1 + np.exp(-linear("gate.2", np.maximum(linear("gate.0", both), 0))))
    expected = mixed + share * text + (1 - share) * image
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)

    np.testing.assert_allclose(fusion(given).detach().numpy(), expected, atol=1e-6)


def test_the_default_sizes_are_the_published_ones():
    assert FusionConfig() == FusionConfig(dim=768, branch=2560, hidden=5120)


@torch.inference_mode()
def test_an_instruction_has_a_branch_of_its_own():
    torch.manual_seed(0)
    for branch in (16, 0):
        fusion = Fusion(FusionConfig(DIM, branch, hidden=24, instruction=True)).eval()
        given = features()
        without = fusion(given)
        torch.testing.assert_close(fusion(replace(given, instruction=torch.zeros(4, DIM))), without)
        assert (fusion(replace(given, instruction=torch.randn(4, DIM))) - without).norm(
            dim=1
        ).min() > 0.01
