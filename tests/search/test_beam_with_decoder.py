"""The beam search on a real, tiny T5 decoder, against transformers' own code."""

import numpy as np
import pytest
import torch

from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import Beams, beam_search
from genius.search.scan import Codewords, Scan
from genius.trie.ids import IDTable
from genius.trie.pool import Pool
from genius.trie.trie import Trie
from tests.search.tiny import CODES, DIM, LEVELS, tiny_decoder

SIZES = (3,) + (CODES,) * (LEVELS - 1)
QUERIES = 3


def build(n: int = 70) -> tuple[IDTable, Trie, torch.Tensor]:
    table = IDTable.build(np.random.default_rng(0).integers(SIZES, size=(n, LEVELS)), SIZES)
    return table, Trie(table), torch.from_numpy(table.codes(table.ids))


def numbers(table: IDTable, beams: Beams) -> torch.Tensor:
    """(b, w) which of the different IDs, counted from 0, each beam is."""
    return torch.searchsorted(torch.from_numpy(table.ids), beams.low.contiguous())


def queries() -> torch.Tensor:
    features = torch.randn(QUERIES, DIM, generator=torch.Generator().manual_seed(3))
    return torch.nn.functional.normalize(features, dim=-1)


@torch.inference_mode()
def exhaustive(decoder, features, codes) -> torch.Tensor:
    """(b, u) teacher-forced score of every ID, softmax over the whole vocabulary."""
    offsets = torch.tensor(decoder.config.offsets)
    scores = []
    for feature in features:
        logits = decoder(feature.expand(len(codes), -1), codes)  # (u, M, V)
        chosen = logits.log_softmax(-1).gather(-1, (codes + offsets)[..., None])  # (u, M, 1)
        scores.append(chosen.sum((1, 2)))
    return torch.stack(scores)


@pytest.mark.parametrize("geometry, weight", [(False, 1.0), (True, 1.0), (False, 0.3)])
@torch.inference_mode()
def test_a_wide_beam_agrees_with_teacher_forcing_and_scanning_every_id(geometry, weight):
    table, trie, codes = build()
    decoder = tiny_decoder(geometry)
    scanned = Scan(Pool(table, trie), Codewords(decoder.codebooks)).best(queries(), len(table))
    of_items = torch.empty(QUERIES, len(table)).scatter_(1, scanned.positions, scanned.scores)
    distances = decoder.blend_scale * of_items[:, torch.from_numpy(table.ids)]
    forced = exhaustive(decoder, queries(), codes)
    expected = (weight * forced + (1 - weight) * distances).sort(descending=True)
    found = beam_search(
        IncrementalDecoder(decoder), queries(), trie, len(table), decoder_weight=weight
    )
    torch.testing.assert_close(found.scores, expected.values, rtol=1e-4, atol=1e-4)
    assert torch.equal(numbers(table, found), expected.indices)


@pytest.mark.parametrize("beams", [1, 3, 12])
@torch.inference_mode()
def test_ids_and_scores_are_those_of_transformers_generate(beams):
    table, trie, codes = build()
    decoder = tiny_decoder()
    offsets = torch.tensor(tiny_decoder().config.offsets)
    tokens = (codes + offsets).tolist()

    def allowed(_, prefix: torch.Tensor) -> list[int]:
        done = prefix.tolist()[1:]  # after the start token
        return sorted({row[len(done)] for row in tokens if row[: len(done)] == done}) or [0]

    features = queries()
    prefix = decoder.project(features).unflatten(-1, (decoder.config.prefix, decoder.config.width))
    output = decoder.t5.generate(
        inputs_embeds=prefix,
        attention_mask=torch.ones(prefix.shape[:2]),
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=LEVELS,
        length_penalty=0.0,
        do_sample=False,
        use_cache=False,
        prefix_allowed_tokens_fn=allowed,
        return_dict_in_generate=True,
        output_scores=True,
    )
    published = (output.sequences[:, 1:] - offsets).view(QUERIES, beams, LEVELS)

    found = beam_search(IncrementalDecoder(decoder), features, trie, beams)
    for query in range(QUERIES):
        ids = codes[numbers(table, found)[query]].tolist()
        mine = dict(zip(map(tuple, ids), found.scores[query].tolist()))
        if beams == 1:
            assert list(mine) == [tuple(published[query, 0].tolist())]  # greedy: no scores given
            continue
        scores = output.sequences_scores.view(QUERIES, beams)[query].tolist()
        theirs = dict(zip(map(tuple, published[query].tolist()), scores))
        assert mine == {key: pytest.approx(score, abs=1e-4) for key, score in theirs.items()}
