"""training/benchmarks/one_query.py: what each of the methods computes, and the report."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from genius.errors import UserError
from genius.models.decoder import DecoderConfig
from genius.models.incremental_decoder import IncrementalDecoder
from genius.reading import read_json
from genius.schema import LevelTrace
from tests.evaluation.micro import publish_micro_run, write_micro_collection
from tests.search.tiny import tiny_decoder
from training.benchmarks import one_query
from training.benchmarks.one_query import (
    EXACT,
    SHIPPED,
    chosen_methods,
    main,
    skippable,
    with_free_head,
    with_half_prefix,
)


@pytest.mark.parametrize(("prepare", "within"), [(EXACT["int8"], 0.01), (with_half_prefix, 1e-4)])
def test_a_prepared_decoder_gives_nearly_the_same_probabilities(prepare, within):
    decoder = tiny_decoder()
    z = torch.randn(3, decoder.config.dim, generator=torch.Generator().manual_seed(0))
    steps = []
    for searched in (IncrementalDecoder(decoder), prepare(decoder)):
        with torch.inference_mode():
            cache = searched.start(z, 1)
            first = searched.step(cache)
            codes = torch.zeros(3, 1, dtype=torch.long)
            steps.append(torch.cat([first, searched.step(cache, codes, codes)], dim=1).exp())

    assert 0 < (steps[0] - steps[1]).abs().max() < within


@torch.inference_mode()
def test_a_free_head_finds_all_codes_equally_probable():
    searched = with_free_head(tiny_decoder())
    z = torch.randn(3, searched.config.dim)
    for whole, codes in ((False, searched.config.code_sizes[0]), (True, searched.config.vocabulary)):
        found = searched.step(searched.start(z, 1), whole_vocabulary=whole)
        torch.testing.assert_close(found, torch.full((3, searched.config.code_sizes[0]), -math.log(codes)))


def test_the_command_reports_times_and_changes(tmp_path, monkeypatch):
    config = partial(
        DecoderConfig, dim=24, levels=4, codebook_size=16, width=32, layers=3, heads=2, head_width=16, ff_width=48,
        prefix=3, dropout=0.0,
    )  # fmt: skip
    monkeypatch.setattr(one_query, "DecoderConfig", config)
    monkeypatch.setattr(one_query, "ROUNDS", 1)
    collection = write_micro_collection(tmp_path / "collection")
    run = publish_micro_run(tmp_path / "run", collection)

    given = ["--items", "300", "--without", "2 layers", "--run", str(run.path), "--collection", str(collection.root)]
    main([str(tmp_path / "out"), *given, "--limit", "2"])

    report = read_json(tmp_path / "out" / "one_query.json", dict)
    names = ["as shipped", "bfloat16", "int8", "half prefix", "free head", "geometry"]
    assert list(report["times"]["milliseconds"]["set"]) == names
    same = {(change["mode"], change["method"]): change["same_candidates"] for change in report["changes"]}
    assert 0 <= report["skippable"] < 1
    assert same["set", "as shipped"] == 1 and len(same) == 3 * 4 and all(0 <= share <= 1 for share in same.values())


def test_a_beam_below_the_last_prefix_that_is_kept_could_be_skipped(monkeypatch):
    monkeypatch.setattr(one_query, "BEAMS", 3)

    def level(scores: list[float], kept: int) -> LevelTrace:
        scores, none = np.array(scores), np.zeros(len(scores), int)
        return LevelTrace(none, none, scores, scores, np.arange(len(scores)) < kept, none, scores)

    levels = [
        level([-1, -2], 2),
        level([-1.5, -3, -4, -9], 3),
        level([-2, -2.5, -3.5, -3.6], 3),
        level([-4, -5, -6], 3),
    ]
    assert skippable(levels[:2]) == (0, 2)
    assert skippable(levels) == (1, 2 + 3 + 3)  # the beam of -4, once -3.5 is the last one kept
    assert skippable([level([-1, -2], 2), level([-1.1, -1.2], 2)]) == (0, 2)  # all prefixes are kept


def test_the_decoder_that_others_are_compared_with_stays_and_an_unknown_method_is_refused():
    assert chosen_methods("as shipped, bfloat16,geometry") == [SHIPPED, "int8", "half prefix", "2 layers",
                                                               "free head"]  # fmt: skip
    with pytest.raises(UserError, match="--without: there is no method 'geometri'; choose from bfloat16, int8"):
        chosen_methods("geometri")
