import numpy as np
import pytest
import torch

from genius.models.decoder import DecoderConfig, IDDecoder, geometry
from tests.search.tiny import DIM, LEVELS, tiny_decoder, tiny_quantizer


def queries(b: int = 3, seed: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.nn.functional.normalize(torch.randn(b, DIM, generator=generator), dim=-1)
    return z, tiny_quantizer().encode(torch.randn(b, DIM, generator=generator))


def test_the_token_layout_is_the_published_one():
    config = DecoderConfig()
    assert config.offsets[:3] == (3, 6, 6 + 4096)
    assert config.code_sizes == (3,) + (4096,) * 8
    assert config.vocabulary == 32_774


@pytest.mark.parametrize("geometric", [False, True])
def test_cached_steps_equal_transformers_teacher_forced_decoder(geometric):
    decoder, (z, codes) = tiny_decoder(geometry=geometric), queries()
    with torch.inference_mode():
        expected = decoder(z, codes).log_softmax(-1)
        cache, before = decoder.start(z), None
        for level, (offset, size) in enumerate(zip(decoder.config.offsets, decoder.config.code_sizes, strict=True)):
            found = decoder.step(cache, before)
            torch.testing.assert_close(found[:, 0], expected[:, level, offset:offset + size], atol=1e-5, rtol=1e-5)
            before = codes[:, [level]]


def test_beams_that_swap_places_keep_their_own_past():
    decoder, (z, _) = tiny_decoder(geometry=True), queries(2)
    first = torch.tensor([[0, 1], [2, 0]])
    second = torch.tensor([[3, 1, 4], [0, 2, 2]])
    parents = torch.tensor([[1, 0, 1], [0, 0, 1]])
    with torch.inference_mode():
        cache = decoder.start(z)
        decoder.step(cache, None)
        cache.reorder(torch.zeros(2, 2, dtype=torch.long))
        decoder.step(cache, first)
        cache.reorder(parents)
        found = decoder.step(cache, second)
        for query in range(2):
            for beam in range(3):
                codes = torch.zeros(1, LEVELS, dtype=torch.long)
                codes[0, 0], codes[0, 1] = first[query, parents[query, beam]], second[query, beam]
                alone = decoder(z[[query]], codes).log_softmax(-1)
                offset, size = decoder.config.offsets[2], decoder.config.code_sizes[2]
                torch.testing.assert_close(found[query, beam], alone[0, 2, offset:offset + size],
                                           atol=1e-5, rtol=1e-5)


def test_the_prefix_is_attended_to_once_per_query_not_per_beam():
    decoder, (z, _) = tiny_decoder(), queries(2)
    with torch.inference_mode():
        cache = decoder.start(z)
        decoder.step(cache, None)
        cache.reorder(torch.zeros(2, 4, dtype=torch.long))
        assert decoder.step(cache, torch.zeros(2, 4, dtype=torch.long)).shape[:2] == (2, 4)
    assert cache.cross_attention.shape[2] == 2


def test_geometry_is_added_to_the_logits_of_its_level_alone():
    plain, geometric = tiny_decoder(geometry=False), tiny_decoder(geometry=True)
    geometric.load_state_dict(plain.state_dict() | {"log_scales": geometric.log_scales.detach()})
    z, codes = queries()
    with torch.inference_mode():
        added = (geometric(z, codes) - plain(z, codes)).double().numpy()
    for query in range(len(z)):
        residual = z[query].double().numpy()
        for level, book in enumerate(plain.codebooks):
            book = book.double().numpy()
            offset, scale = plain.config.offsets[level], geometric.config.geometry_scale
            odds = scale * (2 * book @ residual - (book ** 2).sum(1))
            expected = np.zeros(plain.config.vocabulary)
            expected[offset:offset + len(book)] = odds
            np.testing.assert_allclose(added[query, level], expected, atol=1e-4)
            residual = residual - book[codes[query, level]]


def test_geometry_summed_over_an_id_is_the_distance_to_its_quantized_vector():
    quantizer, (z, codes) = tiny_quantizer(), queries()
    residual, total = z, torch.zeros(len(z))
    for level, book in enumerate(quantizer.codebooks):
        total += geometry(residual, book).gather(1, codes[:, [level]])[:, 0]
        residual = residual - book[codes[:, level]]
    expected = z.square().sum(-1) - (z - quantizer.decode(codes)).square().sum(-1)
    torch.testing.assert_close(total, expected)


def test_code_embeddings_start_as_scaled_projections_of_their_codewords():
    """Equal codewords get equal embeddings, and an embedding scales with nothing but the direction."""
    quantizer = tiny_quantizer()
    quantizer.codebook_2[3] = 7 * quantizer.codebook_1[1]
    decoder = IDDecoder(tiny_decoder().config)
    decoder.initialise(quantizer)
    rows, offsets = decoder.t5.shared.weight, decoder.config.offsets
    torch.testing.assert_close(rows[offsets[2] + 3], rows[offsets[1] + 1])
    assert not torch.allclose(rows[offsets[1]], rows[offsets[1] + 1])


def test_a_saved_decoder_comes_back_the_same(tmp_path):
    decoder, (z, codes) = tiny_decoder(geometry=True), queries()
    decoder.save(tmp_path)
    with torch.inference_mode():
        torch.testing.assert_close(IDDecoder.load(tmp_path)(z, codes), decoder(z, codes), atol=0, rtol=0)
