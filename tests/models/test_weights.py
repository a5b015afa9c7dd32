"""Products of a few rows with weights in float32, bfloat16 and 8 bits, against plain products."""

import pytest
import torch
import torch.nn.functional as F

from genius.models.weights import EightBitWeights, PackedWeights, multiply_rows, weights_in

SHAPES = [(24, 64), (64, 24)]  # outputs, inputs


def random_rows(rows: int, inputs: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, inputs, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("outputs, inputs", SHAPES)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 8, 9, 100])
def test_few_rows_are_multiplied_as_many_are(rows, outputs, inputs):
    x, weights = random_rows(rows, inputs), random_rows(outputs, inputs, seed=1)
    found = multiply_rows(x, weights)
    torch.testing.assert_close(found, F.linear(x.double(), weights.double()).float(), atol=1e-4, rtol=1e-5)
    assert found.shape == (rows, outputs) and found.is_contiguous()


@pytest.mark.parametrize("outputs, inputs", SHAPES)
@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-6), (torch.bfloat16, 0.01), (torch.int8, 0.03)])
def test_each_dtype_is_as_close_to_the_product_as_its_bits_allow(outputs, inputs, dtype, error):
    x, matrix = random_rows(300, inputs), random_rows(outputs, inputs, seed=1)
    matrix *= torch.logspace(-3, 3, outputs)[:, None]  # outputs of different sizes
    weights, expected = weights_in(dtype, matrix), x @ matrix.T
    rows = x.to(torch.bfloat16) if dtype == torch.bfloat16 else x
    found = weights(rows)
    assert ((found.float() - expected).norm(dim=0) < error * expected.norm(dim=0)).all()
    assert torch.equal(weights(weights.prepare(rows)), found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5, 50, 128, 300])
def test_any_number_of_rows_is_multiplied(rows, dtype):
    x, matrix = random_rows(rows, 16), random_rows(8, 16, seed=1)
    found = weights_in(dtype, matrix)(x.to(torch.bfloat16 if dtype == torch.bfloat16 else torch.float32))
    torch.testing.assert_close(found.float(), x @ matrix.T, atol=0.2, rtol=0.05)


def test_weights_are_packed_on_a_processor_with_onednn_alone():
    matrix = random_rows(8, 16)
    assert PackedWeights.can_pack(matrix) == torch.backends.mkldnn.is_available()
    assert not PackedWeights.can_pack(matrix.to("meta"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_onednn_the_products_are_torchs_own(monkeypatch, dtype):
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    x, matrix = random_rows(5, 16).to(dtype), random_rows(8, 16, seed=1).to(dtype)
    weights = weights_in(dtype, matrix)
    assert torch.equal(weights(x), F.linear(x, matrix)) and weights(x[:0]).shape == (0, 8)


@pytest.mark.parametrize("outputs, inputs", SHAPES)
def test_in_eight_bits_a_row_does_not_depend_on_the_rows_beside_it(outputs, inputs):
    x = random_rows(40, inputs) * torch.logspace(-2, 2, 40)[:, None]
    weights = EightBitWeights(random_rows(outputs, inputs, seed=1))
    together = weights(x)
    for row in range(len(x)):
        assert torch.equal(weights(x[row : row + 1])[0], together[row])


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_products_of_eight_bits_do_not_overflow(sign):
    ones = torch.ones(3, 512)
    found = EightBitWeights(sign * torch.ones(16, 512))(ones)
    torch.testing.assert_close(found, torch.full((3, 16), sign * 512.0))


def test_zeros_stay_zeros_in_eight_bits():
    weights = EightBitWeights(torch.zeros(4, 6))
    assert not weights(torch.ones(2, 6)).any()
    assert not EightBitWeights(torch.ones(4, 6))(torch.zeros(2, 6)).any()
