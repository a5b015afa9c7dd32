import numpy as np
import torch

from genius.models.decoder import DecoderConfig, IDDecoder
from tests.search.tiny import DIM, tiny_decoder, tiny_quantizer


def queries(b: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    z = torch.nn.functional.normalize(torch.randn(b, DIM, generator=generator), dim=-1)
    return z, tiny_quantizer().encode(torch.randn(b, DIM, generator=generator))


def test_sizes_and_token_layout_are_the_published_ones():
    config = DecoderConfig()
    assert config.offsets[:3] == (3, 6, 6 + 4096)
    assert config == DecoderConfig(
        768, 9, 4096, (), 512, 6, 8, 64, 2048, 30, 0, 0.1, 100.0, False, 20.0, 1.0
    )
    assert config.code_sizes == (3,) + (4096,) * 8
    assert config.vocabulary == 32_774


def test_geometry_is_added_to_the_logits_of_its_own_level_only():
    plain, geometric = tiny_decoder(geometry=False), tiny_decoder(geometry=True)
    geometric.load_state_dict(plain.state_dict() | {"log_scales": geometric.log_scales.detach()})
    z, codes = queries()
    with torch.inference_mode():
        added = (geometric(z, codes) - plain(z, codes)).double().numpy()
    for query in range(len(z)):
        residual = z[query].double().numpy()
        for level, book in enumerate(plain.codebooks):
            book = book.double().numpy()
            offset = plain.config.offsets[level]
            scale = geometric.config.geometry_scale
            odds = scale * (2 * book @ residual - (book**2).sum(1))
            expected = np.zeros(plain.config.vocabulary)
            expected[offset : offset + len(book)] = odds
            np.testing.assert_allclose(added[query, level], expected, atol=1e-4)
            residual = residual - book[codes[query, level]]


def test_code_embeddings_start_as_scaled_projections_of_their_codewords():
    """Codewords of equal direction get equal embeddings."""
    quantizer = tiny_quantizer()
    quantizer.codebook_2[3] = 7 * quantizer.codebook_1[1]
    decoder = IDDecoder(tiny_decoder().config)
    decoder.initialize(quantizer)
    rows, offsets = decoder.t5.shared.weight, decoder.config.offsets
    torch.testing.assert_close(rows[offsets[2] + 3], rows[offsets[1] + 1])
    assert not torch.allclose(rows[offsets[1]], rows[offsets[1] + 1])
