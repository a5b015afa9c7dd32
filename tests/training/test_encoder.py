"""Encoders that training starts from, and a batch in which no query has a known target."""

import json
from dataclasses import replace

import open_clip
import pytest
import torch
from safetensors.torch import load_file

from genius.errors import UserError
from genius.run import Run
from tests.search.tiny import tiny_encoder
from tests.training.tiny import TINY
from training import encoder, image_augmentation
from training.ablations.variants import ENCODERS
from training.command_line import Arguments
from training.curves import read_curves
from training.encoder import new_encoder
from training.pairs import CandidateTable, Pairs
from training.settings import with_stage_changes
from training.stage import run_stage


def test_the_encoder_of_a_run_is_used_as_it_is(tmp_path):
    given = tiny_encoder()
    given.save(tmp_path)
    found = new_encoder(replace(TINY.encoder, pretrained=str(tmp_path)))
    weights = given.state_dict()
    assert all(torch.equal(weight, weights[name]) for name, weight in found.state_dict().items())


def test_an_encoder_that_cannot_encode_is_refused_before_any_image_is_opened(collection, tmp_path, monkeypatch):
    model = TINY.encoder.architecture
    settings = replace(TINY.encoder, architecture=model | {"text_cfg": model["text_cfg"] | {"vocab_size": 9}})
    monkeypatch.setattr(image_augmentation, "open_item_image", None)
    with pytest.raises(UserError, match="cannot encode a text and an image .*vocab_size is 9"):
        run_stage(
            "encoder",
            encoder.train,
            Arguments(collection.root, tmp_path, "small", replace(TINY, encoder=settings), "cpu"),
        )


def test_a_batch_whose_instructions_are_all_swapped_leaves_the_report_valid(collection, tmp_path):
    settings = replace(TINY, encoder=replace(TINY.encoder, batch=2, modality_weight=1.0, instruction_swap_prob=0.99))
    run_stage("encoder", encoder.train, Arguments(collection.root, tmp_path, "small", settings, "cpu"))
    report = (tmp_path / "reports" / "training.json").read_text()
    json.loads(report, parse_constant=lambda constant: 1 / 0)  # NaN is not JSON
    assert Run(tmp_path).has("encoder")


def test_other_positives_are_negatives_unless_they_are_masked(collection, tmp_path):
    losses = []
    for masked in (False, True):
        settings = replace(
            TINY,
            encoder=replace(
                TINY.encoder,
                epochs=1,
                batch=64,
                upsample_to=100,  # a query that is repeated has another positive in the batch
                mask_positives=masked,
                modality_weight=0.0,
                instruction_swap_prob=0.0,
            ),
        )
        run = tmp_path / str(masked)
        run_stage("encoder", encoder.train, Arguments(collection.root, run, "small", settings, "cpu"))
        losses.append(read_curves(Run(run))["encoder"][0]["loss"])
    assert losses[0] > losses[1]


def test_an_encoder_limited_to_rows_sees_their_queries_alone(collection, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(encoder, "fit", lambda model, loader, pairs, val_pairs, *_: seen.extend((pairs, val_pairs)))
    pairs = Pairs.read(collection, "train", CandidateTable.read(collection))
    row = int(pairs.rows[-1])
    settings = replace(TINY, encoder=replace(TINY.encoder, rows=(f"{pairs.tasks[row]}:{pairs.datasets[row]}",)))
    run_stage("encoder", encoder.train, Arguments(collection.root, tmp_path, "small", settings, "cpu"))
    assert [set(found.rows.tolist()) for found in seen] == [{row}, {row}]
    assert len(seen[0]) == (pairs.rows == row).sum() < len(pairs)


def test_activations_that_are_computed_again_give_the_same_weights(collection, tmp_path, monkeypatch):
    counted, checkpoint = [], open_clip.transformer.checkpoint
    monkeypatch.setattr(
        open_clip.transformer, "checkpoint", lambda *a, **k: (counted.append(1), checkpoint(*a, **k))[1]
    )
    weights = []
    for again in (False, True):
        assert not counted
        own = replace(TINY.encoder, epochs=1, bf16=False, grad_checkpointing=again)
        given = Arguments(collection.root, tmp_path / str(again), "small", replace(TINY, encoder=own), "cpu")
        run_stage("encoder", encoder.train, given)
        weights.append(load_file(Run(given.run).folder("encoder") / "model.safetensors"))
    assert counted
    for name, weight in weights[0].items():
        torch.testing.assert_close(weights[1][name], weight)


def test_blip_cannot_compute_activations_again(collection, tmp_path):
    own = replace(with_stage_changes(TINY, *ENCODERS["BLIP-SF"](TINY)).encoder, grad_checkpointing=True)
    with pytest.raises(UserError, match="is for the models of open_clip; set it to false for BLIP"):
        encoder.train(Arguments(collection.root, tmp_path, "small", replace(TINY, encoder=own), "cpu"))
