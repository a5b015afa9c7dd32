"""CUDA graphs of a decoder's steps; without a GPU, what is replayed is computed again into the same
tensors.
"""

import pytest
import torch

from genius.models import decoder_graphs
from genius.models.decoder import IDDecoder
from genius.models.decoder_graphs import GraphedDecoder, decoder_for_search
from genius.models.incremental_decoder import IncrementalDecoder
from genius.search.beam import beam_search
from genius.search.candidates import CandidateFinder
from genius.trie.trie import Trie
from tests.models.test_decoder import queries
from tests.search.test_beam import TINY_SIZES, build
from tests.search.tiny import DIM, tiny_decoder


class Recorder:
    """Stands for `record_kernels`."""

    def __init__(self):
        self.recorded, self.replayed = 0, 0

    def __call__(self, compute, device):
        self.recorded, (cache, log_probs) = self.recorded + 1, compute()

        def replay():
            self.replayed += 1
            again, logits = compute()
            for name, place in vars(cache).items():
                if isinstance(place, torch.Tensor):
                    place.copy_(getattr(again, name))
            if log_probs is not None:
                log_probs.copy_(logits)

        return (cache, log_probs), replay


def searches(decoder: IncrementalDecoder) -> list[torch.Tensor]:
    """What ten queries find, one after the other, in several ways."""
    _, trie, _ = build(70, TINY_SIZES)
    finder = CandidateFinder(decoder)
    found = []
    for number in range(10):
        z = torch.nn.functional.normalize(
            torch.randn(1, DIM, generator=torch.Generator().manual_seed(number)), dim=-1
        )
        for valid, beams, options in [
            (trie, 6, {}),
            (trie, 6, {"settle": True, "decoder_weight": 0.4}),
            (trie.below((1,)), 6, {"trace": True}),
            (trie, 3, {}),
        ]:
            result = beam_search(decoder, z, valid, beams, **options)
            found += [
                result.low,
                result.high,
                result.scores,
                result.log_probs,
                result.first_log_probs,
            ]
        found.append(finder.first_codes(z))
    return found


def assert_equal_searches(graphed: GraphedDecoder, model: IDDecoder) -> None:
    assert all(map(torch.equal, searches(graphed), searches(IncrementalDecoder(model))))


@pytest.mark.parametrize("geometry", [False, True])
def test_replayed_steps_give_every_query_what_computed_steps_do(geometry):
    model = tiny_decoder(geometry)
    record = Recorder()
    assert_equal_searches(GraphedDecoder(model, record=record), model)
    # start and four steps with 6 beams, three steps below a code, start and four steps with 3
    # beams, two of first codes
    assert record.recorded == 5 + 3 + 5 + 2 < record.replayed


@pytest.mark.parametrize("room", [1, 4, 5, 6, 9])
def test_graphs_that_were_forgotten_and_recorded_again_give_what_computed_steps_do(
    room, monkeypatch
):
    monkeypatch.setattr(decoder_graphs, "MAX_GRAPHS", room)
    model = tiny_decoder()
    record = Recorder()
    assert_equal_searches(graphed := GraphedDecoder(model, record=record), model)
    assert 0 < len(graphed._graphs) <= room and record.recorded > 15
    assert all(key[:1] in graphed._graphs for key in graphed._graphs), (
        "none continues from what is forgotten"
    )


def test_after_many_numbers_of_beams_searches_with_the_last_ones_are_still_replayed(monkeypatch):
    monkeypatch.setattr(decoder_graphs, "MAX_GRAPHS", 12)  # for two searches
    record = Recorder()
    trie = build(70, TINY_SIZES)[1]
    graphed, (z, _) = GraphedDecoder(tiny_decoder(), record=record), queries(1)
    for beams in (2, 3, 4, 5, 6, 7, 6):
        beam_search(graphed, z, trie, beams)
    recorded, replayed = record.recorded, record.replayed
    for beams in (6, 7):
        beam_search(graphed, z, trie, beams)
    assert record.recorded == recorded and record.replayed == replayed + 2 * 5
    beam_search(graphed, z, trie, 2)  # in place of 6, which was used less recently than 7
    beam_search(graphed, z, trie, 7)
    assert record.recorded == recorded + 5


def refuse(compute, device):
    raise RuntimeError("CUDA error: operation not permitted")


def differ(compute, device):
    cache, log_probs = compute()
    return (cache, log_probs), lambda: log_probs is None or log_probs.add_(0.01)


@pytest.mark.parametrize("record, reason", [(refuse, "not permitted"), (differ, "something else")])
def test_a_gpu_that_cannot_replay_steps_computes_them_and_says_so_once(caplog, record, reason):
    assert_equal_searches(GraphedDecoder(model := tiny_decoder(), record=record), model)
    (warning,) = caplog.messages
    assert warning.startswith("Searching without CUDA graphs: ") and reason in warning


def test_batches_are_computed_and_leave_the_graphs_as_they_are():
    model, record, (z, _) = tiny_decoder(), Recorder(), queries(3)
    graphed = GraphedDecoder(model, record=record)
    computed = IncrementalDecoder(model)
    trie = build(70, TINY_SIZES)[1]
    for features in (z[:1], z, z[1:2], z[1:], z[2:]):
        found, expected = (
            beam_search(decoder, features, trie, 6) for decoder in (graphed, computed)
        )
        assert torch.equal(found.scores, expected.scores) and torch.equal(found.low, expected.low)
    assert record.recorded == 5


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_replays_what_it_computes(caplog):
    model = tiny_decoder().cuda()
    graphed = decoder_for_search(model)
    computed = IncrementalDecoder(model)
    on_gpu = Trie(build(70, TINY_SIZES)[0], "cuda")
    for z in torch.nn.functional.normalize(torch.randn(5, 1, DIM, device="cuda"), dim=-1):
        for settle in (False, True):
            found, expected = (
                beam_search(decoder, z, on_gpu, 6, settle=settle) for decoder in (graphed, computed)
            )
            assert torch.equal(found.low, expected.low)
            torch.testing.assert_close(found.scores, expected.scores)
    assert isinstance(graphed, GraphedDecoder) and not caplog.messages
