"""genius/evaluation/speed/reader.py: the decoder's probabilities against the geometry itself."""

from dataclasses import replace

import pytest
import torch

from genius.evaluation.speed import reader
from genius.evaluation.speed.reader import confidence, fitted_sharpness, read_geometry
from genius.models.decoder import IDDecoder
from tests.evaluation.tiny_speed import CONFIG

NATIVE = 24
SHARPNESS = [3.0, 9.0, 40.0, 90.0]


def codebooks(seed: int = 0) -> list[torch.Tensor]:
    """Shorter from level to level."""
    generator = torch.Generator().manual_seed(seed)
    return [
        0.5 ** (level + 1)
        * torch.nn.functional.normalize(torch.randn(size, NATIVE, generator=generator), dim=-1)
        * torch.rand(size, 1, generator=generator).add(0.5)
        for level, size in enumerate(CONFIG.code_sizes)
    ]


def isometry() -> torch.Tensor:
    """(p, d)"""
    return torch.linalg.qr(torch.randn(CONFIG.dim, NATIVE, generator=torch.Generator().manual_seed(9)))[0].T


def reading(books: list[torch.Tensor]) -> IDDecoder:
    torch.manual_seed(1)
    decoder = IDDecoder(CONFIG).eval()
    read_geometry(decoder, books, isometry(), SHARPNESS)
    return decoder


def views(books: list[torch.Tensor], noise: float, count: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of codewords with noise (q, p), and their codes (q, M)."""
    generator = torch.Generator().manual_seed(2)
    codes = torch.stack([torch.randint(len(book), (count,), generator=generator) for book in books], dim=1)
    exact = sum(book[code] for book, code in zip(books, codes.T, strict=True))
    return exact + noise / NATIVE**0.5 * torch.randn(exact.shape, generator=generator), codes


@torch.no_grad()
def geometry(books: list[torch.Tensor], queries: torch.Tensor, codes: torch.Tensor) -> list[torch.Tensor]:
    """(q, k) log-probabilities of each level after the right codes, one query and code at a time."""
    levels = []
    for level, (book, s) in enumerate(zip(books, SHARPNESS, strict=True)):
        odds = torch.empty(len(queries), len(book))
        for row, query in enumerate(queries):
            left = query - sum(books[before][codes[row, before]] for before in range(level))
            odds[row] = torch.stack([-s * (left - word).square().sum() for word in book])
        levels.append(odds.log_softmax(-1))
    return levels


@torch.no_grad()
def test_probabilities_are_the_softmax_of_how_near_codewords_are():
    books = codebooks()
    queries, codes = views(books, noise=0.1, count=20)
    found = reading(books)(queries @ isometry(), codes).log_softmax(-1)  # (q, M, V)

    for level, expected in enumerate(geometry(books, queries, codes)):
        start = CONFIG.offsets[level]
        mine = found[:, level, start : start + CONFIG.code_sizes[level]]
        torch.testing.assert_close(mine, expected, atol=0.02, rtol=0)  # T5's norms are not exact
        assert (mine.exp().sum(-1) > 1 - 1e-5).all()  # nothing is left for others


@torch.no_grad()
def test_blocks_beyond_the_second_change_nothing():
    books, (queries, codes) = codebooks(), views(codebooks(), noise=0.1, count=5)
    deeper = IDDecoder(replace(CONFIG, layers=4)).eval()
    read_geometry(deeper, books, isometry(), SHARPNESS)

    torch.testing.assert_close(deeper(queries @ isometry(), codes), reading(books)(queries @ isometry(), codes))


@pytest.mark.parametrize("size", [{"layers": 1}, {"heads": 2}, {"head_width": 23}, {"width": 126}, {"ff_width": 204}])
def test_a_decoder_that_is_too_small_is_refused(size):
    with pytest.raises(ValueError, match="too small to read 4 levels of codewords in 24 dimensions"):
        read_geometry(IDDecoder(replace(CONFIG, **size)), codebooks(), isometry(), SHARPNESS)


def test_the_sharpness_makes_the_right_codes_as_probable_as_it_can():
    books = codebooks()
    queries, codes = views(books, noise=1.5)
    fitted = fitted_sharpness(books, queries, codes)

    left = queries
    for book, code, s in zip(books, codes.T, fitted, strict=True):

        def likelihood(s, book=book, code=code, left=left):
            return float((-s * torch.cdist(left, book) ** 2).log_softmax(-1)[torch.arange(len(code)), code].mean())

        assert likelihood(s) >= max(likelihood(s / 2**0.5), likelihood(s * 2**0.5)) - 1e-5
        left = left - book[code]


def test_less_noise_makes_it_sharper_as_far_as_logits_may_rise(monkeypatch):
    books = codebooks()
    vague, sharp = (fitted_sharpness(books, *views(books, noise)) for noise in (0.8, 0.02))
    assert all(least < most for least, most in zip(vague, sharp, strict=True))

    monkeypatch.setattr(reader, "HIGHEST", 3.0)
    left, codes = views(books, 0.02)
    bounded = fitted_sharpness(books, left, codes)
    assert bounded[1] < sharp[1]
    for book, code, s in zip(books, codes.T, bounded, strict=True):
        assert s * float((2 * left @ book.T - book.square().sum(-1)).max()) <= 3.0
        left = left - book[code]


@torch.no_grad()
def test_confidence_is_the_mean_probability_of_the_right_code():
    books = codebooks()
    queries, codes = views(books, noise=0.1, count=20)
    expected = [
        float(levels.exp()[torch.arange(20), code].mean())
        for levels, code in zip(geometry(books, queries, codes), codes.T, strict=True)
    ]

    assert confidence(reading(books), queries @ isometry(), codes) == pytest.approx(expected, abs=0.01)
