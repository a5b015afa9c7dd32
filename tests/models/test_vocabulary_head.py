"""genius/models/vocabulary_head.py, against one product with the whole head and torch's logsumexp in float64."""

import pytest
import torch

from genius.models import vocabulary_head
from genius.models.decoder import DecoderConfig
from genius.models.vocabulary_head import VocabularyHead

CONFIG = DecoderConfig(dim=8, levels=4, codebook_size=5)
WIDTH, ROWS = 16, 6


def head_and_rows(scale: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return (torch.randn(CONFIG.vocabulary, WIDTH, generator=random) * scale, torch.randn(ROWS, WIDTH, generator=random))


def tokens_of(level: int) -> slice:
    return slice(CONFIG.offsets[level], CONFIG.offsets[level] + CONFIG.code_sizes[level])


def log_sum_by_hand(logits: torch.Tensor, *left_out: int) -> torch.Tensor:
    kept = torch.ones(CONFIG.vocabulary, dtype=torch.bool)
    for level in left_out:
        kept[tokens_of(level)] = False
    return logits[:, kept].logsumexp(-1)


@pytest.fixture(params=[1, 3, 7, 10, 4096])
def block(request, monkeypatch):
    """Tokens in a block: less than a level, several levels, and all of them."""
    monkeypatch.setattr(vocabulary_head, "VOCABULARY_BLOCK", request.param)


@pytest.mark.parametrize("scale", [1.0, 100.0])  # at 100 the exponentials overflow
def test_logits_and_sums_are_those_of_one_product_with_the_whole_head(block, scale):
    head, rows = head_and_rows(scale)
    whole, expected = VocabularyHead(CONFIG, head), rows.double() @ head.double().T
    close = {"atol": 1e-4 * scale, "rtol": 1e-5, "check_dtype": False}
    for level in range(CONFIG.levels):
        own = expected[:, tokens_of(level)]
        torch.testing.assert_close(whole.logits(rows, level), own, **close)
        torch.testing.assert_close(whole.log_sum(rows, level), own.logsumexp(-1), **close)
        torch.testing.assert_close(whole.log_sum_without(rows, level), log_sum_by_hand(expected, level), **close)
    torch.testing.assert_close(whole.log_sum_without(rows, 0, 1), log_sum_by_hand(expected, 0, 1), **close)
    torch.testing.assert_close(whole.log_sum_without(rows), expected.logsumexp(-1), **close)


def test_in_bfloat16_logits_and_sums_are_float32_and_nearly_the_same(block):
    head, rows = head_and_rows()
    whole, expected = VocabularyHead(CONFIG, head.bfloat16()), rows @ head.T
    for found, right in (
        (whole.logits(rows.bfloat16(), 2), expected[:, tokens_of(2)]),
        (whole.log_sum_without(rows.bfloat16(), 2), log_sum_by_hand(expected, 2)),
    ):
        assert found.dtype == torch.float32
        assert not torch.equal(found, right) and (found - right).abs().max() < 0.1


def test_no_rows_give_no_sums():
    head, rows = head_and_rows()
    whole = VocabularyHead(CONFIG, head)
    assert whole.logits(rows[:0], 1).shape == (0, 5) and whole.log_sum_without(rows[:0], 1).shape == (0,)
