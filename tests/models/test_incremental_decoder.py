import pytest
import torch
from torch.testing import assert_close

from genius.models import incremental_decoder
from genius.models.incremental_decoder import IncrementalDecoder
from tests.models.test_decoder import queries
from tests.search.tiny import LEVELS, tiny_decoder

CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def level_of(decoder, level: int) -> slice:
    offset = decoder.config.offsets[level]
    return slice(offset, offset + decoder.config.code_sizes[level])


def teacher_forced(decoder, z: torch.Tensor, prefix: list[int]) -> torch.Tensor:
    """(k,) log-probabilities of the code after a prefix, by transformers' own decoder, in
    float64.
    """
    codes = torch.zeros(1, LEVELS, dtype=torch.long)
    codes[0, : len(prefix)] = torch.tensor(prefix)
    return (
        decoder(z[None], codes)
        .double()
        .log_softmax(-1)[0, len(prefix), level_of(decoder, len(prefix))]
        .float()
    )


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.inference_mode():
        yield


@pytest.mark.parametrize("geometric", [False, True])
def test_steps_equal_transformers_teacher_forced_decoder(geometric):
    decoder, (z, codes) = tiny_decoder(geometry=geometric), queries()
    search = IncrementalDecoder(decoder)
    expected = decoder(z, codes).log_softmax(-1)
    cache = search.start(z, beams=1)
    before = (None, None)
    for level in range(LEVELS):
        found = search.step(cache, *before)
        assert_close(found, expected[:, level, level_of(decoder, level)], **CLOSE)
        before = torch.zeros(len(z), 1, dtype=torch.long), codes[:, [level]]


# (parents, codes) of three levels of beams, for two queries
FAMILY = [
    ([[0, 0], [0, 0]], [[0, 1], [2, 0]]),
    ([[1, 0, 1], [0, 0, 1]], [[3, 1, 4], [0, 2, 2]]),
    ([[2, 2, 0, 1], [1, 0, 2, 2]], [[1, 0, 2, 2], [4, 4, 3, 1]]),
]


def prefixes_of(family) -> list[list[list[int]]]:
    """Per query, the codes of each beam of the last level."""
    beams = [[[]], [[]]]
    for parents, codes in family:
        beams = [
            [
                beams[query][parent] + [code]
                for parent, code in zip(parents[query], codes[query], strict=True)
            ]
            for query in range(2)
        ]
    return beams


@pytest.mark.parametrize("geometric", [False, True])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_beams_that_swap_places_and_share_parents_attend_to_their_own_ancestors(levels, geometric):
    decoder, (z, _) = tiny_decoder(geometry=geometric), queries(2)
    search = IncrementalDecoder(decoder)
    cache = search.start(z, beams=4)
    found = search.step(cache)
    for parents, codes in FAMILY[:levels]:
        found = search.step(cache, torch.tensor(parents), torch.tensor(codes))
    found = found.unflatten(0, (2, -1))
    for query, beams in enumerate(prefixes_of(FAMILY[:levels])):
        for beam, prefix in enumerate(beams):
            assert_close(found[query, beam], teacher_forced(decoder, z[query], prefix), **CLOSE)


def test_dropping_queries_does_not_change_the_others(monkeypatch):
    decoder, (z, _) = tiny_decoder(geometry=True), queries(2)
    search = IncrementalDecoder(decoder)
    (_, first), (parents, second) = FAMILY[0], FAMILY[1]
    cache = search.start(z, beams=4)
    search.step(cache)
    search.step(cache, *map(torch.tensor, FAMILY[0]))
    # memory that is not written must not be read: what an earlier test left there may be right by
    # chance
    monkeypatch.setattr(
        torch.Tensor, "new_empty", lambda like, *size: like.new_full(size, torch.nan)
    )
    cache.keep(torch.tensor([1]))
    found = search.step(cache, torch.tensor(parents[1:]), torch.tensor(second[1:]))
    for beam, log_probs in enumerate(found):
        prefix = [first[1][parents[1][beam]], second[1][beam]]
        assert_close(log_probs, teacher_forced(decoder, z[1], prefix), **CLOSE)


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_the_softmax_over_the_whole_vocabulary_is_that_of_each_beam(monkeypatch, rows):
    monkeypatch.setattr(incremental_decoder, "ROWS", rows)
    decoder, (z, _) = tiny_decoder(), queries()
    decoder.t5.shared.weight.mul_(60)  # logits whose exponentials overflow
    search = IncrementalDecoder(decoder)
    found = search.step(search.start(z, beams=1))
    for query in range(len(z)):
        assert_close(found[query], teacher_forced(decoder, z[query], []), atol=1e-3, rtol=1e-4)


def test_the_softmax_may_be_over_the_codes_of_the_level_only():
    decoder, (z, _) = tiny_decoder(geometry=True), queries(2)
    search = IncrementalDecoder(decoder)
    whole, own = (
        search.step(search.start(z, beams=1), whole_vocabulary=whole) for whole in (True, False)
    )
    assert_close(own.exp().sum(-1), torch.ones(2))
    assert_close(whole.log_softmax(-1), own, **CLOSE)
